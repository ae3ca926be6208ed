"""Records: fields of elements in memory, values of all fields, and conversions between the two.

A record lies in memory as NumPy has it, whatever LLVM would make of its fields. A value is a structure of the fields'
values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_lowering.llvm_calls import I64
from kapi_sim.language.intrinsics.records import alignment_of
from kapi_types.kernel_typing.rules.records import MAKE_RECORD, field_type
from kapi_types.records import RecordRefType, value_type

__all__ = ["byte_offset", "field_pointer", "load", "registry", "store"]

registry = LoweringRegistry("kapi records")

_BYTE = ir.IntType(8)


def byte_offset(builder: ir.IRBuilder, pointer: ir.Value, offset: int, type_: ir.Type = _BYTE) -> ir.Value:
    """The address some bytes further on, as one of a type."""
    space = pointer.type.addrspace
    moved = builder.bitcast(pointer, _BYTE.as_pointer(space))
    if offset:
        moved = builder.gep(moved, [I64(offset)], inbounds=True)
    return builder.bitcast(moved, type_.as_pointer(space))


def _parts(held: types.Type) -> Iterator[tuple[types.Type, int]]:
    """The fields of a record, or the rows of a sub-array, each with its offset in bytes."""
    if isinstance(held, types.Record):
        yield from ((held.typeof(name), held.offset(name)) for name in held.fields)
    else:
        inner = held.dtype if held.ndim == 1 else type(held)(held.dtype, held.shape[1:])
        size = _size(inner)
        yield from ((inner, position * size) for position in range(held.shape[0]))


def _size(held: types.Type) -> int:
    if isinstance(held, types.NestedArray):
        return int(as_dtype(held.dtype).itemsize) * int(held.nitems)
    return int(as_dtype(held).itemsize)


def load(context: Any, builder: ir.IRBuilder, held: types.Type, pointer: ir.Value, known: int) -> ir.Value:
    """The value of what memory holds.

    - `context`, `builder`: the target, and where to read.
    - `held`: a number's type, a `Record` or a `NestedArray`.
    - `pointer`: its address.
    - `known`: a power of two that the address is a multiple of.
    """
    if not isinstance(held, (types.Record, types.NestedArray)):
        target = byte_offset(builder, pointer, 0, context.get_data_type(held))
        return context.unpack_value(builder, held, target, _alignment(held, known))
    made: ir.Value = ir.Constant(context.get_value_type(value_type(held)), ir.Undefined)
    for position, (part, offset) in enumerate(_parts(held)):
        value = load(context, builder, part, byte_offset(builder, pointer, offset), _known(known, offset))
        made = builder.insert_value(made, value, position)
    return made


def store(
    context: Any, builder: ir.IRBuilder, held: types.Type, value: ir.Value, pointer: ir.Value, known: int
) -> None:
    """Write a value to memory; the parameters are those of `load`."""
    if not isinstance(held, (types.Record, types.NestedArray)):
        target = byte_offset(builder, pointer, 0, context.get_data_type(held))
        context.pack_value(builder, held, value, target, _alignment(held, known))
        return
    for position, (part, offset) in enumerate(_parts(held)):
        part_value = builder.extract_value(value, position)
        store(context, builder, part, part_value, byte_offset(builder, pointer, offset), _known(known, offset))


def _known(known: int, offset: int) -> int:
    """The alignment of what is some bytes further on."""
    return min(known, offset & -offset) if offset else known


def _alignment(held: types.Type, known: int) -> int | None:
    """The alignment of an access to a number; None for its own, as of all that are in no record."""
    return None if known >= alignment_of(as_dtype(held)) else known


def field_pointer(context: Any, builder: ir.IRBuilder, owner: RecordRefType, record: ir.Value, name: str) -> ir.Value:
    """The address of a field that is a number."""
    return byte_offset(builder, record, owner.record.offset(name), context.get_data_type(owner.record.typeof(name)))


def _known_of(owner: RecordRefType) -> int:
    return alignment_of(as_dtype(owner.record)) if owner.aligned else 1


def _field(context: Any, builder: ir.IRBuilder, owner: Any, value: ir.Value, name: str) -> ir.Value:
    """A field of a record: of a value, its part; of an element, what is read, or where it is."""
    if isinstance(owner, types.Record):
        return builder.extract_value(value, list(owner.fields).index(name))
    held, offset = owner.record.typeof(name), owner.record.offset(name)
    if isinstance(held, types.Record):
        return byte_offset(builder, value, offset)
    if isinstance(held, types.NestedArray):
        array = context.make_helper(builder, field_type(owner, name))
        array.data = byte_offset(builder, value, offset, context.element_type(held.dtype))
        array.shape = cgutils.pack_array(builder, [I64(extent) for extent in held.shape])
        return array._getvalue()
    return load(context, builder, held, byte_offset(builder, value, offset), _known(_known_of(owner), offset))


for _class in (RecordRefType, types.Record):
    registry.lower_getattr_generic(_class)(_field)

    @registry.lower("static_getitem", _class, types.Any)
    def _field_by_name(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return _field(context, builder, sig.args[0], args[0], args[1])

    @registry.lower_getattr(_class, "dtype")
    def _dtype(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
        return context.get_dummy_value()


def _set_field(context: Any, builder: ir.IRBuilder, owner: Any, name: str, pointer: ir.Value, value: ir.Value) -> Any:
    held, offset = owner.record.typeof(name), owner.record.offset(name)
    store(context, builder, held, value, byte_offset(builder, pointer, offset), _known(_known_of(owner), offset))
    return context.get_dummy_value()


@registry.lower_setattr_generic(RecordRefType)
def _set_by_attribute(context: Any, builder: ir.IRBuilder, sig: Any, args: Any, name: str) -> ir.Value:
    return _set_field(context, builder, sig.args[0], name, *args)


@registry.lower("static_setitem", RecordRefType, types.Any, types.Any)
def _set_by_name(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return _set_field(context, builder, sig.args[0], args[1], args[0], args[2])


@registry.lower_cast(RecordRefType, types.Record)
def _value_of(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
    return load(context, builder, target, value, _known_of(source))


@registry.lower_cast(RecordRefType, RecordRefType)
def _same_address(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
    return value


@registry.lower_cast(types.BaseTuple, types.Record)
def _made_of_members(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
    made: ir.Value = ir.Constant(context.get_value_type(target), ir.Undefined)
    for position, (member, name) in enumerate(zip(source.types, target.fields, strict=True)):
        wanted = value_type(target.typeof(name))
        part = context.cast(builder, builder.extract_value(value, position), member, wanted)
        made = builder.insert_value(made, part, position)
    return made


@registry.lower(MAKE_RECORD, types.Any, types.DType)
def _make(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return args[0]


@registry.lower_cast(types.Record, types.Record)
def _same_value(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
    return value


@registry.lower_constant(types.Record)
def _constant(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Value:
    members = [
        context.get_constant_generic(builder, value_type(type_.typeof(name)), _members(value[name]))
        for name in type_.fields
    ]
    return ir.Constant(context.get_value_type(type_), members)


def _members(held: Any) -> Any:
    """A field of a record outside of kernels: of a sub-array, a list for each axis; a number as Python's."""
    if held.ndim:
        return [_members(each) for each in held]
    return held if held.dtype.names is not None else held.item()


@registry.lower("record.copy", RecordRefType)
@registry.lower("record.copy", types.Record)
def _copy(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.cast(builder, args[0], sig.args[0], sig.return_type)
