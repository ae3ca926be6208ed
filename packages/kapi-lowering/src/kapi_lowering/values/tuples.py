"""Tuples: members by constant and by computed index, fields, length, comparison, and loops over members of one type."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils, getiter_unituple, iternext_unituple, types
from kapi_lowering.llvm_calls import I64
from kapi_lowering.numbers.conversion import convert
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.tuples import HOMOGENEOUS, MAKE_NAMED_TUPLE
from kapi_types.weak import weak_int

__all__ = ["registry"]

registry = LoweringRegistry("kapi tuples")

_FALSE, _TRUE = ir.IntType(1)(0), ir.IntType(1)(1)


@registry.lower("static_getitem", types.BaseTuple, types.Any)
def _constant_index(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    value, index = args
    if isinstance(index, slice):
        chosen = range(len(sig.args[0]))[index]
        return context.make_tuple(builder, sig.return_type, [builder.extract_value(value, each) for each in chosen])
    return builder.extract_value(value, index % len(sig.args[0]))


def _computed_index(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    """A chain of selects: tuples are short, and memory for them would be private memory."""
    (tuple_type, index_type), (value, index) = sig.args, args
    index = convert(builder, index, index_type, types.int64)
    size = I64(len(tuple_type))
    from_end = builder.add(index, size)
    if context.options.checks_bounds:
        # From the end, too: tuples are Python's.
        is_outside = builder.icmp_unsigned(">=", from_end, I64(2 * len(tuple_type)))
        with cgutils.if_unlikely(builder, is_outside):
            context.call_conv.return_index_failure(builder, index, 0, size)
    index = builder.select(builder.icmp_signed("<", index, I64(0)), from_end, index)
    chosen = builder.extract_value(value, 0)
    for position in range(1, len(tuple_type)):
        is_here = builder.icmp_signed("==", index, I64(position))
        chosen = _select(builder, is_here, builder.extract_value(value, position), chosen)
    return chosen


def _select(builder: ir.IRBuilder, condition: ir.Value, first: ir.Value, second: ir.Value) -> ir.Value:
    """Either value; of structures each part, which SPIR-V before 1.4 cannot select at once."""
    if not isinstance(first.type, (ir.LiteralStructType, ir.ArrayType)):
        return builder.select(condition, first, second)
    made: ir.Value = ir.Constant(first.type, ir.Undefined)
    for position in range(len(first.type)):
        parts = (builder.extract_value(value, position) for value in (first, second))
        made = builder.insert_value(made, _select(builder, condition, *parts), position)
    return made


for _class in HOMOGENEOUS:
    registry.lower(operator.getitem, _class, types.Integer)(_computed_index)


@registry.lower_getattr_generic(types.BaseNamedTuple)
def _field(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value, name: str) -> ir.Value:
    return builder.extract_value(value, type_.fields.index(name))


@registry.lower(MAKE_NAMED_TUPLE, types.VarArg(types.Any))
def _make(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.make_tuple(builder, sig.return_type, args)


@registry.lower(len, types.BaseTuple)
def _len(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return I64(len(sig.args[0]))


@registry.lower(tuple)
@registry.lower(tuple, types.BaseTuple)
def _same(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    members = [builder.extract_value(args[0], position) for position in range(len(sig.return_type))] if args else []
    return context.make_tuple(builder, sig.return_type, members)


@registry.lower(operator.add, types.BaseTuple, types.BaseTuple)
@registry.lower(operator.iadd, types.BaseTuple, types.BaseTuple)
def _concatenate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    members = [
        builder.extract_value(value, position)
        for value, type_ in zip(args, sig.args, strict=True)
        for position in range(len(type_))
    ]
    return context.make_tuple(builder, sig.return_type, members)


def _apply(
    context: Any, builder: ir.IRBuilder, function: Any, types_: tuple[Any, Any], values: tuple[ir.Value, ir.Value]
) -> ir.Value:
    """One operator on two members, of whatever types."""
    sig = context.typing_context.resolve_function_type(function, types_, {})
    converted = [
        context.cast(builder, value, from_, to) for value, from_, to in zip(values, types_, sig.args, strict=True)
    ]
    return context.get_function(function, sig)(builder, converted)


@registry.lower(operator.contains, types.BaseTuple, types.Any)
def _contains(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    (tuple_type, value_type), (members, value) = sig.args, args
    found: ir.Value = _FALSE
    for position, type_ in enumerate(tuple_type.types):
        pair = (builder.extract_value(members, position), value)
        found = builder.or_(found, _apply(context, builder, operator.eq, (type_, value_type), pair))
    return found


def _register_comparison(function: Any) -> None:
    @registry.lower(function, types.BaseTuple, types.BaseTuple)
    def compare(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        left, right = sig.args
        symbol = COMPARISONS[function]
        if len(left) != len(right) and symbol in ("==", "!="):
            return _TRUE if symbol == "!=" else _FALSE
        # Of tuples that begin alike, the shorter one is the less.
        result = _TRUE if function(len(left), len(right)) else _FALSE
        for position in reversed(range(min(len(left), len(right)))):
            types_ = (left.types[position], right.types[position])
            values = tuple(builder.extract_value(value, position) for value in args)
            equal = _apply(context, builder, operator.eq, types_, values)
            if symbol in ("==", "!="):
                decided: ir.Value = _FALSE if symbol == "==" else _TRUE
            else:
                decided = _apply(context, builder, function, types_, values)
            result = builder.select(equal, result, decided)
        return result


for _function in COMPARISONS:
    _register_comparison(_function)


@registry.lower(sum, types.BaseTuple)
@registry.lower(sum, types.BaseTuple, types.Any)
def _sum(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    total_type, total = (sig.args[1], args[1]) if len(args) == 2 else (weak_int, I64(0))
    for position, type_ in enumerate(sig.args[0].types):
        types_ = (total_type, type_)
        total = _apply(context, builder, operator.add, types_, (total, builder.extract_value(args[0], position)))
        total_type = context.typing_context.resolve_function_type(operator.add, types_, {}).return_type
    return total


def _register_truth(function: Any) -> None:
    @registry.lower(function, types.BaseTuple)
    def truth(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        result = _TRUE if function is all else _FALSE
        for position, type_ in enumerate(sig.args[0].types):
            value = convert(builder, builder.extract_value(args[0], position), type_, types.boolean)
            result = builder.and_(result, value) if function is all else builder.or_(result, value)
        return result


def _register_extreme(function: Any) -> None:
    @registry.lower(function, types.BaseTuple)
    def extreme(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        members = [
            convert(builder, builder.extract_value(args[0], position), type_, sig.return_type)
            for position, type_ in enumerate(sig.args[0].types)
        ]
        if len(members) == 1:
            return members[0]
        of_members = sig.return_type(*[sig.return_type] * len(members))
        return context.get_function(function, of_members)(builder, members)


for _truth in (any, all):
    _register_truth(_truth)
for _extreme in (min, max):
    _register_extreme(_extreme)

registry.lower("getiter", types.UniTuple)(getiter_unituple)
registry.lower("getiter", types.NamedUniTuple)(getiter_unituple)
registry.lower("iternext", types.UniTupleIter)(iternext_unituple)
