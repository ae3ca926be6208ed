"""A crash of Intel's OpenCL CPU compiler, avoided: sines and cosines of what sines and cosines gave."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Function, Instruction, IRValue, LocalValue
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import obscured

__all__ = ["separate_sines_and_cosines"]


@function_pass
def separate_sines_and_cosines(function: Function) -> None:
    """Let no cosine that depends on another pair be seen to be of the same number as a sine.

    ``a = sin(x); b = cos(x); sin(a) + cos(a)`` ends Intel's OpenCL CPU compiler (2026.2), from OpenCL C as well: it
    makes one call of each sine and cosine of one number, and loses such a call that takes another's result. Pairs
    that depend on none stay one call.
    """
    calls: dict[IRValue, dict[str, list[Instruction]]] = {}
    for each in function.instructions():
        word = each.callee[5:8] if each.callee.startswith(("llvm.sin.f", "llvm.cos.f")) else ""
        if word and isinstance(each.arguments[0], LocalValue):
            calls.setdefault(each.arguments[0], {}).setdefault(word, []).append(each)
    pairs = {operand: uses for operand, uses in calls.items() if len(uses) == 2}
    results = {call for uses in pairs.values() for each in uses.values() for call in each}
    for operand in [each for each in pairs if _depends(each, results)]:
        for cosine in pairs[operand]["cos"]:
            cosine.set_operand(1, obscured(Builder.before(cosine), operand))


def _depends(value: IRValue, results: set[Instruction]) -> bool:
    """Whether a value is computed from one of the results."""
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        if each in results:
            return True
        for operand in each.operands if isinstance(each, Instruction) else ():
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False
