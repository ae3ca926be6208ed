"""Operators on numbers: Python's signs, NumPy's wrap-around, and no undefined result for any operands.

Dividing an integer by zero gives 0, the smallest integer divided by -1 wraps, and a shift by the width or more gives
0 or the sign; the simulator and debug mode report the first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils, types
from kapi_lowering.llvm_calls import I32, call_declared, call_intrinsic, is_constant
from kapi_types.kernel_typing.rules.operators import INPLACE

__all__ = ["registry"]

registry = LoweringRegistry("kapi arithmetic")

Emit = Callable[[ir.IRBuilder, types.Type, ir.Value, ir.Value], ir.Value]

_DIVISIONS = {operator.floordiv: "//", operator.mod: "%"}
_IN_PLACE_OF = {function: in_place for in_place, function in INPLACE.items()}


def _binary(function: Any, kind: type) -> Callable[[Emit], Emit]:
    """Register the code of an operator, and of its in-place form, for operands of one type of `kind`."""

    def register(emit: Emit) -> Emit:
        def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
            if kind is types.Integer and function in _DIVISIONS and context.options.debug:
                _check_divisor(context, builder, _DIVISIONS[function], args[1])
            if kind is types.Integer and function is operator.pow and sig.args[1].signed and context.options.debug:
                _check_exponent(context, builder, args[1])
            return emit(builder, sig.args[0], args[0], args[1])

        for key in filter(None, (function, _IN_PLACE_OF.get(function))):
            registry.lower(key, kind, kind)(implement)
        return emit

    return register


def _check_divisor(context: Any, builder: ir.IRBuilder, sign: str, divisor: ir.Value) -> None:
    """End the work-item if it divides an integer by zero."""
    with cgutils.if_unlikely(builder, builder.icmp_unsigned("==", divisor, divisor.type(0))):
        context.call_conv.return_operand_failure(
            builder, "DivisionByZeroError", "division-by-zero", f"divisor of {sign} must not be zero, got 0"
        )


def _check_exponent(context: Any, builder: ir.IRBuilder, exponent: ir.Value) -> None:
    """End the work-item if it raises an integer to the power of a negative one."""
    with cgutils.if_unlikely(builder, builder.icmp_signed("<", exponent, exponent.type(0))):
        text = "exponent of ** must not be negative where both are integers"
        context.call_conv.return_operand_failure(builder, "OperandError", "negative-exponent", text)


def _unary(function: Any, kind: type) -> Callable[[Callable[..., ir.Value]], Callable[..., ir.Value]]:
    def register(emit: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
        def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
            return emit(builder, sig.args[0], args[0])

        registry.lower(function, kind)(implement)
        return emit

    return register


def _instruction(name: str) -> Emit:
    """The code of an operator that is one LLVM instruction, named as the builder's method."""

    def emit(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
        return getattr(builder, name)(left, right)

    return emit


# -- bools -----------------------------------------------------------------------------------------------

for _function, _emit_name in {
    operator.add: "or_",
    operator.mul: "and_",
    operator.and_: "and_",
    operator.or_: "or_",
    operator.xor: "xor",
}.items():
    _binary(_function, types.Boolean)(_instruction(_emit_name))

_unary(operator.invert, types.Boolean)(lambda builder, type_, value: builder.not_(value))
_unary(abs, types.Boolean)(lambda builder, type_, value: value)


# -- integers --------------------------------------------------------------------------------------------

for _function, _emit_name in {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.and_: "and_",
    operator.or_: "or_",
    operator.xor: "xor",
}.items():
    _binary(_function, types.Integer)(_instruction(_emit_name))


def _in_32_bits(emit: Emit) -> Emit:
    """The code of a division whose operands of 16 bits, with a sign, are widened: drivers divide vectors of 32 bits."""

    def wide(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
        if not type_.signed or type_.bitwidth != 16:
            return emit(builder, type_, left, right)
        result = emit(builder, types.int32, builder.sext(left, I32), builder.sext(right, I32))
        return builder.trunc(result, left.type)

    return wide


# The least integer divided by -1 has no result of its type, and neither has a division by zero: both are kept from the
# instruction, by values that LLVM cannot put together into one comparison, which drivers take apart into scalars.


@_binary(operator.floordiv, types.Integer)
@_in_32_bits
def _floor_divide(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    is_zero = builder.icmp_unsigned("==", right, right.type(0))
    if not type_.signed:
        return builder.select(is_zero, left.type(0), builder.udiv(left, builder.select(is_zero, right.type(1), right)))
    is_minus_one = builder.icmp_signed("==", right, right.type(-1))
    divisor = builder.select(is_minus_one, right.type(1), builder.select(is_zero, right.type(2), right))
    quotient = builder.sdiv(left, divisor)
    # By a second division, drivers would divide twice.
    remainder = builder.sub(left, builder.mul(quotient, divisor))
    rounds_down = _rounds_up(builder, left, remainder, divisor)
    quotient = builder.sub(quotient, builder.zext(rounds_down, left.type))
    quotient = builder.select(is_minus_one, builder.neg(left), quotient)
    quotient = builder.select(is_zero, left.type(0), quotient)
    return builder.select(_is_known_power(builder, right), builder.ashr(left, _exponent(builder, right)), quotient)


@_binary(operator.mod, types.Integer)
@_in_32_bits
def _modulo(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    is_zero = builder.icmp_unsigned("==", right, right.type(0))
    divisor = builder.select(is_zero, right.type(1), right)
    if not type_.signed:
        return builder.urem(left, divisor)
    is_minus_one = builder.icmp_signed("==", right, right.type(-1))
    remainder = builder.srem(builder.select(is_minus_one, left.type(0), left), divisor)
    adjusted = builder.add(remainder, divisor)
    remainder = builder.select(_rounds_up(builder, left, remainder, divisor), adjusted, remainder)
    low_bits = builder.and_(left, builder.sub(right, right.type(1)))
    return builder.select(_is_known_power(builder, right), low_bits, remainder)


def _rounds_up(builder: ir.IRBuilder, left: ir.Value, remainder: ir.Value, divisor: ir.Value) -> ir.Value:
    """Whether a truncating division must be corrected: it leaves a remainder, and its operands differ in their signs.

    Of operands that LLVM knows the signs of, it knows the answer.
    """
    nonzero = builder.icmp_signed("!=", remainder, remainder.type(0))
    opposite = builder.icmp_signed("<", builder.xor(left, divisor), remainder.type(0))
    return builder.and_(nonzero, opposite)


def _is_known_power(builder: ir.IRBuilder, divisor: ir.Value) -> ir.Value:
    """Whether a divisor is a power of two that is known when the kernel is compiled."""
    is_known = is_constant(builder, divisor)
    is_positive = builder.icmp_signed(">", divisor, divisor.type(0))
    has_one_bit = builder.icmp_unsigned(
        "==", builder.and_(divisor, builder.sub(divisor, divisor.type(1))), divisor.type(0)
    )
    return builder.and_(is_known, builder.and_(is_positive, has_one_bit))


def _exponent(builder: ir.IRBuilder, power: ir.Value) -> ir.Value:
    """The exponent of a power of two; any amount that can be shifted by of other numbers."""
    count = call_declared(builder, f"llvm.cttz.{power.type}", power.type, [power, cgutils.false_bit])
    return builder.and_(count, power.type(power.type.width - 1))


@_binary(operator.pow, types.Integer)
def _integer_power(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    """A power by repeated squaring; a negative exponent, which NumPy refuses, gives 0."""
    before = builder.basic_block
    head = builder.append_basic_block("power")
    body = builder.append_basic_block("power.square")
    after = builder.append_basic_block("power.end")
    builder.branch(head)

    builder.position_at_end(head)
    result, base, exponent = (builder.phi(left.type) for _ in range(3))
    builder.cbranch(builder.icmp_unsigned("!=", exponent, exponent.type(0)), body, after)

    builder.position_at_end(body)
    is_odd = builder.trunc(exponent, ir.IntType(1))
    next_result = builder.select(is_odd, builder.mul(result, base), result)
    next_base = builder.mul(base, base)
    next_exponent = builder.lshr(exponent, exponent.type(1))
    builder.branch(head)

    is_negative = cgutils.false_bit
    for phi, first, following in (
        (result, left.type(1), next_result),
        (base, left, next_base),
        (exponent, right, next_exponent),
    ):
        phi.add_incoming(first, before)
        phi.add_incoming(following, body)
    builder.position_at_end(after)
    if type_.signed:
        is_negative = builder.icmp_signed("<", right, right.type(0))
    return builder.select(is_negative, result.type(0), result)


@_binary(operator.lshift, types.Integer)
def _shift_left(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    in_range = builder.icmp_unsigned("<", right, right.type(type_.bitwidth))
    amount = builder.select(in_range, right, right.type(0))
    return builder.select(in_range, builder.shl(left, amount), left.type(0))


@_binary(operator.rshift, types.Integer)
def _shift_right(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    in_range = builder.icmp_unsigned("<", right, right.type(type_.bitwidth))
    last = right.type(type_.bitwidth - 1)
    if type_.signed:
        return builder.ashr(left, builder.select(in_range, right, last))
    return builder.select(in_range, builder.lshr(left, builder.select(in_range, right, last)), left.type(0))


_unary(operator.neg, types.Integer)(lambda builder, type_, value: builder.neg(value))
_unary(operator.pos, types.Integer)(lambda builder, type_, value: value)
_unary(operator.invert, types.Integer)(lambda builder, type_, value: builder.not_(value))


@_unary(abs, types.Integer)
def _integer_absolute(builder: ir.IRBuilder, type_: types.Type, value: ir.Value) -> ir.Value:
    if not type_.signed:
        return value
    return builder.select(builder.icmp_signed("<", value, value.type(0)), builder.neg(value), value)


# -- floats ----------------------------------------------------------------------------------------------

for _function, _emit_name in {
    operator.add: "fadd",
    operator.sub: "fsub",
    operator.mul: "fmul",
    operator.truediv: "fdiv",
}.items():
    _binary(_function, types.Float)(_instruction(_emit_name))


def _divmod(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Quotient before rounding and remainder, with the divisor's sign."""
    zero = left.type(0.0)
    remainder = builder.frem(left, right)
    quotient = builder.fdiv(builder.fsub(left, remainder), right)
    is_exact = builder.fcmp_ordered("==", remainder, zero)
    differs = builder.xor(builder.fcmp_ordered("<", right, zero), builder.fcmp_ordered("<", remainder, zero))
    differs = builder.and_(differs, builder.not_(is_exact))
    quotient = builder.select(differs, builder.fsub(quotient, left.type(1.0)), quotient)
    corrected = builder.select(differs, builder.fadd(remainder, right), remainder)
    signed_zero = call_intrinsic(builder, "copysign", [zero, right])
    return quotient, builder.select(is_exact, signed_zero, corrected)


def _in_float32(emit: Emit) -> Emit:
    """The code of an operator whose operands of 16 bits are widened, and its result narrowed, as NumPy does it."""

    def wide(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
        if type_.bitwidth != 16:
            return emit(builder, type_, left, right)
        left, right = (builder.fpext(operand, ir.FloatType()) for operand in (left, right))
        return builder.fptrunc(emit(builder, types.float32, left, right), ir.HalfType())

    return wide


@_binary(operator.floordiv, types.Float)
@_in_float32
def _float_floor_divide(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    quotient, _remainder = _divmod(builder, left, right)
    zero, half, one = left.type(0.0), left.type(0.5), left.type(1.0)
    floor = call_intrinsic(builder, "floor", [quotient])
    too_low = builder.fcmp_ordered(">", builder.fsub(quotient, floor), half)
    floor = builder.select(too_low, builder.fadd(floor, one), floor)
    plain = builder.fdiv(left, right)
    signed_zero = call_intrinsic(builder, "copysign", [zero, plain])
    floor = builder.select(builder.fcmp_ordered("==", quotient, zero), signed_zero, floor)
    return builder.select(builder.fcmp_ordered("==", right, zero), plain, floor)


@_binary(operator.mod, types.Float)
@_in_float32
def _float_modulo(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    return _divmod(builder, left, right)[1]


@_binary(operator.pow, types.Float)
@_in_float32
def _float_power(builder: ir.IRBuilder, type_: types.Type, left: ir.Value, right: ir.Value) -> ir.Value:
    """Products where the exponent is known to be 3 or 4; LLVM itself squares."""
    power = call_intrinsic(builder, "pow", [left, right])
    is_known, square = is_constant(builder, right), builder.fmul(left, left)
    for exponent, factor in ((3, left), (4, square)):
        is_it = builder.and_(is_known, builder.fcmp_ordered("==", right, right.type(exponent)))
        power = builder.select(is_it, builder.fmul(square, factor), power)
    return power


_unary(operator.neg, types.Float)(lambda builder, type_, value: builder.fneg(value))
_unary(operator.pos, types.Float)(lambda builder, type_, value: value)
_unary(abs, types.Float)(lambda builder, type_, value: call_intrinsic(builder, "fabs", [value]))
