"""Records in kernels: one element of an array in its place, and Numba's `Record`, here a value without one.

`a[i]` is a reference, as in NumPy: a field that is assigned changes the array. A value is what a kernel gets as an
argument, copies, or makes of numbers. Its fields cannot be assigned, so that values may be copied as numbers are.
"""

from __future__ import annotations

from typing import Any

from kapi_sim import AddressSpace
from kapi_sim.language.intrinsics.records import alignment_of
from kapi_types._numba_compat import ReorderedRecordType, as_dtype, types
from kapi_types.arrays import ArrayType

__all__ = ["RecordRefType", "ReorderedRecordType", "element_type", "field_view", "spell_fields", "value_type"]


def spell_fields(record: types.Record) -> str:
    """The record type as messages name it."""
    return f"record ({', '.join(record.fields)})"


def value_type(held: types.Type) -> types.Type:
    """The type of a value of what memory holds: of a sub-array, a tuple for each axis."""
    if not isinstance(held, types.NestedArray):
        return held
    made = value_type(held.dtype)
    for extent in reversed(held.shape):
        made = types.UniTuple(made, extent)
    return made


class RecordRefType(types.Type):
    """One element of an array of records, in its place.

    - `record`: its fields and their offsets.
    - `address_space`: that of the array.
    - `mutable`: whether its fields may be written.
    - `aligned`: whether it is at a multiple of the alignment that records of this type have; else its fields are
      accessed byte by byte.
    """

    def __init__(self, record: types.Record, address_space: AddressSpace, mutable: bool, aligned: bool) -> None:
        self.record, self.address_space, self.mutable, self.aligned = record, address_space, mutable, aligned
        self.spelled = spell_fields(record)
        super().__init__(f"record_ref({record}, {address_space.name}, {mutable}, {aligned})")

    @property
    def key(self) -> tuple[Any, ...]:
        """The fields that make two of these types equal."""
        return self.record, self.address_space, self.mutable, self.aligned

    def unify(self, typingctx: Any, other: types.Type) -> RecordRefType | None:
        """The type that holds both, or None: of one record type and address space."""
        if not isinstance(other, RecordRefType) or self.key[:2] != other.key[:2]:
            return None
        return RecordRefType(
            self.record, self.address_space, self.mutable and other.mutable, self.aligned and other.aligned
        )

    def is_aligned(self, name: str) -> bool:
        """Whether a field is at a multiple of its alignment."""
        field = self.record.typeof(name)
        wanted = alignment_of(as_dtype(field.dtype if isinstance(field, types.NestedArray) else field))
        offsets = (self.record.offset(name), alignment_of(as_dtype(self.record)))
        return self.aligned and all(offset % wanted == 0 for offset in offsets)

    def field(self, name: str) -> types.Type:
        """The type that a field has in a kernel: of a record and of a sub-array, a reference to it."""
        held, is_aligned = self.record.typeof(name), self.is_aligned(name)
        if isinstance(held, types.Record):
            return RecordRefType(held, self.address_space, self.mutable, is_aligned)
        if isinstance(held, types.NestedArray):
            return ArrayType(
                held.dtype,
                held.ndim,
                "C",
                readonly=not self.mutable,
                aligned=is_aligned,
                address_space=self.address_space,
                extents=held.shape,
            )
        return held


def element_type(array: ArrayType) -> types.Type:
    """The type of one element of an array in a kernel: a number, or a reference to a record."""
    if isinstance(array.dtype, types.Record):
        return RecordRefType(array.dtype, array.address_space, array.mutable, array.aligned)
    return array.dtype


def field_view(array: ArrayType, name: str) -> ArrayType:
    """The type of the array of one field of all records of an array."""
    held = array.dtype.typeof(name)
    inner = held if isinstance(held, types.NestedArray) else None
    return ArrayType(
        held if inner is None else inner.dtype,
        array.ndim + (0 if inner is None else inner.ndim),
        "A",
        readonly=not array.mutable,
        aligned=element_type(array).is_aligned(name),
        address_space=array.address_space,
    )
