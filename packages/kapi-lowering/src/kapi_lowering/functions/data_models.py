"""Data models: the LLVM form of each Numba type that only kernels have."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import as_dtype, datamodel, models, types
from kapi_sim.language.intrinsics.records import alignment_of
from kapi_types import (
    ArrayType,
    AtomicRefType,
    GroupType,
    ItemType,
    NdItemType,
    SubGroupType,
    WeakBool,
    WeakComplex,
    WeakFloat,
    WeakInt,
    WideInt,
)
from kapi_types.kernel_api import ConstantType, EnumerationType, EnumMemberType, VecType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.calls.intrinsic_calls import LanguageFunctionType, LanguageMethodType
from kapi_types.kernel_typing.calls.prints import PrintType
from kapi_types.kernel_typing.calls.random_numbers import RandomFunctionType
from kapi_types.kernel_typing.calls.vectors import GeometryType, VecClassType
from kapi_types.kernel_typing.rules.arrays import SliceType
from kapi_types.kernel_typing.rules.conversions import RoundType
from kapi_types.kernel_typing.rules.functions import TableFunctionType
from kapi_types.kernel_typing.rules.iteration import (
    EnumerateType,
    PositionIteratorType,
    RangeIteratorType,
    RangeType,
    ReversedType,
    ZipType,
)
from kapi_types.kernel_typing.rules.tuples import NamedTupleClassType
from kapi_types.records import RecordRefType, ReorderedRecordType, value_type
from kapi_types.weak import weak_int

__all__ = ["element_type", "kernel_data_models"]

kernel_data_models = datamodel.DataModelManager().chain(datamodel.default_manager)
"""Numba's data models, with kernels' own in front."""


def element_type(manager: Any, type_: types.Type) -> ir.Type:
    """The LLVM type of an element of an array; a record's has its size and its alignment, and no fields."""
    if not isinstance(type_, types.Record):
        return manager.lookup(type_).get_data_type()
    dtype = as_dtype(type_)
    alignment = alignment_of(dtype)
    return ir.ArrayType(ir.IntType(8 * alignment), dtype.itemsize // alignment)


class PointerModel(models.PrimitiveModel):
    """A pointer into the address space that its type names."""

    def __init__(self, manager: Any, type_: types.CPointer) -> None:
        pointee = element_type(manager, type_.dtype)
        super().__init__(manager, type_, pointee.as_pointer(type_.addrspace or 0))


class FloatModel(models.PrimitiveModel):
    """A float of 16, 32 or 64 bits; a weak one is a double, until an operation has a strong float."""

    def __init__(self, manager: Any, type_: types.Float) -> None:
        held = {16: ir.HalfType, 32: ir.FloatType, 64: ir.DoubleType}[type_.bitwidth]
        super().__init__(manager, type_, held())


class ArrayModel(models.StructModel):
    """`data` pointer, `shape`, and `strides` in elements where the shape does not imply them."""

    def __init__(self, manager: Any, type_: ArrayType) -> None:
        members = [
            ("data", types.CPointer(type_.dtype, addrspace=int(type_.address_space))),
            ("shape", types.UniTuple(weak_int, type_.ndim)),
        ]
        if type_.has_strides:
            members.append(("strides", types.UniTuple(weak_int, type_.ndim)))
        super().__init__(manager, type_, members)


class RecordModel(models.StructModel):
    """The values of the fields; memory holds a record as NumPy has it, see `element_type`."""

    def __init__(self, manager: Any, type_: types.Record) -> None:
        members = [(name, value_type(type_.typeof(name))) for name in type_.fields]
        super().__init__(manager, type_, members)


class RecordRefModel(models.PrimitiveModel):
    """The address of the record."""

    def __init__(self, manager: Any, type_: RecordRefType) -> None:
        super().__init__(manager, type_, ir.IntType(8).as_pointer(int(type_.address_space)))


class ItemModel(models.StructModel):
    """The packed `range`: what was asked for, which a rounded-up launch exceeds."""

    def __init__(self, manager: Any, type_: ItemType) -> None:
        super().__init__(manager, type_, [("range", types.UniTuple(weak_int, type_.ndim))])


class AtomicRefModel(models.StructModel):
    """The address of the `element`."""

    def __init__(self, manager: Any, type_: AtomicRefType) -> None:
        pointer = types.CPointer(type_.dtype, addrspace=int(type_.array.address_space))
        super().__init__(manager, type_, [("element", pointer)])


class EnumMemberModel(models.PrimitiveModel):
    """The position of a member in its class."""

    def __init__(self, manager: Any, type_: EnumMemberType) -> None:
        super().__init__(manager, type_, ir.IntType(64))


class SliceModel(models.PrimitiveModel):
    """`start`, `stop` and `step` of a slice; what the type says is left out is unused."""

    def __init__(self, manager: Any, type_: SliceType) -> None:
        super().__init__(manager, type_, ir.ArrayType(ir.IntType(64), 3))


_IS_COUNTED = ("is_counted", types.boolean)


class RangeModel(models.StructModel):
    """`start`, `stop`, `step` and `length` of a loop, and whether its iterations are counted."""

    def __init__(self, manager: Any, type_: RangeType) -> None:
        super().__init__(
            manager, type_, [*((name, weak_int) for name in ("start", "stop", "step", "length")), _IS_COUNTED]
        )


class RangeIteratorModel(models.StructModel):
    """The `last` value, the number of `iterations` so far and whether it `turned`, in variables; where it ends."""

    def __init__(self, manager: Any, type_: RangeIteratorType) -> None:
        members = [(name, types.EphemeralPointer(weak_int)) for name in ("last", "iterations", "is_started")]
        members += [(name, weak_int) for name in ("stop", "step", "length")]
        super().__init__(manager, type_, [*members, _IS_COUNTED])


class EnumerateModel(models.StructModel):
    """The `sequence`, and the number of its first value."""

    def __init__(self, manager: Any, type_: EnumerateType) -> None:
        super().__init__(manager, type_, [("sequence", type_.sequence), ("start", weak_int)])


class ZipModel(models.StructModel):
    """The sequences."""

    def __init__(self, manager: Any, type_: ZipType) -> None:
        super().__init__(
            manager, type_, [(f"sequence{position}", each) for position, each in enumerate(type_.sequences)]
        )


class PositionIteratorModel(models.StructModel):
    """The next `position`, in a variable, the number of them, and the `sequence`."""

    def __init__(self, manager: Any, type_: PositionIteratorType) -> None:
        members = [("position", types.EphemeralPointer(weak_int)), ("length", weak_int), ("sequence", type_.sequence)]
        super().__init__(manager, type_, members)


for _type, _model in {
    types.CPointer: PointerModel,
    WeakInt: models.IntegerModel,
    WideInt: models.IntegerModel,
    types.Float: FloatModel,
    WeakFloat: FloatModel,
    WeakComplex: models.ComplexModel,
    WeakBool: models.BooleanModel,
    ArrayType: ArrayModel,
    types.Record: RecordModel,
    ReorderedRecordType: RecordModel,
    RecordRefType: RecordRefModel,
    ItemType: ItemModel,
    NdItemType: models.OpaqueModel,
    GroupType: models.OpaqueModel,
    SubGroupType: models.OpaqueModel,
    AtomicRefType: AtomicRefModel,
    ConstantType: models.OpaqueModel,
    EnumerationType: models.OpaqueModel,
    EnumMemberType: EnumMemberModel,
    DeviceFunctionType: models.OpaqueModel,
    LanguageFunctionType: models.OpaqueModel,
    RandomFunctionType: models.OpaqueModel,
    VecClassType: models.OpaqueModel,
    GeometryType: models.OpaqueModel,
    VecType: models.UniTupleModel,
    PrintType: models.OpaqueModel,
    RoundType: models.OpaqueModel,
    TableFunctionType: models.OpaqueModel,
    NamedTupleClassType: models.OpaqueModel,
    SliceType: SliceModel,
    RangeType: RangeModel,
    RangeIteratorType: RangeIteratorModel,
    EnumerateType: EnumerateModel,
    ZipType: ZipModel,
    ReversedType: lambda manager, type_: manager[type_.sequence],  # held as what is reversed
    PositionIteratorType: PositionIteratorModel,
    LanguageMethodType: lambda manager, method: manager[method.this],  # a method is held as what it is of
}.items():
    kernel_data_models.register(_type, _model)
