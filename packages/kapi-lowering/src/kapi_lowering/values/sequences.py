"""Loops over arrays, `enumerate`, `zip` and `reversed`: a position that counts, and the value at it."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils, types
from kapi_lowering.llvm_calls import I64
from kapi_lowering.values.iteration import is_counted
from kapi_types import ArrayType
from kapi_types.kernel_typing.rules.iteration import (
    EnumerateType,
    PositionIteratorType,
    RangeType,
    ReversedType,
    ZipType,
    value_type,
)
from kapi_types.weak import weak_int

__all__ = ["registry"]

registry = LoweringRegistry("kapi sequences")


@registry.lower(enumerate, types.Any, types.Any)
def _enumerate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return cgutils.pack_struct(builder, args)


@registry.lower(zip, types.VarArg(types.Any))
def _zip(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return cgutils.pack_struct(builder, args)


@registry.lower(reversed, types.Any)
def _reversed(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    if not isinstance(sig.return_type, RangeType):
        return args[0]
    loop = context.make_helper(builder, sig.args[0], args[0])
    last = _value_at(
        context, builder, sig.args[0], args[0], builder.sub(_length(context, builder, *sig.args, *args), I64(1))
    )
    made = context.make_helper(builder, sig.return_type)
    made.start, made.stop, made.step = last, builder.sub(loop.start, loop.step), builder.neg(loop.step)
    # Counted, as what is before the start may lie beyond the end of 64 bits.
    made.is_counted, made.length = ir.Constant(ir.IntType(1), 1), loop.length
    return made._getvalue()


def _length(context: Any, builder: ir.IRBuilder, type_: types.Type, value: ir.Value) -> ir.Value:
    """The number of values of a sequence."""
    if isinstance(type_, RangeType):
        length: ir.Value = context.make_helper(builder, type_, value).length
        return length
    if isinstance(type_, EnumerateType):
        return _length(context, builder, type_.sequence, builder.extract_value(value, 0))
    if isinstance(type_, ReversedType):
        return _length(context, builder, type_.sequence, value)
    if isinstance(type_, ZipType):
        lengths = [
            _length(context, builder, each, builder.extract_value(value, position))
            for position, each in enumerate(type_.sequences)
        ]
        shortest = lengths[0]
        for length in lengths[1:]:
            shortest = builder.select(builder.icmp_signed("<", length, shortest), length, shortest)
        return shortest
    if isinstance(type_, ArrayType):
        return builder.extract_value(context.make_helper(builder, type_, value).shape, 0)
    return I64(len(type_))


def _value_at(context: Any, builder: ir.IRBuilder, type_: types.Type, value: ir.Value, position: ir.Value) -> ir.Value:
    """The value at a position that exists."""
    if isinstance(type_, RangeType):
        loop = context.make_helper(builder, type_, value)
        return builder.add(loop.start, builder.mul(position, loop.step))
    if isinstance(type_, EnumerateType):
        sequence, start = (builder.extract_value(value, number) for number in range(2))
        counted = _value_at(context, builder, type_.sequence, sequence, position)
        return _tuple(context, builder, type_, [builder.add(start, position), counted])
    if isinstance(type_, ZipType):
        members = [
            _value_at(context, builder, each, builder.extract_value(value, number), position)
            for number, each in enumerate(type_.sequences)
        ]
        return _tuple(context, builder, type_, members)
    if isinstance(type_, ReversedType):
        last = builder.sub(_length(context, builder, type_.sequence, value), I64(1))
        return _value_at(context, builder, type_.sequence, value, builder.sub(last, position))
    sig = context.typing_context.resolve_function_type(operator.getitem, (type_, weak_int), {})
    return context.get_function(operator.getitem, sig)(builder, [value, position])


def _tuple(context: Any, builder: ir.IRBuilder, type_: types.Type, members: list[ir.Value]) -> ir.Value:
    return context.make_tuple(builder, value_type(context.typing_context, type_), members)


def _getiter(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    iterator = context.make_helper(builder, sig.return_type)
    position = cgutils.alloca_once(builder, I64)
    builder.store(I64(0), position)
    iterator.position, iterator.sequence = position, args[0]
    iterator.length = _length(context, builder, sig.args[0], args[0])
    return iterator._getvalue()


for _type in (ArrayType, EnumerateType, ZipType, ReversedType):
    registry.lower("getiter", _type)(_getiter)


@registry.lower("iternext", PositionIteratorType)
def _iternext(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    (type_,) = sig.args
    iterator = context.make_helper(builder, type_, args[0])
    position = builder.load(iterator.position)
    is_valid = builder.icmp_signed("<", position, iterator.length)
    builder.store(builder.add(position, I64(1)), iterator.position)
    found = cgutils.alloca_once(builder, context.get_value_type(type_.yield_type))
    with builder.if_then(is_valid):  # behind the end there is no memory to read
        builder.store(_value_at(context, builder, type_.sequence, iterator.sequence, position), found)
    pair = context.make_helper(builder, sig.return_type)
    pair.first, pair.second = builder.load(found), is_valid
    return pair._getvalue()


@registry.lower(len, RangeType)
def _len(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return _length(context, builder, sig.args[0], args[0])


@registry.lower(operator.getitem, RangeType, types.Integer)
def _element_of_range(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    value, index = args
    from_end = builder.add(index, _length(context, builder, sig.args[0], value))
    index = builder.select(builder.icmp_signed("<", index, I64(0)), from_end, index)
    return _value_at(context, builder, sig.args[0], value, index)


@registry.lower(operator.contains, RangeType, types.Integer)
def _in_range(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    (type_, kind), (value, number) = sig.args, args
    loop = context.make_helper(builder, type_, value)
    is_down = builder.icmp_signed("<", loop.step, I64(0))
    offset = builder.sub(number, loop.start)
    offset = builder.select(is_down, builder.neg(offset), offset)
    size = builder.select(is_down, builder.neg(loop.step), loop.step)
    size = builder.select(builder.icmp_signed("==", size, I64(0)), I64(1), size)
    position = builder.udiv(offset, size)
    is_step = builder.icmp_signed("==", builder.mul(position, size), offset)
    is_before_end = builder.icmp_unsigned("<", position, _length(context, builder, type_, value))
    above, below = builder.icmp_signed(">=", number, loop.start), builder.icmp_signed("<=", number, loop.start)
    is_after_start = builder.select(is_down, below, above)
    found = builder.and_(is_after_start, builder.and_(is_step, is_before_end))
    return found if kind.signed else builder.and_(found, builder.icmp_signed(">=", number, I64(0)))


@registry.lower_constant(RangeType)
def _constant(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Value:
    ends = [I64(value.start), I64(value.stop), I64(value.step)]
    length = max(0, -((value.start - value.stop) // value.step))  # `len` has none beyond 63 bits
    return ir.Constant.literal_struct([*ends, I64(length), is_counted(builder, ends[2])])
