"""The types of what a kernel does with arrays: elements, views by slices or `a.T`, attributes, length."""

from __future__ import annotations

import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.rules.promotion import integer_type, is_scalar
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.records import element_type
from kapi_types.weak import weak_int

__all__ = ["SliceType", "element_index", "index_parts", "registry", "view_type"]

registry = RuleRegistry()


class SliceType(types.Type):
    """`slice(start, stop, step)`, of which each may be left out."""

    def __init__(self, has_start: bool, has_stop: bool, has_step: bool) -> None:
        self.given = (has_start, has_stop, has_step)
        super().__init__(f"slice{self.given}")


def element_index(array: ArrayType, index: types.Type) -> bool:
    """Whether `index` names one element of `array`: an integer for each axis."""
    if isinstance(index, types.Integer):
        return bool(array.ndim == 1)
    if isinstance(index, types.BaseTuple):
        return len(index) == array.ndim and all(isinstance(axis, types.Integer) for axis in index)
    return False


@registry.rule(operator.getitem)
def _getitem(context: Any, container: types.Type, index: types.Type) -> Any:
    if isinstance(container, ArrayType) and element_index(container, index):
        return templates.signature(element_type(container), container, index)
    return None


@registry.rule(operator.setitem)
def _setitem(context: Any, array: types.Type, index: types.Type, value: types.Type) -> Any:
    if not isinstance(array, ArrayType) or not array.mutable or not is_scalar(value) or not is_scalar(array.dtype):
        return None
    if not element_index(array, index):
        return None
    if isinstance(value, types.Complex) and not isinstance(array.dtype, (types.Complex, types.Boolean)):
        return None
    return templates.signature(types.none, array, index, array.dtype)


@registry.register_attr
class _ArrayAttributes(templates.AttributeTemplate):
    key = ArrayType

    def resolve_shape(self, array: ArrayType) -> types.Type:
        return types.UniTuple(weak_int, array.ndim)

    def resolve_ndim(self, array: ArrayType) -> types.Type:
        return weak_int

    resolve_size = resolve_itemsize = resolve_nbytes = resolve_ndim

    def resolve_dtype(self, array: ArrayType) -> types.Type:
        return types.DType(array.dtype)

    def resolve_T(self, array: ArrayType) -> types.Type:
        return array.copy(layout={"C": "F", "F": "C"}.get(array.layout, "A")) if array.ndim > 1 else array

    def resolve_strides(self, array: ArrayType) -> types.Type:
        return types.UniTuple(weak_int, array.ndim)


@registry.rule(len)
def _len(context: Any, container: types.Type) -> Any:
    has_length = isinstance(container, ArrayType) and container.ndim > 0
    return templates.signature(weak_int, container) if has_length else None


def index_parts(index: types.Type) -> tuple[types.Type, ...]:
    """The index of each axis."""
    return tuple(index.types) if isinstance(index, types.BaseTuple) else (index,)


def view_type(array: ArrayType, index: types.Type) -> ArrayType | None:
    """The type of the part of `array` that `index` names; None if it names an element, or nothing.

    Leading integers leave a contiguous array contiguous; anything else gives an array with strides.
    """
    parts = index_parts(index)
    if len(parts) > array.ndim or not all(isinstance(part, (types.Integer, SliceType)) for part in parts):
        return None
    sliced = sum(isinstance(part, SliceType) for part in parts)
    if not sliced and len(parts) == array.ndim:
        return None
    is_dense = not sliced and array.layout == "C"
    return array.copy(ndim=array.ndim - len(parts) + sliced, layout="C" if is_dense else "A")


@registry.rule(slice)
def _slice(context: Any, *args: types.Type) -> Any:
    if not 1 <= len(args) <= 3 or not all(isinstance(arg, (types.Integer, types.NoneType)) for arg in args):
        return None
    start, stop, step = (types.none, *args, types.none) if len(args) == 1 else (*args, types.none)[:3]
    given = [isinstance(arg, types.Integer) for arg in (start, stop, step)]
    operands = [integer_type(arg) if isinstance(arg, types.Integer) else types.none for arg in args]
    return templates.signature(SliceType(*given), *operands)


@registry.rule(operator.getitem)
def _part(context: Any, array: types.Type, index: types.Type) -> Any:
    found = view_type(array, index) if isinstance(array, ArrayType) else None
    return templates.signature(found, array, index) if found is not None else None
