"""Divisions of integers, which processors have for scalars alone: by floats, or once for neighbours.

Quotients of integers of 51 bits are exact in float64 once they are truncated: where a quotient is no integer, it is
further from the next one than half a unit in the last place. So are those of 22 bits in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.instructions.lane_loops import lane_loop
from kapi_lowering.emission.llvm_ir import Block, Instruction, IntType, IRType, IRValue, constant, declare, parse_type

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["division", "needs_division"]

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")

_EXACT_BITS = 51
_SHIFT_BITS = 0x4338000000000000
"""The bits of 1.5 * 2**52: a sum with an integer of 51 bits has that integer as its last bits."""

_FAR = 256
"""The largest distance of neighbours that are divided at once."""


def needs_division(each: Instruction) -> bool:
    """Whether LLVM divides lane by lane: not by constants that products or shifts stand for."""
    if each.opcode not in _DIVISIONS:
        return False
    divisor, type_ = each.operands[1].integer, each.type
    assert isinstance(type_, IntType)
    return divisor in (None, 0, -1) or (type_.bits > 32 and divisor & (divisor - 1) != 0)


def division(emitter: LaneEmitter, each: Instruction) -> IRValue:
    """Divide in all lanes."""
    left, right = each.operands
    stride = emitter.shapes[left]
    if emitter.shapes[right] == 0 and isinstance(stride, int) and 0 < stride <= _FAR:
        return _of_neighbours(emitter, each, stride)
    return _in_floats(emitter, each)


def _operands(emitter: LaneEmitter, each: Instruction) -> tuple[IRValue, IRValue]:
    """Operands of lanes that are on; the others divide 0 by 1."""
    found = []
    for operand, other in zip(each.operands, (0, 1), strict=True):
        vector = emitter.vector(operand)
        if emitter.mask is not None:
            splat = constant(vector.type, f"splat ({vector.type.scalar} {other})")
            text = f"select {emitter.mask.type} ?, {vector.type} ?, {vector.type} ?"
            vector = emitter.builder.emit(text, emitter.mask, vector, splat)
        found.append(vector)
    return found[0], found[1]


def _joined(
    emitter: LaneEmitter, type_: IRType, one: tuple[IRValue, Block], other: tuple[IRValue, Block], end: Block
) -> IRValue:
    emitter.move(end)
    return emitter.builder.phi(type_, [one, other])


def _of_neighbours(emitter: LaneEmitter, each: Instruction, stride: int) -> IRValue:
    """Divide numbers that are not negative by one: by shifts where it is a power of two, or once where it is large."""
    type_ = each.type
    assert isinstance(type_, IntType)
    span = stride * emitter.lanes
    first, divisor = map(emitter.scalar, each.operands)
    builder = emitter.builder
    limit = (1 << (type_.bits - 1)) - span
    is_small = builder.emit(f"icmp ult {type_} ?, {limit}", first)
    ones = builder.emit(f"add {type_} ?, -1", divisor)
    common = builder.emit(f"and {type_} ?, ?", divisor, ones)
    # Of a signed number this leaves 0 out, and the least one, whose quotients no shift gives.
    is_positive = builder.emit(f"icmp sgt {type_} ?, 0", divisor)
    is_power = builder.emit("and i1 ?, ?", builder.emit(f"icmp eq {type_} ?, 0", common), is_positive)
    is_wide = builder.emit(f"icmp {'s' if each.opcode[0] == 's' else 'u'}ge {type_} ?, {span}", divisor)
    (found,) = emitter.either(
        builder.emit("and i1 ?, ?", is_small, is_power),
        lambda: [_shifted(emitter, each, divisor, ones)],
        lambda: emitter.either(
            emitter.builder.emit("and i1 ?, ?", is_small, is_wide),
            lambda: [_at_once(emitter, each, first, divisor, stride)],
            lambda: [_in_floats(emitter, each)],
        ),
    )
    return found


def _shifted(emitter: LaneEmitter, each: Instruction, divisor: IRValue, ones: IRValue) -> IRValue:
    """Divide by a power of two."""
    type_, builder, numbers = each.type, emitter.builder, emitter.vector(each.operands[0])
    if each.opcode.endswith("rem"):
        return builder.emit(f"and {numbers.type} ?, ?", numbers, emitter.splat(ones))
    declare(emitter.function, f"{type_} @llvm.cttz.{type_}({type_}, i1)")
    count = builder.emit(f"call {type_} @llvm.cttz.{type_}({type_} ?, i1 true)", divisor)
    return builder.emit(f"lshr {numbers.type} ?, ?", numbers, emitter.splat(count))


def _at_once(emitter: LaneEmitter, each: Instruction, first: IRValue, divisor: IRValue, stride: int) -> IRValue:
    """Divide the first lane's number: no other one has a quotient that is larger by more than 1.

    That holds of a divisor that is larger than the distance of all lanes.
    """
    builder, type_ = emitter.builder, each.type
    vector = emitter.vector_type(type_)
    quotient = builder.emit(f"udiv {type_} ?, ?", first, divisor)
    rest = builder.emit(f"sub {type_} ?, ?", first, builder.emit(f"mul {type_} ?, ?", quotient, divisor))
    rests = builder.emit(f"add {vector} ?, ?", emitter.splat(rest), emitter.steps(type_, stride))
    divisors = emitter.splat(divisor)
    is_next = builder.emit(f"icmp uge {vector} ?, ?", rests, divisors)
    if each.opcode.endswith("div"):
        carried = builder.emit(f"zext {is_next.type} ? to {vector}", is_next)
        return builder.emit(f"add {vector} ?, ?", emitter.splat(quotient), carried)
    less = builder.emit(f"sub {vector} ?, ?", rests, divisors)
    return builder.emit(f"select {is_next.type} ?, {vector} ?, {vector} ?", is_next, less, rests)


def _in_floats(emitter: LaneEmitter, each: Instruction) -> IRValue:
    """Divide in floats that hold the numbers, or one by one where they are too large."""
    left, right = _operands(emitter, each)
    type_ = each.type
    assert isinstance(type_, IntType)
    if type_.bits <= 32:
        return _in_exact_floats(emitter, each, left, right, "float" if type_.bits <= 16 else "double")
    builder, vector = emitter.builder, left.type
    limit = 1 << (_EXACT_BITS - 1)
    held = [left, right]
    if each.opcode.startswith("s"):
        bias = constant(vector, f"splat (i64 {limit})")
        held = [builder.emit(f"add {vector} ?, ?", operand, bias) for operand in held]
        limit *= 2
    bits = builder.emit(f"or {vector} ?, ?", *held)
    is_any = emitter.any(builder.emit(f"icmp ugt {vector} ?, ?", bits, constant(vector, f"splat (i64 {limit - 1})")))
    slow, fast, end = (emitter.block(f"division.{name}") for name in ("large", "floats", "end"))
    emitter.branch(is_any, slow, fast)
    emitter.move(slow)
    one_by_one = lane_loop(emitter, each)
    assert one_by_one is not None
    emitter.jump(end)
    one = one_by_one, emitter.builder.block
    emitter.move(fast)
    builder, floats = emitter.builder, parse_type(f"<{emitter.lanes} x double>")
    shift = constant(vector, f"splat (i64 {_SHIFT_BITS})")
    real = constant(floats, f"splat (double 0x{_SHIFT_BITS:016X})")
    numbers = []
    for operand in (left, right):
        moved = builder.emit(f"add {vector} ?, ?", operand, shift)
        as_float = builder.emit(f"bitcast {vector} ? to {floats}", moved)
        numbers.append(builder.emit(f"fsub {floats} ?, ?", as_float, real))
    result = _truncated(emitter, each, *numbers)
    moved = builder.emit(f"fadd {floats} ?, ?", result, real)
    found = builder.emit(f"sub {vector} ?, ?", builder.emit(f"bitcast {floats} ? to {vector}", moved), shift)
    emitter.jump(end)
    return _joined(emitter, vector, one, (found, fast), end)


def _in_exact_floats(emitter: LaneEmitter, each: Instruction, left: IRValue, right: IRValue, name: str) -> IRValue:
    """Divide numbers that all fit into a float."""
    builder, vector, floats = emitter.builder, left.type, parse_type(f"<{emitter.lanes} x {name}>")
    kind = each.opcode[0]
    numbers = [builder.emit(f"{kind}itofp {vector} ? to {floats}", operand) for operand in (left, right)]
    result = _truncated(emitter, each, *numbers)
    return builder.emit(f"fpto{kind}i {floats} ? to {vector}", result)


def _truncated(emitter: LaneEmitter, each: Instruction, left: IRValue, right: IRValue) -> IRValue:
    """The quotient or the remainder, as an integral float."""
    builder, floats = emitter.builder, left.type
    suffix = f"v{emitter.lanes}f{64 if floats.scalar.text == 'double' else 32}"
    declare(emitter.function, f"{floats} @llvm.trunc.{suffix}({floats})")
    quotient = builder.emit(f"fdiv {floats} ?, ?", left, right)
    quotient = builder.emit(f"call {floats} @llvm.trunc.{suffix}({floats} ?)", quotient)
    if each.opcode.endswith("div"):
        return quotient
    return builder.emit(f"fsub {floats} ?, ?", left, builder.emit(f"fmul {floats} ?, ?", quotient, right))
