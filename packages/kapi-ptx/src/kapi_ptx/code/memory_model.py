"""Scopes and orders: the kernel language's constants as PTX's words.

References
----------
PTX ISA, section "Memory Consistency Model".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_sim import MemoryOrder, MemoryScope

__all__ = ["asm", "scope_word", "write_fence"]

_SCOPES = {
    MemoryScope.SYSTEM: "sys",
    MemoryScope.DEVICE: "gpu",
    MemoryScope.WORK_GROUP: "cta",
    # PTX has none that are smaller.
    MemoryScope.SUB_GROUP: "cta",
    MemoryScope.WORK_ITEM: "cta",
}


def scope_word(scope: MemoryScope) -> str:
    """PTX's word for a scope."""
    return _SCOPES[scope]


def write_fence(builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
    """Write a fence."""
    # LLVM drops the order and the scope of some atomic operations; all of them are written alike, as PTX.
    word = "sc" if order is MemoryOrder.SEQ_CST else "acq_rel"
    asm(builder, f"fence.{word}.{scope_word(scope)};", ir.VoidType(), "", [])


def asm(builder: ir.IRBuilder, text: str, result: ir.Type, constraints: str, operands: list[ir.Value]) -> ir.Value:
    """Write an instruction of PTX that reads or writes memory, which nothing is moved across."""
    function_type = ir.FunctionType(result, [operand.type for operand in operands])
    every = ",".join(filter(None, (constraints, "~{memory}")))
    return builder.asm(function_type, text, every, operands, side_effect=True)
