"""The Numba type of an array in USM memory."""

from __future__ import annotations

from typing import Any, Self

from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.usm_protocol import is_usm_array, is_usm_array_class
from kapi_types._numba_compat import types
from kapi_types.device_arrays.device_array import HOST_ACCESSIBLE, DeviceArrayType
from kapi_types.device_arrays.libraries import library_fields
from kapi_types.usm import structures

__all__ = ["ArrayFields", "UsmArrayType", "array_fields", "is_usm_array", "is_usm_array_class", "usm_kind"]


class UsmArrayType(DeviceArrayType):
    """An array in unified shared memory, in a function that runs on the host; its `library` is "usm".

    Parameters
    ----------
    dtype, ndim, layout, readonly
        As those of `DeviceArrayType`.
    usm_type : {"device", "shared", "host"}, optional
        Kind of USM allocation; None where it is not known.
    """

    def __init__(
        self,
        dtype: types.Type,
        ndim: int,
        layout: str,
        readonly: bool = False,
        name: str | None = None,
        aligned: bool = True,
        usm_type: str | None = None,
    ) -> None:
        super().__init__("usm", dtype, ndim, layout, readonly, name, aligned, usm_type)

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> type[DeviceArrayType]:
        """The class that Numba makes an array expression's type by."""
        return UsmArrayType

    def _same_library(self, *args: Any, **keywords: Any) -> Self:
        return type(self)(*args, **keywords)


def array_fields(value: Any) -> ArrayFields:
    """Read the address, shape and strides of a device array without waiting for the work that fills it.

    Parameters
    ----------
    value : object
        An array of a library that kapi-types knows, or any object with `__sycl_usm_array_interface__`.

    Raises
    ------
    DtypeError
        If it is no such array, or one that compiled code cannot read.
    """
    return library_fields(value) or structures.array_fields(value)


def usm_kind(value: Any) -> str | None:
    """The USM kind of an array: "device", "shared" or "host"; None if it is unknown.

    The protocol does not have the kind. dpnp's arrays have an attribute `usm_type`, dpctl's memory a method
    `get_usm_type`.
    """
    kind = getattr(value, "usm_type", None)
    if kind is None and hasattr(value, "get_usm_type"):
        kind = value.get_usm_type()
    return kind if kind in ("device", *HOST_ACCESSIBLE) else None
