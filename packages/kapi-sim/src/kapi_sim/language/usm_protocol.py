"""The USM array protocol, `__sycl_usm_array_interface__`, version 1, as dpctl documents it."""

from __future__ import annotations

import operator
from typing import Any

from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import ArrayFields, c_strides
from kapi_sim.language.intrinsics.records import alignment_of, dtype_of_interface
from kapi_sim.short_repr import short_repr

__all__ = ["is_usm_array", "is_usm_array_class", "protocol_fields"]

_PROTOCOL = "__sycl_usm_array_interface__"


def is_usm_array(value: object) -> bool:
    """Whether `value` has the USM array protocol; reads no memory."""
    return is_usm_array_class(type(value)) or hasattr(value, _PROTOCOL)


def is_usm_array_class(cls: type) -> bool:
    """Whether all objects of a class have the USM array protocol."""
    return hasattr(cls, _PROTOCOL)


def protocol_fields(value: Any) -> ArrayFields:
    """Read the address, shape and strides of the array `value` by the protocol.

    dpnp's arrays wait for their queue here; `kapi_types.usm.structures.array_fields` does not.

    Parameters
    ----------
    value : object
        Any object with `__sycl_usm_array_interface__`.

    Returns
    -------
    ArrayFields

    Raises
    ------
    DtypeError
        If `value` has no such attribute, or the attribute describes no array.
    """
    interface = getattr(value, _PROTOCOL, None)
    if interface is None:
        raise DtypeError(
            f"array must have {_PROTOCOL}, got {type(value).__name__}; dpnp arrays have it, and "
            "`dpnp.asarray` makes one of a NumPy array",
            code="usm-array-interface",
        )
    try:
        dtype = dtype_of_interface(value, interface)
        base, readonly = interface["data"]
        shape = tuple(map(operator.index, interface["shape"]))
        given = interface.get("strides")
        strides = c_strides(shape) if given is None else tuple(map(operator.index, given))
        pointer = operator.index(base) + operator.index(interface.get("offset", 0)) * dtype.itemsize
        fields = ArrayFields(pointer, shape, strides, dtype, bool(readonly), interface["syclobj"])
        low, high = fields.span if len(strides) == len(shape) else (0, 0)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise _interface_error(f"got {type(error).__name__}: {error}") from error
    if len(strides) != len(shape) or any(extent < 0 for extent in shape):
        raise _interface_error(f"got shape {short_repr(shape)} and strides {short_repr(given)}")
    if low < high and not 0 <= low < high <= 2**64:
        raise _interface_error(f"got elements from address {low:#x} to {high:#x}")
    if low < high and pointer % alignment_of(dtype) != 0:
        raise DtypeError(
            f"an array must begin at a multiple of its elements' alignment, {alignment_of(dtype)}, got {dtype} at "
            f"{pointer:#x}: pass a copy",
            code="array-misaligned",
        )
    return fields


def _interface_error(got: str) -> DtypeError:
    return DtypeError(f"{_PROTOCOL} of an array must be as dpctl documents it, {got}", code="usm-array-interface")
