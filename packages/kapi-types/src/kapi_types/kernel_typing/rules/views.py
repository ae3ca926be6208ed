"""The types of parts of arrays: `a[i]` of a higher rank, slices, `a.T`. A part is a view, with strides of its own."""

from __future__ import annotations

import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.rules.promotion import integer_type
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.weak import weak_int

__all__ = ["SliceType", "index_parts", "registry", "view_type"]

registry = RuleRegistry()


class SliceType(types.Type):
    """`slice(start, stop, step)`, of which each may be left out."""

    def __init__(self, has_start: bool, has_stop: bool, has_step: bool) -> None:
        self.given = (has_start, has_stop, has_step)
        super().__init__(f"slice{self.given}")


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


@registry.register_attr
class _ArrayViews(templates.AttributeTemplate):
    key = ArrayType

    def resolve_T(self, array: ArrayType) -> types.Type:
        return array.copy(layout={"C": "F", "F": "C"}.get(array.layout, "A")) if array.ndim > 1 else array

    def resolve_strides(self, array: ArrayType) -> types.Type:
        return types.UniTuple(weak_int, array.ndim)
