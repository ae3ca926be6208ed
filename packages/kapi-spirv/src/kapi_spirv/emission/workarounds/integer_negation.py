"""A wrong sign of Intel's OpenCL CPU compiler, avoided: that of the negative of an integer type's least number."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Function, Instruction, IntType
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import opaque_zero

__all__ = ["obscure_integer_negation"]


@function_pass
def obscure_integer_negation(function: Function) -> None:
    """Let no negative be seen to be one, if its sign is asked for.

    ``(0 - x) >> 31`` is 0 or -1 by ``x > 0`` to Intel's OpenCL CPU compiler (2026.2), from OpenCL C as well. That is
    wrong for the least number, whose negative is itself. Choices between 0 and -1 by ``0 - x < 0`` become such shifts.
    The zero is one that the compiler cannot know. Remove this when `test_driver_limits` says that the driver is mended.
    """
    for each in function.instructions():
        type_ = each.type
        if each.opcode != "sub" or not isinstance(type_, IntType) or type_.text not in ("i8", "i16", "i32", "i64"):
            continue
        if each.operands[0].integer == 0 and any(map(_asks_for_sign, each.users)):
            each.rewrite(f"sub {type_} ?, ?", opaque_zero(function, type_), each.operands[1])


def _asks_for_sign(user: Instruction) -> bool:
    is_signed = user.opcode == "icmp" and user.predicate in ("sgt", "sge", "slt", "sle")
    return is_signed or user.opcode == "ashr" or user.callee.startswith("llvm.scmp.")
