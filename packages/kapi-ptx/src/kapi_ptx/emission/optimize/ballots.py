"""Ballots: the set of the work-items of a sub-group for which a condition holds.

In the kernel language a set is the reduction by `bit_or` of each work-item's own bit, or 0. PTX votes for it in one
instruction, of which a processor does four where it does one reduction.

References
----------
PTX ISA, sections "vote.sync" and "redux.sync".
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Function, Instruction, IRValue, declare, defined
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["reduce_bits_by_ballots"]

_BALLOT = "llvm.nvvm.vote.ballot.sync"


@function_pass
def reduce_bits_by_ballots(function: Function) -> None:
    """Vote where bits of a sub-group's work-items are combined."""
    for each in function.instructions():
        condition = _condition(each) if each.callee == "llvm.nvvm.redux.sync.or" else None
        if condition is not None:
            declare(function, f"i32 @{_BALLOT}(i32, i1) convergent nounwind")
            each.rewrite(f"call i32 @{_BALLOT}(i32 ?, i1 ?)", each.arguments[1], condition)


def _condition(reduction: Instruction) -> IRValue | None:
    """The condition under which a work-item gives its own bit, and otherwise 0; None if it gives anything else."""
    chosen = defined(reduction.arguments[0], "select")
    if chosen is None:
        return None
    condition, if_true, if_false = chosen.operands
    if _is_own_bit(if_true) and if_false.integer == 0:
        return condition
    if _is_own_bit(if_false) and if_true.integer == 0:
        return Builder.before(reduction).emit("xor i1 ?, true", condition)
    return None


def _is_own_bit(value: IRValue) -> bool:
    shifted = defined(value, "shl")
    if shifted is None or shifted.operands[0].integer != 1:
        return False
    lane = defined(shifted.operands[1], "call")
    return lane is not None and lane.callee == "llvm.nvvm.read.ptx.sreg.laneid"
