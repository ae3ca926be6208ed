"""The Numba type of an array in USM memory."""

from __future__ import annotations

from typing import Any

from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.usm_protocol import is_usm_array, is_usm_array_class
from kapi_types._numba_compat import types
from kapi_types.arrays import ArrayType
from kapi_types.usm.structures import array_fields

__all__ = ["ArrayFields", "UsmArrayType", "array_fields", "is_usm_array", "is_usm_array_class", "usm_kind"]

_HOST_ACCESSIBLE = ("shared", "host")


class UsmArrayType(ArrayType):
    """An array in unified shared memory, in a function that runs on the host; kernels see its `in_kernel`.

    Parameters
    ----------
    dtype : numba.types.Type
        Type of one element.
    ndim : int
        Rank, 0 or more.
    layout : {"C", "F", "A"}
        "C" and "F" are contiguous; an "A" array has strides, which may be zero or negative.
    readonly : bool
        Whether it may not be written.
    usm_type : {"device", "shared", "host"}, optional
        Kind of USM allocation; None where it is not known.

    Notes
    -----
    The queue is not part of the type: arrays of two queues share compiled code.
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
        self.usm_type = usm_type
        kind = f", {usm_type}" if usm_type else ""
        access = ", readonly" if readonly else ""
        named = name or f"usm_array({dtype}, {ndim}d, {layout}{kind}{access})"
        super().__init__(dtype, ndim, layout, readonly=readonly, name=named, aligned=aligned)

    @property
    def key(self) -> tuple[Any, ...]:
        """The fields that make two of these types equal."""
        return (*super().key, self.usm_type)

    @property
    def mangling_args(self) -> tuple[str, list[Any]]:
        """The arguments that distinguish compiled functions in their mangled names."""
        name, arguments = super().mangling_args
        return name, [*arguments, self.usm_type or "unknown"]

    @property
    def is_host_accessible(self) -> bool:
        """Whether a function that runs on the host may touch the memory, as far as the USM kind is known."""
        return self.usm_type in _HOST_ACCESSIBLE

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> type[UsmArrayType]:
        """The type that Numba gives an array expression: a USM array, not one of NumPy's."""
        return UsmArrayType

    def copy(
        self,
        dtype: types.Type | None = None,
        ndim: int | None = None,
        layout: str | None = None,
        readonly: bool | None = None,
        usm_type: str | None = None,
    ) -> UsmArrayType:
        """The same type with some of its properties replaced."""
        return UsmArrayType(
            self.dtype if dtype is None else dtype,
            self.ndim if ndim is None else ndim,
            self.layout if layout is None else layout,
            readonly=(not self.mutable) if readonly is None else readonly,
            aligned=self.aligned,
            usm_type=usm_type or self.usm_type,
        )

    def unify(self, typingctx: Any, other: types.Type) -> UsmArrayType | None:
        """The type that holds both, or None: arrays of one dtype and rank unify to the weaker layout."""
        found = super().unify(typingctx, other)
        if found is None:
            return None
        usm_type = self.usm_type if self.usm_type == other.usm_type else None
        return UsmArrayType(found.dtype, found.ndim, found.layout, readonly=not found.mutable, usm_type=usm_type)


def usm_kind(value: Any) -> str | None:
    """The USM kind of an array: "device", "shared" or "host"; None if it is unknown.

    The protocol does not have the kind. dpnp's arrays have an attribute `usm_type`, dpctl's memory a method
    `get_usm_type`.
    """
    kind = getattr(value, "usm_type", None)
    if kind is None and hasattr(value, "get_usm_type"):
        kind = value.get_usm_type()
    return kind if kind in ("device", *_HOST_ACCESSIBLE) else None
