"""The Numba type of an array in USM memory, and what its protocol says of one array in hand.

References
----------
The protocol is `__sycl_usm_array_interface__`, version 1, as dpctl documents it.
"""

from __future__ import annotations

from typing import Any

from kapi_sim import AddressSpace
from kapi_sim.language.usm_fields import ArrayFields, array_fields, is_usm_array, is_usm_array_class
from kapi_types._numba_compat import from_dtype, types

__all__ = [
    "ArrayFields",
    "UsmArrayType",
    "array_fields",
    "array_type",
    "is_usm_array",
    "is_usm_array_class",
    "usm_kind",
]

_HOST_ACCESSIBLE = ("shared", "host")
_PLACES = {AddressSpace.LOCAL: "local_array", AddressSpace.PRIVATE: "private_array"}


class UsmArrayType(types.Array):
    """An array of `dtype` and rank `ndim` in USM or work-group memory.

    Parameters
    ----------
    dtype : numba.types.Type
        Type of one element.
    ndim : int
        Rank, 0 or more.
    layout : {"C", "F", "A"}
        "C" and "F" are contiguous; an "A" array brings its strides, which may be zero or negative.
    usm_type : {"device", "shared", "host"}, optional
        Kind of USM allocation; None where it does not matter, as inside a kernel.
    address_space : AddressSpace
        Global memory, the local memory of a work-group, or the private memory of a work-item.
    extents : tuple of int, optional
        The shape, where it is known when a kernel is compiled: that of local memory is, since its steps from row to
        row then are constants.

    Notes
    -----
    The queue is not part of the type: arrays of two queues share compiled code.
    """

    _hash: int

    def __init__(
        self,
        dtype: types.Type,
        ndim: int,
        layout: str,
        readonly: bool = False,
        name: str | None = None,
        aligned: bool = True,
        usm_type: str | None = None,
        address_space: AddressSpace = AddressSpace.GLOBAL,
        extents: tuple[int, ...] | None = None,
    ) -> None:
        self.usm_type = usm_type
        self.extents = extents
        self.address_space = address_space
        place = _PLACES.get(address_space, "usm_array")
        kind = f", {usm_type}" if usm_type else ""
        access = ", readonly" if readonly else ""
        rank = f"{ndim}d" if extents is None else " x ".join(map(str, extents))
        super().__init__(
            dtype,
            ndim,
            layout,
            readonly=readonly,
            name=name or f"{place}({dtype}, {rank}, {layout}{kind}{access})",
            aligned=aligned,
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two of these types equal."""
        return (*super().key, self.usm_type, self.address_space, self.extents)

    @property
    def has_strides(self) -> bool:
        """Whether a kernel is given the array's strides: not where the shape alone implies them."""
        return bool(self.layout != "C")

    @property
    def mangling_args(self) -> tuple[str, list[Any]]:
        """What tells compiled functions apart in their names."""
        name, arguments = super().mangling_args
        return name, [*arguments, self.usm_type or "unknown", self.address_space.name, str(self.extents)]

    @property
    def is_host_accessible(self) -> bool:
        """Whether a function that runs on the host may touch the memory, as far as the USM kind tells."""
        return self.usm_type in _HOST_ACCESSIBLE

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> type[UsmArrayType]:
        """What Numba asks for the type of an array expression: a USM array, not one of NumPy's."""
        return UsmArrayType

    def in_kernel(self) -> UsmArrayType:
        """The same type without what a kernel's code does not depend on."""
        return UsmArrayType(
            self.dtype,
            self.ndim,
            self.layout,
            readonly=not self.mutable,
            address_space=self.address_space,
            extents=self.extents,
        )

    def copy(
        self,
        dtype: types.Type | None = None,
        ndim: int | None = None,
        layout: str | None = None,
        readonly: bool | None = None,
        usm_type: str | None = None,
    ) -> UsmArrayType:
        """The same type with some of its properties replaced; of another rank or layout, its shape is not known."""
        return UsmArrayType(
            self.dtype if dtype is None else dtype,
            self.ndim if ndim is None else ndim,
            self.layout if layout is None else layout,
            readonly=(not self.mutable) if readonly is None else readonly,
            aligned=self.aligned,
            usm_type=usm_type or self.usm_type,
            address_space=self.address_space,
            extents=self.extents if ndim is None and layout is None else None,
        )

    def unify(self, typingctx: Any, other: types.Type) -> UsmArrayType | None:
        """The type that holds both, or None: arrays of one dtype and rank unify to the weaker layout."""
        if not isinstance(other, UsmArrayType) or (other.dtype, other.ndim) != (self.dtype, self.ndim):
            return None
        if other.address_space is not self.address_space:
            return None
        return UsmArrayType(
            self.dtype,
            self.ndim,
            self.layout if self.layout == other.layout else "A",
            readonly=not (self.mutable and other.mutable),
            usm_type=self.usm_type if self.usm_type == other.usm_type else None,
            address_space=self.address_space,
            extents=self.extents if self.extents == other.extents else None,
        )

    # Numba's dispatcher hashes the type of each argument of each call.
    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(self.key)
            return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the hash, which another process computes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def can_convert_to(self, typingctx: Any, other: types.Type) -> Any:
        """Conversion to another USM array type of the same elements; never to a NumPy array type."""
        if isinstance(other, UsmArrayType) and other.address_space is self.address_space:
            return super().can_convert_to(typingctx, other)
        return None

    def __repr__(self) -> str:
        return str(self.name)


def usm_kind(value: Any) -> str | None:
    """The USM kind of an array: "device", "shared" or "host"; None if it is unknown.

    The protocol does not have the kind. dpnp's arrays have an attribute `usm_type`, dpctl's memory a method
    `get_usm_type`.
    """
    kind = getattr(value, "usm_type", None)
    if kind is None and hasattr(value, "get_usm_type"):
        kind = value.get_usm_type()
    return kind if kind in ("device", *_HOST_ACCESSIBLE) else None


def array_type(fields: ArrayFields) -> UsmArrayType:
    """The type of an array with these fields, of unknown USM kind.

    Raises
    ------
    TypeError
        If a kernel cannot hold the element type.
    """
    if fields.dtype.kind not in "biufc":
        raise TypeError(f"array dtype must be a number or bool, got {fields.dtype}")
    try:
        element = from_dtype(fields.dtype)
    except Exception as error:
        raise TypeError(f"array dtype must be one that kernels have, got {fields.dtype}") from error
    return UsmArrayType(element, len(fields.shape), fields.layout, readonly=fields.readonly)
