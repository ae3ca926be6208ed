"""Slices of device arrays in functions that run on the host: views of the memory, of which nothing is read."""

from __future__ import annotations

import operator
from typing import Any

from numba.extending import lower_builtin

from kapi_types._numba_compat import templates, types
from kapi_types.device_arrays.data_models import DeviceArrayModel
from kapi_types.device_arrays.device_array import DeviceArrayType
from kapi_types.device_arrays.host_access import refuse_access, refuse_elements

__all__: list[str] = []

_BASIC = (types.Integer, types.SliceType, types.NoneType, types.EllipsisType)


@lower_builtin(operator.getitem, DeviceArrayType, types.Integer)
@lower_builtin(operator.getitem, DeviceArrayType, types.SliceType)
@lower_builtin(operator.getitem, DeviceArrayType, types.NoneType)
@lower_builtin(operator.getitem, DeviceArrayType, types.BaseTuple)
def _getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Index by Numba's own code for NumPy's arrays, whose values have the same fields."""
    array, index = signature.args
    part = signature.return_type
    if not array.is_host_accessible and not (isinstance(part, DeviceArrayType) and _is_basic(index)):
        refuse_access(array)
    model: DeviceArrayModel = context.data_model_manager[array]
    if not model.has_elements:
        refuse_elements(array)
    as_numpy = templates.signature(_numpy_type(part), _numpy_type(array), index)
    return context.get_function(operator.getitem, as_numpy)(builder, arguments)


def _is_basic(index: types.Type) -> bool:
    """Whether an index is of integers and slices, and makes a view; others copy elements."""
    return all(isinstance(each, _BASIC) for each in (index if isinstance(index, types.BaseTuple) else [index]))


def _numpy_type(type_: types.Type) -> types.Type:
    if not isinstance(type_, DeviceArrayType):
        return type_
    return types.Array(type_.dtype, type_.ndim, type_.layout, readonly=not type_.mutable, aligned=type_.aligned)
