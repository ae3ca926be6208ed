"""Arithmetic of which only the lower bits are kept, such as of pixels that are stored as bytes: it is done in 16 bits.

The lower bits of sums, differences and products depend on those of the operands alone, and a shift to the right needs
as many more. A register holds twice as many numbers of 16 bits as of 32, and their products take a third of the time.
"""

from __future__ import annotations

from collections.abc import Collection

from kapi_lowering.emission.llvm_ir import (
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IntType,
    IRType,
    IRValue,
    constant,
    parse_type,
)
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["narrow_truncations"]

_BITS = 16
_CLOSED = ("add", "sub", "mul", "and", "or", "xor")
"""Operations whose lower bits depend on the operands' alone."""

_SHIFTS = ("shl", "lshr", "ashr")
_CONVERSIONS = ("trunc", "zext", "sext")


@function_pass
def narrow_truncations(function: Function) -> None:
    """Compute in 16 bits what is cut off to as many or fewer."""
    instructions = [each for block in ControlFlow(function).reverse_postorder for each in block.instructions]
    right: dict[IRValue, int] = {}
    for each in instructions:
        right[each] = _right_bits(each, right)
    ends = {each for each in instructions if _is_end(each) and right[each.operands[0]] >= _bits(each.type)}
    parts = _parts_of(ends, right)
    made: dict[IRValue, IRValue] = {}
    for each in instructions:
        if each in ends:
            found = _narrow(each.operands[0], made)
            if _bits(each.type) < _BITS:
                found = Builder.before(each).emit(f"trunc i{_BITS} ? to {each.type}", found)
            each.replace_all_uses_with(found)
        elif each in parts:
            made[each] = _in_16_bits(each, made)
    for each in reversed(instructions):
        if each in ends or (each in parts and not each.users):
            each.erase()


def _bits(type_: IRType) -> int:
    return type_.bits if isinstance(type_, IntType) else 0


def _is_end(each: Instruction) -> bool:
    """Whether an instruction keeps 16 bits or fewer of arithmetic in more."""
    return each.opcode == "trunc" and 1 < _bits(each.type) <= _BITS < _bits(each.operands[0].type)


def _is_leaf(each: Instruction) -> bool:
    """Whether an instruction widens a number of 16 bits or fewer."""
    return each.opcode in ("zext", "sext") and _bits(each.operands[0].type) <= _BITS


def _right_bits(each: Instruction, known: dict[IRValue, int]) -> int:
    """The lower bits of a result that are right if it is computed in 16; 0 where it cannot be."""
    if _bits(each.type) <= _BITS:
        return 0

    def of(value: IRValue) -> int:
        return _BITS if value.integer is not None else known.get(value, 0)

    if _is_leaf(each):
        return _BITS
    if each.opcode in _CONVERSIONS:
        return of(each.operands[0])
    if each.opcode in _CLOSED:
        return min(map(of, each.operands))
    if each.opcode == "select":
        return min(map(of, each.operands[1:]))
    if each.opcode in _SHIFTS and (count := each.operands[1].integer) is not None and 0 <= count < _BITS:
        given = of(each.operands[0])
        return max(0, given if each.opcode == "shl" else given - count)
    return 0


def _parts_of(ends: set[Instruction], right: dict[IRValue, int]) -> set[Instruction]:
    """All that ends are computed from, of whose results nothing else has a use; takes other ends away."""
    while True:
        parts_of = {end: _operands_within(end, right) for end in ends}
        parts = {each for found in parts_of.values() for each in found}
        others = {
            each
            for each in parts
            if not _is_leaf(each) and not all(user in parts or user in ends for user in each.users)
        }
        dropped = {end for end, found in parts_of.items() if found & others or not _computes(found)}
        if not dropped:
            return parts
        ends -= dropped


def _operands_within(end: Instruction, right: dict[IRValue, int]) -> set[Instruction]:
    found: set[Instruction] = set()
    pending = [end.operands[0]]
    while pending:
        each = pending.pop()
        if isinstance(each, Instruction) and right.get(each) and each not in found:
            found.add(each)
            if not _is_leaf(each):
                pending += each.operands
    return found


def _computes(parts: Collection[Instruction]) -> bool:
    return any(each.opcode in _CLOSED for each in parts)


def _narrow(value: IRValue, made: dict[IRValue, IRValue]) -> IRValue:
    """The lower 16 bits of an operand."""
    if value.integer is None:
        return made[value]
    lower = value.integer & ((1 << _BITS) - 1)
    return constant(parse_type(f"i{_BITS}"), lower - ((lower >> (_BITS - 1)) << _BITS))


def _in_16_bits(each: Instruction, made: dict[IRValue, IRValue]) -> IRValue:
    """The same in 16 bits, in front of it."""
    builder = Builder.before(each)
    if _is_leaf(each):
        source = each.operands[0]
        if _bits(source.type) == _BITS:
            return source
        return builder.emit(f"{each.opcode} {source.type} ? to i{_BITS}", source)
    if each.opcode in _CONVERSIONS:
        return _narrow(each.operands[0], made)
    if each.opcode == "select":
        arms = [_narrow(arm, made) for arm in each.operands[1:]]
        return builder.emit(f"select i1 ?, i{_BITS} ?, i{_BITS} ?", each.operands[0], *arms)
    operands = [_narrow(operand, made) for operand in each.operands]
    return builder.emit(f"{each.opcode} i{_BITS} ?, ?", *operands)
