"""Wrong bits of Intel's OpenCL CPU compiler, avoided: complements of integers with a minimum or a maximum."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import I32, I64, Builder, Function, Instruction, IntType
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import opaque_zero

__all__ = ["obscure_complements"]


@function_pass
def obscure_complements(function: Function) -> None:
    """Let no integer of 32 or 64 bits be seen to be complemented, but for ``~x & y``.

    For AVX-512, Intel's OpenCL CPU compiler (2026.2) puts a work-item's integers into vector registers if the least or
    greatest of them is asked for. There it does ``~x`` as ``x ^ -1``, but the instruction that is to give -1
    writes to a mask, ``vpcmpeqq %xmm0, %xmm0, %k0``. So ``~x`` is `x` and whatever else is in the register, from
    OpenCL C as well. It is so for work-items that are not part of a full vector. ``~x & y`` has an instruction of its
    own, and is right. Here ``~x`` is ``-1 - x``, whose -1 the compiler cannot know to be one; unlike ``x ^ -1`` that
    is linear, as indices have to be. Remove this when `test_driver_limits` says that the driver is mended.
    """
    for each in function.instructions():
        if each.type not in (I32, I64) or not isinstance(each.type, IntType) or all(map(_is_and, each.users)):
            continue
        minus_one, value = (1, 0) if each.opcode == "xor" else (0, 1)
        if each.opcode in ("xor", "sub") and each.operands[minus_one].integer == -1:
            type_, builder = each.type, Builder.before(each)
            less = builder.emit(f"sub {type_} ?, 1", opaque_zero(function, type_))
            # A compiler makes ``~x + zero`` of ``zero - 1 - x``, so the shift is between.
            ones = builder.emit(f"ashr {type_} ?, 1", less)
            each.rewrite(f"sub nsw {type_} ?, ?", ones, each.operands[value])


def _is_and(user: Instruction) -> bool:
    return user.opcode == "and" and all(each.integer is None for each in user.operands)
