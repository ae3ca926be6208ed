"""Barriers and fences.

References
----------
PTX ISA, sections "bar, barrier", "bar.warp.sync" and "membar, fence".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared
from kapi_lowering.target import GroupKind
from kapi_ptx.code.memory_model import write_fence
from kapi_ptx.code.work_items import EVERY_LANE
from kapi_sim import MemoryOrder, MemoryScope

__all__ = ["barrier", "fence", "synchronize"]

_OF_THEIR_OWN = {
    "work_group": (MemoryScope.WORK_ITEM, MemoryScope.SUB_GROUP, MemoryScope.WORK_GROUP),
    "sub_group": (MemoryScope.WORK_ITEM, MemoryScope.SUB_GROUP),
}
"""The scopes for which a group's barrier orders memory by itself."""


def barrier(builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
    """Wait for all work-items of the group, and order memory for `scope`."""
    is_wide = order is not MemoryOrder.RELAXED and scope not in _OF_THEIR_OWN[group]
    # A member releases what all others wrote before they met, and acquires for all: so a fence on either side.
    if is_wide:
        write_fence(builder, order, scope)
    synchronize(builder, group)
    if is_wide:
        write_fence(builder, order, scope)


def synchronize(builder: ir.IRBuilder, group: GroupKind) -> None:
    """Wait for all work-items of the group; what they wrote is seen by the others of it."""
    if group == "work_group":
        call_declared(builder, "llvm.nvvm.barrier.cta.sync.aligned.all", ir.VoidType(), [I32(0)])
    else:
        call_declared(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [EVERY_LANE])


def fence(builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
    """Order memory."""
    write_fence(builder, order, scope)
