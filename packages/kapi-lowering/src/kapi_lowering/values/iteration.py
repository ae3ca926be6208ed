"""`range` loops, with any step; a step of zero, which Python refuses, is a loop that does not run."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils, types
from kapi_lowering.llvm_calls import I64
from kapi_types.kernel_typing.rules.iteration import RangeIteratorType, RangeType

__all__ = ["registry"]

registry = LoweringRegistry("kapi iteration")


@registry.lower(range, types.VarArg(types.Any))
def _range(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    struct = context.make_helper(builder, sig.return_type)
    struct.start, struct.stop = (I64(0), args[0]) if len(args) == 1 else args[:2]
    struct.step = args[2] if len(args) == 3 else I64(1)
    return struct._getvalue()


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
    iterator.last, iterator.stop, iterator.step = variable, stop, loop.step
    iterator.turned = cgutils.alloca_once(builder, I64)
    builder.store(I64(0), iterator.turned)
    return iterator._getvalue()


def _has_not_wrapped(builder: ir.IRBuilder, iterator: Any, value: ir.Value) -> ir.Value:
    """Whether a value is one that 64 bits hold: a step of more than 1 may go from one end of them to the other."""
    # Folded away for the steps that nearly all loops have.
    is_unit = builder.icmp_unsigned("<=", builder.add(iterator.step, I64(1)), I64(2))
    before = builder.load(iterator.last)
    crossed = builder.and_(builder.xor(before, value), builder.xor(iterator.step, value))
    is_inside = builder.icmp_signed(">=", crossed, I64(0))
    # What is before the start may lie beyond the ends itself.
    is_first = builder.icmp_signed("==", builder.load(iterator.turned), I64(0))
    builder.store(I64(1), iterator.turned)
    return builder.or_(is_unit, builder.or_(is_inside, is_first))


@registry.lower("iternext", RangeIteratorType)
def _iternext(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    iterator = context.make_helper(builder, sig.args[0], args[0])
    value = builder.add(builder.load(iterator.last), iterator.step)
    # Complements have the opposite order: one comparison serves both directions, whatever the step turns out to be.
    direction = builder.ashr(iterator.step, I64(63))
    is_before_end = builder.icmp_signed("<", builder.xor(value, direction), builder.xor(iterator.stop, direction))
    is_valid = builder.and_(is_before_end, _has_not_wrapped(builder, iterator, value))
    builder.store(value, iterator.last)
    pair = context.make_helper(builder, sig.return_type)
    pair.first, pair.second = value, is_valid
    return pair._getvalue()
