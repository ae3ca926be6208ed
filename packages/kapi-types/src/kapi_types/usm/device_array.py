"""The Numba type of a device array, of whatever library."""

from __future__ import annotations

from typing import Any, Self

from kapi_types._numba_compat import types
from kapi_types.arrays import ArrayType

__all__ = ["DeviceArrayType"]

_HOST_ACCESSIBLE = ("shared", "host")


class DeviceArrayType(ArrayType):
    """An array in a device's memory, in a function that runs on the host; kernels see its `in_kernel`.

    Parameters
    ----------
    library : str
        The name of the library's module, such as "cupy"; "usm" for all that have the protocol of USM arrays.
    dtype : numba.types.Type
        Type of one element.
    ndim : int
        Rank, 0 or more.
    layout : {"C", "F", "A"}
        "C" and "F" are contiguous; an "A" array has strides, which may be zero or negative.
    readonly : bool
        Whether it may not be written.
    usm_type : {"device", "shared", "host"}, optional
        Kind of its memory; None where it is not known.

    Notes
    -----
    Queue and stream are not part of the type: arrays of two queues share compiled code.
    """

    def __init__(
        self,
        library: str,
        dtype: types.Type,
        ndim: int,
        layout: str,
        readonly: bool = False,
        name: str | None = None,
        aligned: bool = True,
        usm_type: str | None = None,
    ) -> None:
        self.library, self.usm_type = library, usm_type
        kind = f", {usm_type}" if usm_type else ""
        access = ", readonly" if readonly else ""
        named = name or f"{library}_array({dtype}, {ndim}d, {layout}{kind}{access})"
        super().__init__(dtype, ndim, layout, readonly=readonly, name=named, aligned=aligned)

    @property
    def key(self) -> tuple[Any, ...]:
        """The fields that make two of these types equal."""
        return (*super().key, self.library, self.usm_type)

    @property
    def mangling_args(self) -> tuple[str, list[Any]]:
        """The arguments that distinguish compiled functions in their mangled names."""
        name, arguments = super().mangling_args
        return name, [*arguments, self.library, self.usm_type or "unknown"]

    @property
    def is_host_accessible(self) -> bool:
        """Whether a function that runs on the host may touch the memory, as far as its kind is known."""
        return self.usm_type in _HOST_ACCESSIBLE

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> type[DeviceArrayType]:
        """The type that Numba gives an array expression: a device array, not one of NumPy's."""
        return type(self)

    def copy(
        self,
        dtype: types.Type | None = None,
        ndim: int | None = None,
        layout: str | None = None,
        readonly: bool | None = None,
        usm_type: str | None = None,
    ) -> Self:
        """The same type with some of its properties replaced."""
        return self._like(
            self.dtype if dtype is None else dtype,
            self.ndim if ndim is None else ndim,
            self.layout if layout is None else layout,
            readonly=(not self.mutable) if readonly is None else readonly,
            aligned=self.aligned,
            usm_type=usm_type or self.usm_type,
        )

    def unify(self, typingctx: Any, other: types.Type) -> Self | None:
        """The type that holds both, or None: arrays of one library, dtype and rank unify to the weaker layout."""
        found = super().unify(typingctx, other) if getattr(other, "library", None) == self.library else None
        if found is None:
            return None
        usm_type = self.usm_type if self.usm_type == other.usm_type else None
        return self._like(found.dtype, found.ndim, found.layout, readonly=not found.mutable, usm_type=usm_type)

    def can_convert_to(self, typingctx: Any, other: types.Type) -> Any:
        """Conversion to another type of the library's arrays, of the same elements; never to a NumPy array type."""
        return super().can_convert_to(typingctx, other) if getattr(other, "library", None) == self.library else None

    def _like(self, *args: Any, **keywords: Any) -> Self:
        return type(self)(self.library, *args, **keywords)
