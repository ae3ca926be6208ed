"""Integers of 64 bits whose values fit in 32, such as sums and products of pixels: half the registers of a vector.

A kernel's integers have 64 bits, as Python's have no limit. An interval of each value follows from the types that it
was converted from, and from constants. Operations on values that all fit are done in 32 bits.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    I32,
    I64,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IntType,
    IRValue,
    constant,
    declare,
)
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["narrow_integers"]

Interval = tuple[int, int]
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_ARITHMETIC = ("add", "sub", "mul", "sdiv", "srem", "and", "or", "xor")
_SHIFTS = ("shl", "lshr", "ashr")
_EXTREMES = ("llvm.smin.i64", "llvm.smax.i64", "llvm.umin.i64", "llvm.umax.i64")


@function_pass
def narrow_integers(function: Function) -> None:
    """Compute in 32 bits what fits there, wherever it comes from."""
    intervals: dict[IRValue, Interval] = {}
    narrow: dict[IRValue, IRValue] = {}
    for block in ControlFlow(function).reverse_postorder:
        for each in [*block.instructions]:
            if each.type is not I64:
                continue
            interval = _interval(each, intervals)
            if interval is None or not _fits(interval):
                continue
            intervals[each] = interval
            if each.opcode == "sext" and each.operands[0].type is I32:
                narrow[each] = each.operands[0]
                continue
            made = _narrowed(each, narrow)
            if made is not None:
                narrow[each] = made
                wide = Builder.after(made).emit("sext i32 ? to i64", made)
                intervals[wide], narrow[wide] = interval, made
                each.replace_all_uses_with(wide)
                each.erase()


def _fits(interval: Interval) -> bool:
    return interval[0] >= _LEAST and interval[1] <= _MOST


def _interval(each: Instruction, known: dict[IRValue, Interval]) -> Interval | None:
    """The least and the largest number that a value may be; None of one that may be any."""
    if each.opcode in ("zext", "sext"):
        source = each.operands[0].type
        assert isinstance(source, IntType)
        bits = source.bits
        return (0, (1 << bits) - 1) if each.opcode == "zext" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if each.opcode == "select":
        found = [_of(value, known) for value in each.operands[1:]]
        return _hull(found)
    if each.opcode == "call" and each.callee in _EXTREMES:
        found = [_of(value, known) for value in each.arguments]
        is_signed = each.callee[5] == "s"
        return _hull(found) if is_signed or all(one is not None and one[0] >= 0 for one in found) else None
    if each.opcode not in (*_ARITHMETIC, *_SHIFTS):
        return None
    left, right = (_of(operand, known) for operand in each.operands)
    if each.opcode == "and" and (left is None or right is None):
        given = left or right
        return None if given is None or given[0] < 0 else (0, given[1])
    if left is None or right is None:
        return None
    return _computed(each.opcode, left, right)


def _computed(opcode: str, left: Interval, right: Interval) -> Interval | None:
    if opcode == "add":
        return left[0] + right[0], left[1] + right[1]
    if opcode == "sub":
        return left[0] - right[1], left[1] - right[0]
    if opcode == "mul":
        products = [one * other for one in left for other in right]
        return min(products), max(products)
    if opcode in _SHIFTS:
        if right[0] != right[1] or not 0 <= right[0] < 32 or (opcode == "lshr" and left[0] < 0):
            return None
        low, high = (bound << right[0] if opcode == "shl" else bound >> right[0] for bound in left)
        return low, high
    largest = max(abs(bound) for bound in left)
    if opcode == "sdiv":
        return -largest, largest
    if opcode == "srem":
        return (-largest if left[0] < 0 else 0), largest
    bits = max(bound.bit_length() for bound in (*left, *right))  # of two's complement, less the sign
    if opcode == "and" and (left[0] >= 0 or right[0] >= 0):
        return 0, min(one[1] for one in (left, right) if one[0] >= 0)
    return (0 if left[0] >= 0 and right[0] >= 0 else -(1 << bits)), (1 << bits) - 1


def _hull(found: list[Interval | None]) -> Interval | None:
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _of(value: IRValue, known: dict[IRValue, Interval]) -> Interval | None:
    return known.get(value) if value.integer is None else (value.integer, value.integer)


def _narrowed(each: Instruction, narrow: dict[IRValue, IRValue]) -> Instruction | None:
    """The same in 32 bits, in front of it; None of a value that something else made."""
    builder = Builder.before(each)
    if each.opcode in ("zext", "sext"):
        source = each.operands[0].type
        assert isinstance(source, IntType)
        return builder.emit(f"{each.opcode} {source} ? to i32", each.operands[0]) if source.bits < 32 else None
    operands = [_in_32_bits(operand, narrow) for operand in each.operands if operand.type is I64]
    if each.opcode == "and":  # of numbers of which the upper half is of no use
        operands = [
            builder.emit("trunc i64 ? to i32", operand) if one is None and operand.integer is None else one
            for one, operand in zip(operands, each.operands, strict=True)
        ]
    given = [operand for operand in operands if operand is not None]
    if len(given) < len(operands):
        return None
    if each.opcode == "select":
        return builder.emit("select i1 ?, i32 ?, i32 ?", each.operands[0], *given)
    if each.opcode == "call":
        name = each.callee.replace("i64", "i32")
        declare(each.block.function, f"i32 @{name}(i32, i32)")  # type: ignore[union-attr]
        return builder.emit(f"call i32 @{name}(i32 ?, i32 ?)", *given)
    return builder.emit(f"{each.opcode} i32 ?, ?", *given)


def _in_32_bits(value: IRValue, narrow: dict[IRValue, IRValue]) -> IRValue | None:
    if value.integer is not None:
        return constant(I32, value.integer) if _LEAST <= value.integer <= _MOST else None
    return narrow.get(value)
