"""The types of what a kernel does with arrays: element access, attributes, length."""

from __future__ import annotations

import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.records import element_type
from kapi_types.weak import weak_int

__all__ = ["element_index", "registry"]

registry = RuleRegistry()


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


@registry.rule(len)
def _len(context: Any, container: types.Type) -> Any:
    has_length = isinstance(container, ArrayType) and container.ndim > 0
    return templates.signature(weak_int, container) if has_length else None
