"""Types of device arrays, queues and events in functions that run on the host, from their values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import kapi_types.usm.attributes
import kapi_types.usm.boxing  # noqa: F401  functions that get such a type are compiled with these
from kapi_types._numba_compat import Purpose, errors
from kapi_types.arrays import array_of_numbers
from kapi_types.device_arrays.device_array import DeviceArrayType
from kapi_types.device_arrays.typeof import quick_typeof, typeof_library_array
from kapi_types.usm.queue_types import SyclObjectType, sycl_object_type
from kapi_types.usm.structures import learn, struct_key
from kapi_types.usm.usm_array import UsmArrayType, array_fields, is_usm_array, is_usm_array_class, usm_kind

__all__ = ["typeof_host_value", "typeof_usm_array"]

_types: dict[Hashable, UsmArrayType] = {}


def typeof_usm_array(value: Any) -> UsmArrayType:
    """The type of a USM array, its USM kind included, as `numba.typeof` gives it once kapi-types is registered.

    Parameters
    ----------
    value : object
        Any object with `__sycl_usm_array_interface__`; for dpnp's arrays, the structure is read instead.

    Returns
    -------
    UsmArrayType

    Raises
    ------
    TypeError
        If `value` is no such object, or a kernel cannot hold its elements.
    """
    key: Hashable = struct_key(value)
    if key is None and is_usm_array_class(type(value)):
        quick_typeof[type(value)] = typeof_usm_array
        key = struct_key(value) if learn(value) else None
    if key is None:
        fields = array_fields(value)
        key = (fields.dtype, len(fields.shape), fields.layout, fields.readonly, usm_kind(value))
    try:
        return _types[key]
    except KeyError:
        seen = array_of_numbers(array_fields(value))
        type_ = UsmArrayType(seen.dtype, seen.ndim, seen.layout, readonly=not seen.mutable, usm_type=usm_kind(value))
        _types[key] = type_
        return type_


def typeof_host_value(value: Any, context: Any) -> DeviceArrayType | SyclObjectType | None:
    """Return the type of a device array, a queue or an event for Numba's `typeof`, or None for anything else.

    Raises `numba.core.errors.NumbaValueError` if `value` is a global variable or a constant: compiled code may outlive
    it.
    """
    type_: DeviceArrayType | SyclObjectType | None
    if is_usm_array(value):
        type_ = typeof_usm_array(value)
    else:
        type_ = typeof_library_array(value) or sycl_object_type(value)
    if type_ is not None and context.purpose is Purpose.constant:
        raise errors.NumbaValueError(
            f"{type_} must be an argument of the compiled function, got a global variable or constant; "
            "add a parameter for it"
        )
    return type_
