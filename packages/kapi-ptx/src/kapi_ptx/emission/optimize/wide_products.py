"""Products of two numbers of 32 bits, in 64 bits: PTX has an instruction for them.

LLVM's back end finds them where both numbers are widened in the block of the product. Where one comes from elsewhere,
or is loaded as 64 bits, it multiplies 64 bits by 64 bits, which takes three instructions of the processor.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import I32, I64, Function, defined
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["MUL_WIDE", "widen_products"]

MUL_WIDE = 'asm "mul.wide.u32 $0, $1, $2;", "=l,r,r"'
"""The instruction, as what a call names."""


@function_pass
def widen_products(function: Function) -> None:
    """Multiply two widened numbers by that instruction."""
    for each in function.instructions():
        if each.opcode == "mul" and each.type is I64:
            widened = [defined(operand, "zext") for operand in each.operands]
            narrow = [found.operands[0] for found in widened if found and found.operands[0].type is I32]
            if len(narrow) == len(widened):
                each.rewrite(f"call i64 {MUL_WIDE}(i32 ?, i32 ?)", *narrow)
