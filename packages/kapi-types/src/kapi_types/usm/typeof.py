"""Types of USM arrays, queues and events in functions that run on the host, from their values."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import kapi_types.usm.attributes
import kapi_types.usm.boxing  # noqa: F401  functions that get such a type are compiled with these
from kapi_types._numba_compat import Purpose, errors
from kapi_types.arrays import array_type
from kapi_types.usm.queue import SyclObjectType, sycl_object_type
from kapi_types.usm.structures import learn, struct_key
from kapi_types.usm.usm_array import UsmArrayType, array_fields, is_usm_array, is_usm_array_class, usm_kind

__all__ = ["quick_classes", "typeof_usm_array", "typeof_usm_value"]

quick_classes: set[type] = set()
"""Classes of arrays whose type the hook of dispatchers reads by `typeof_usm_array`, for Numba's `typeof` costs more."""

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
        quick_classes.add(type(value))
        key = struct_key(value) if learn(value) else None
    if key is None:
        fields = array_fields(value)
        key = (fields.dtype, len(fields.shape), fields.layout, fields.readonly, usm_kind(value))
    try:
        return _types[key]
    except KeyError:
        seen = array_type(array_fields(value))
        type_ = UsmArrayType(seen.dtype, seen.ndim, seen.layout, readonly=not seen.mutable, usm_type=usm_kind(value))
        _types[key] = type_
        return type_


def typeof_usm_value(value: Any, context: Any) -> UsmArrayType | SyclObjectType | None:
    """Return the type of a USM array, a queue or an event for Numba's `typeof`, or None for anything else.

    Raises
    ------
    numba.core.errors.NumbaValueError
        If `value` is a global variable or a constant: compiled code may outlive it.
    """
    type_ = typeof_usm_array(value) if is_usm_array(value) else sycl_object_type(value)
    if type_ is not None and context.purpose is Purpose.constant:
        raise errors.NumbaValueError(
            f"{type_} must be an argument of the compiled function, got a global variable or constant; "
            "add a parameter for it"
        )
    return type_
