"""`range` loops, with any step; a step of zero, which Python refuses, is a loop that does not run."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils, types
from kapi_lowering.llvm_calls import I64, is_constant
from kapi_lowering.numbers.conversion import held_bound
from kapi_types.kernel_typing.rules.iteration import RangeIteratorType, RangeType

__all__ = ["is_counted", "length_of_range", "registry"]

registry = LoweringRegistry("kapi iteration")


@registry.lower(range, types.VarArg(types.Any))
def _range(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    struct = context.make_helper(builder, sig.return_type)
    args = [held_bound(builder, value, type_) for value, type_ in zip(args, sig.args, strict=True)]
    struct.start, struct.stop = (I64(0), args[0]) if len(args) == 1 else args[:2]
    struct.step = args[2] if len(args) == 3 else I64(1)
    struct.is_counted, struct.length = is_counted(builder, struct.step), length_of_range(builder, struct)
    return struct._getvalue()


for _name in ("start", "stop", "step"):

    @registry.lower_getattr(RangeType, _name)
    def _end(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value, name: str = _name) -> ir.Value:
        return getattr(context.make_helper(builder, type_, value), name)


def is_counted(builder: ir.IRBuilder, step: ir.Value) -> ir.Value:
    """Whether the iterations of a loop of this step are counted: where it is a number, and not 1, 0 or -1.

    Then the division that it takes before the loop is cheap, and no value is looked at for whether it left 64 bits.
    """
    if isinstance(step, ir.Constant):
        return ir.Constant(ir.IntType(1), int(abs(step.constant) > 1))
    return builder.and_(is_constant(builder, step), builder.not_(_is_unit(builder, step)))


def length_of_range(builder: ir.IRBuilder, loop: Any) -> ir.Value:
    """The number of values of a range, unsigned; `loop` has its start, stop and step."""
    is_down = builder.icmp_signed("<", loop.step, I64(0))
    span = builder.select(is_down, builder.sub(loop.start, loop.stop), builder.sub(loop.stop, loop.start))
    size = builder.select(is_down, builder.neg(loop.step), loop.step)
    # The span may have all 64 bits, so the ends are compared themselves. A step of zero, which Python refuses, is a
    # loop that does not run; SPIR-V has no division by it.
    first, end = builder.select(is_down, loop.stop, loop.start), builder.select(is_down, loop.start, loop.stop)
    is_empty = builder.or_(builder.icmp_signed(">=", first, end), builder.icmp_signed("==", size, I64(0)))
    divisor = builder.select(is_empty, I64(1), size)
    count = builder.add(builder.udiv(builder.sub(span, I64(1)), divisor), I64(1))
    return builder.select(is_empty, I64(0), count)


@registry.lower("getiter", RangeType)
def _getiter(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    loop = context.make_helper(builder, sig.args[0], args[0])
    iterator = context.make_helper(builder, sig.return_type)
    variable = cgutils.alloca_once(builder, I64)
    # What is kept is the value of the iteration before: if it were the next one's, optimised loops would have two
    # variables, one a step behind the other, which drivers do not see through.
    builder.store(builder.sub(loop.start, loop.step), variable)
    # A step of zero ends where it starts.
    stop = builder.select(builder.icmp_signed("==", loop.step, I64(0)), loop.start, loop.stop)
    iterator.last, iterator.stop, iterator.step, iterator.is_counted = variable, stop, loop.step, loop.is_counted
    iterator.iterations, iterator.length = cgutils.alloca_once(builder, I64), loop.length
    iterator.is_started = cgutils.alloca_once(builder, I64)
    for counter in (iterator.iterations, iterator.is_started):
        builder.store(I64(0), counter)
    return iterator._getvalue()


def _is_unit(builder: ir.IRBuilder, step: ir.Value) -> ir.Value:
    """Whether a step is 1, 0 or -1, by which no value leaves 64 bits."""
    return builder.icmp_unsigned("<=", builder.add(step, I64(1)), I64(2))


@registry.lower("iternext", RangeIteratorType)
def _iternext(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    iterator = context.make_helper(builder, sig.args[0], args[0])
    before, iterations = builder.load(iterator.last), builder.load(iterator.iterations)
    value = builder.add(before, iterator.step)
    # Complements have the opposite order: one comparison serves both directions, whatever the step is.
    direction = builder.ashr(iterator.step, I64(63))
    position = builder.xor(value, direction)
    is_before_end = builder.icmp_signed("<", position, builder.xor(iterator.stop, direction))
    # A step of more than 1 may go from one end of 64 bits to the other. What is left before the end is an unsigned
    # number, and less than the step there; before the first iteration it may be anything.
    left = builder.sub(builder.xor(iterator.stop, direction), builder.xor(before, direction))
    size = builder.select(builder.trunc(direction, ir.IntType(1)), builder.neg(iterator.step), iterator.step)
    is_first = builder.icmp_signed("==", builder.load(iterator.is_started), I64(0))
    has_next = builder.select(is_first, is_before_end, builder.icmp_unsigned(">", left, size))
    is_known_unit = builder.and_(is_constant(builder, iterator.step), _is_unit(builder, iterator.step))
    has_next = builder.select(is_known_unit, is_before_end, has_next)
    is_valid = builder.select(iterator.is_counted, builder.icmp_unsigned("<", iterations, iterator.length), has_next)
    builder.store(builder.add(iterations, I64(1)), iterator.iterations)
    builder.store(I64(1), iterator.is_started)
    builder.store(value, iterator.last)
    pair = context.make_helper(builder, sig.return_type)
    pair.first, pair.second = value, is_valid
    return pair._getvalue()
