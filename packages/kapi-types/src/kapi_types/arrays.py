"""The type of arrays in kernels, whatever platform they are of: of element type, rank, layout and access."""

from __future__ import annotations

from typing import Any, TypeVar

from kapi_sim import AddressSpace
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.intrinsics.records import alignment_of, unmet_requirement
from kapi_types._numba_compat import from_dtype, types

__all__ = ["ArrayType", "array_of_numbers", "array_type"]

_NAMES = {AddressSpace.GLOBAL: "array", AddressSpace.LOCAL: "local_array", AddressSpace.PRIVATE: "private_array"}

_Self = TypeVar("_Self", bound="ArrayType")


class ArrayType(types.Array):
    """An array of `dtype` and rank `ndim` in a kernel.

    Parameters
    ----------
    dtype : numba.types.Type
        Type of one element.
    ndim : int
        Rank, 0 or more.
    layout : {"C", "F", "A"}
        "C" and "F" are contiguous; an "A" array brings its strides, which may be zero or negative.
    readonly : bool
        Whether it may not be written.
    address_space : AddressSpace
        Global memory, the local memory of a work-group, or the private memory of a work-item.
    extents : tuple of int, optional
        The shape, where it is known when a kernel is compiled: that of local memory is, since its steps from row to
        row then are constants.

    Notes
    -----
    Neither platform nor queue is part of the type: arrays of all share compiled code.
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
        address_space: AddressSpace = AddressSpace.GLOBAL,
        extents: tuple[int, ...] | None = None,
    ) -> None:
        self.extents = extents
        self.address_space = address_space
        access = (", readonly" if readonly else "") + ("" if aligned else ", unaligned")
        rank = f"{ndim}d" if extents is None else " x ".join(map(str, extents))
        super().__init__(
            dtype,
            ndim,
            layout,
            readonly=readonly,
            name=name or f"{_NAMES[address_space]}({dtype}, {rank}, {layout}{access})",
            aligned=aligned,
        )
        self.aligned = aligned  # Numba takes any array of packed records for unaligned, their fields may be aligned yet

    @property
    def key(self) -> tuple[Any, ...]:
        """The fields that make two of these types equal."""
        return (*super().key, self.address_space, self.extents)

    @property
    def has_strides(self) -> bool:
        """Whether a kernel is given the array's strides: not where the shape alone implies them."""
        return bool(self.layout != "C")

    @property
    def mangling_args(self) -> tuple[str, list[Any]]:
        """The arguments that distinguish compiled functions in their mangled names."""
        name, arguments = super().mangling_args
        return name, [*arguments, self.address_space.name, str(self.extents)]

    def in_kernel(self) -> ArrayType:
        """The same type without what a kernel's code does not depend on."""
        if type(self) is ArrayType:
            return self
        return ArrayType(self.dtype, self.ndim, self.layout, readonly=not self.mutable)

    def copy(
        self: _Self,
        dtype: types.Type | None = None,
        ndim: int | None = None,
        layout: str | None = None,
        readonly: bool | None = None,
    ) -> _Self:
        """The same type with some of its properties replaced; of another rank or layout, its shape is not known."""
        return type(self)(
            self.dtype if dtype is None else dtype,
            self.ndim if ndim is None else ndim,
            self.layout if layout is None else layout,
            readonly=(not self.mutable) if readonly is None else readonly,
            aligned=self.aligned,
            address_space=self.address_space,
            extents=self.extents if ndim is None and layout is None else None,
        )

    def unify(self, typingctx: Any, other: types.Type) -> ArrayType | None:
        """The type that holds both, or None: arrays of one dtype and rank unify to the weaker layout."""
        if type(other) is not type(self) or (other.dtype, other.ndim) != (self.dtype, self.ndim):
            return None
        if other.address_space is not self.address_space:
            return None
        return ArrayType(
            self.dtype,
            self.ndim,
            self.layout if self.layout == other.layout else "A",
            readonly=not (self.mutable and other.mutable),
            aligned=self.aligned and other.aligned,
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
        """Conversion to another type of such arrays, of the same elements; never to a NumPy array type."""
        if type(other) is type(self) and other.address_space is self.address_space:
            return super().can_convert_to(typingctx, other)
        return None

    def __repr__(self) -> str:
        return str(self.name)


def array_type(fields: ArrayFields) -> ArrayType:
    """The type that an array with these fields has in a kernel.

    Raises
    ------
    TypeError
        If a kernel cannot hold the element type.
    """
    if fields.dtype.names is not None:
        unmet = unmet_requirement(fields.dtype)
        if unmet:
            raise TypeError(f"array dtype {unmet}")
        alignment = alignment_of(fields.dtype)
        if fields.pointer % alignment and 0 not in fields.shape:
            raise TypeError(
                f"an array of records must begin at a multiple of {alignment} bytes, got {fields.pointer:#x}"
            )
    elif fields.dtype.kind not in "biufc":
        raise TypeError(f"array dtype must be a number or bool, got {fields.dtype}")
    try:
        element = from_dtype(fields.dtype)
    except Exception as error:
        raise TypeError(f"array dtype must be one that kernels have, got {fields.dtype}") from error
    return ArrayType(element, len(fields.shape), fields.layout, readonly=fields.readonly)


def array_of_numbers(fields: ArrayFields) -> ArrayType:
    """The same for an array in a function that Numba compiles for the host, where device arrays have no records.

    Raises `TypeError` if the elements are no numbers.
    """
    if fields.dtype.names is not None:
        raise TypeError(
            f"elements of a device array must be numbers in a function of numba.njit, got {fields.dtype}: write a "
            "kernel, which takes records"
        )
    return array_type(fields)
