"""Barriers and fences, and the kernel language's scopes and orders as PTX's words.

References
----------
PTX ISA, section "Memory Consistency Model".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared
from kapi_lowering.target import GroupKind
from kapi_ptx.code.work_items import EVERY_LANE
from kapi_sim import MemoryOrder, MemoryScope

__all__ = ["asm", "barrier", "fence", "scope_word", "synchronize"]

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


def fence(builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
    """Order memory."""
    # LLVM drops the order and the scope of some atomic operations; all of them are written alike, as PTX.
    word = "sc" if order is MemoryOrder.SEQ_CST else "acq_rel"
    asm(builder, f"fence.{word}.{scope_word(scope)};", ir.VoidType(), "", [])


def asm(builder: ir.IRBuilder, text: str, result: ir.Type, constraints: str, operands: list[ir.Value]) -> ir.Value:
    """Write an instruction of PTX that reads or writes memory, which nothing is moved across."""
    function_type = ir.FunctionType(result, [operand.type for operand in operands])
    every = ",".join(filter(None, (constraints, "~{memory}")))
    return builder.asm(function_type, text, every, operands, side_effect=True)


_OF_THEIR_OWN = {
    "work_group": (MemoryScope.WORK_ITEM, MemoryScope.SUB_GROUP, MemoryScope.WORK_GROUP),
    "sub_group": (MemoryScope.WORK_ITEM, MemoryScope.SUB_GROUP),
}
"""The scopes for which a group's barrier orders memory by itself."""


def barrier(builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
    """Wait for all work-items of the group, and order memory for `scope`."""
    is_wide = order is not MemoryOrder.RELAXED and scope not in _OF_THEIR_OWN[group]
    # A member releases what all others wrote before they converged, and acquires for all: so a fence on either side.
    if is_wide:
        fence(builder, order, scope)
    synchronize(builder, group)
    if is_wide:
        fence(builder, order, scope)


def synchronize(builder: ir.IRBuilder, group: GroupKind) -> None:
    """Wait for all work-items of the group; what they wrote is seen by the others of it."""
    if group == "work_group":
        call_declared(builder, "llvm.nvvm.barrier.cta.sync.aligned.all", ir.VoidType(), [I32(0)])
    else:
        call_declared(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [EVERY_LANE])
