"""Counts of shifts in 64 bits, in the bits that a shift reads.

A shift of PTX by more than its width gives 0, and LLVM's back end makes one instruction of a shift and the choice of 0
beyond the width. But it compares the count in 64 bits, and gives the instruction the lower half of it: a count of 2**32
is then one of 0. Where the count is masked, the comparison stays.

Functions of libdevice shift beyond the width and go by what PTX gives, which is no value in LLVM. There the choice of
it is written out, before their counts are masked as all others.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import I64, Builder, Function, Instruction, IntType, IRValue, constant, defined
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["define_wide_shifts", "mask_shift_counts"]


@function_pass
def define_wide_shifts(function: Function) -> None:
    """Let shifts beyond the width give what they give in PTX: 0, or the sign in all bits."""
    for each in function.instructions():
        type_ = each.type
        if each.opcode not in ("shl", "lshr", "ashr") or not isinstance(type_, IntType) or not _is_variable(each):
            continue
        builder, last = Builder.before(each), type_.bits - 1
        value, count = each.operands
        beyond: IRValue = constant(type_, 0)
        if each.opcode == "ashr":
            beyond = builder.emit(f"ashr {type_} ?, {last}", value)
        inside = builder.emit(f"{each.opcode} {type_} ?, ?", value, builder.emit(f"and {type_} ?, {last}", count))
        is_beyond = builder.emit(f"icmp ugt {type_} ?, {last}", count)
        each.rewrite(f"select i1 ?, {type_} ?, {type_} ?", is_beyond, beyond, inside)


@function_pass
def mask_shift_counts(function: Function) -> None:
    """Mask counts of shifts that the back end may read in fewer bits than a comparison does."""
    for each in function.instructions():
        type_ = each.type
        if each.opcode not in ("shl", "lshr") or not isinstance(type_, IntType) or not _is_variable(each):
            continue
        count = each.operands[1]
        # A comparison has no more bits than a count that is not narrowed.
        may_differ = type_ is I64 or defined(count, "trunc")
        if may_differ and not _is_masked(count) and type_.bits in (8, 16, 32, 64):
            each.set_operand(1, Builder.before(each).emit(f"and {type_} ?, {type_.bits - 1}", count))


def _is_variable(each: Instruction) -> bool:
    return each.operands[1].integer is None and each.operands[1].ref.startswith("%")


def _is_masked(count: IRValue) -> bool:
    masked = defined(count, "and")
    mask = masked.operands[1].integer if masked and masked.type is I64 else None
    return mask is not None and 0 <= mask < I64.bits
