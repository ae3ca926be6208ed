"""The Numba type of an array in USM memory."""

from __future__ import annotations

from typing import Any, Self

from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.usm_protocol import is_usm_array, is_usm_array_class
from kapi_types._numba_compat import types
from kapi_types.device_arrays.device_array import HOST_ACCESSIBLE, DeviceArrayType
from kapi_types.usm.structures import array_fields

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

    def _same_library(self, *args: Any, **keywords: Any) -> Self:
        return type(self)(*args, **keywords)


def usm_kind(value: Any) -> str | None:
    """The USM kind of an array: "device", "shared" or "host"; None if it is unknown.

    The protocol does not have the kind. dpnp's arrays have an attribute `usm_type`, dpctl's memory a method
    `get_usm_type`.
    """
    kind = getattr(value, "usm_type", None)
    if kind is None and hasattr(value, "get_usm_type"):
        kind = value.get_usm_type()
    return kind if kind in ("device", *HOST_ACCESSIBLE) else None
