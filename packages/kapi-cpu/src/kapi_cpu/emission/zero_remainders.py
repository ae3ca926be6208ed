"""Remainders that are compared with zero, in the form that LLVM gives to Python's, which have the divisor's sign.

Python's remainder is the processor's, plus the divisor where signs differ and it is not 0. It is 0 where that one is.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Function, Instruction, IRValue, constant, defined, erase_unused
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["simplify_zero_remainders"]

_DEEPEST = 6


@function_pass
def simplify_zero_remainders(function: Function) -> None:
    """Compare the processor's remainder with 0, rather than with what it is where Python's is 0."""
    for each in [*function.instructions()]:
        if each.opcode != "icmp" or each.predicate not in ("eq", "ne"):
            continue
        for remainder, other in (each.operands, each.operands[::-1]):
            found, negated = defined(remainder, "srem"), defined(other, "sub")
            if found is None or negated is None or negated.operands[0].integer != 0:
                continue
            if _is_adjustment(negated.operands[1], found, _DEEPEST):
                each.set_operand(0, found)
                each.set_operand(1, constant(found.type, 0))
                erase_unused(negated)
                break


def _is_adjustment(value: IRValue, remainder: Instruction, depth: int) -> bool:
    """Whether a value is 0 where a remainder is 0, and 0 or the divisor elsewhere.

    The remainder is no number whose absolute value is the divisor's.
    """
    if value.integer == 0:
        return True
    chosen = defined(value, "select")
    if chosen is None or not depth:
        return False
    condition, one, other = chosen.operands
    answer = _where_zero(condition, remainder, depth)
    if answer is None:
        return False
    kept, given = (one, other) if answer else (other, one)
    return _is_adjustment(kept, remainder, depth - 1) and _is_divisor(given, remainder.operands[1], depth - 1)


def _where_zero(condition: IRValue, remainder: Instruction, depth: int) -> bool | None:
    """The value of a condition where a remainder is 0; None if that is not known."""
    if not isinstance(condition, Instruction) or not depth:
        return None
    if condition.opcode == "icmp" and condition.operands[0] is remainder and condition.operands[1].integer == 0:
        return {"eq": True, "ne": False}.get(condition.predicate)
    if condition.opcode in ("and", "or"):
        absorbing = condition.opcode == "or"
        if any(_where_zero(operand, remainder, depth - 1) is absorbing for operand in condition.operands):
            return absorbing
    return None


def _is_divisor(value: IRValue, divisor: IRValue, depth: int) -> bool:
    """Whether a value is the divisor or 0."""
    if value is divisor or value.integer == 0:
        return True
    if not isinstance(value, Instruction) or not depth:
        return False
    if value.opcode == "select":
        return all(_is_divisor(operand, divisor, depth - 1) for operand in value.operands[1:])
    if value.callee.startswith(("llvm.smin.", "llvm.smax.")):
        return all(_is_divisor(operand, divisor, depth - 1) for operand in value.arguments)
    return False
