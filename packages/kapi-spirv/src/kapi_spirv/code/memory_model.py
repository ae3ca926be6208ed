"""Barriers and fences, and the kernel language's scopes and orders as SPIR-V's numbers.

LLVM's own atomic instructions and fences come out without a word on which memory they order, which by the
specification is none; so operations are called by name, with semantics of our own.

References
----------
SPIR-V specification, 3.2.25, "Memory Semantics <id>", and 3.2.27, "Scope <id>".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import I32
from kapi_lowering.target import GroupKind
from kapi_sim import MemoryOrder, MemoryScope
from kapi_spirv.code.builtins import call_builtin

__all__ = ["barrier", "execution_scope", "fence", "scope_operand", "semantics_operand"]

_SCOPES = {
    MemoryScope.SYSTEM: 0,
    MemoryScope.DEVICE: 1,
    MemoryScope.WORK_GROUP: 2,
    MemoryScope.SUB_GROUP: 3,
    MemoryScope.WORK_ITEM: 4,
}
_ORDERS = {
    MemoryOrder.RELAXED: 0x0,
    MemoryOrder.ACQUIRE: 0x2,
    MemoryOrder.RELEASE: 0x4,
    MemoryOrder.ACQ_REL: 0x8,
    MemoryOrder.SEQ_CST: 0x10,
}
_LOCAL_MEMORY, _GLOBAL_MEMORY = 0x100, 0x200

_EXECUTION = {"work_group": I32(2), "sub_group": I32(3)}


def execution_scope(group: GroupKind) -> ir.Constant:
    """The operand for a scope of execution."""
    return _EXECUTION[group]


def scope_operand(scope: MemoryScope) -> ir.Constant:
    """The operand for a memory scope."""
    return I32(_SCOPES[scope])


def semantics_operand(order: MemoryOrder) -> ir.Constant:
    """The operand for a memory order, which is about local and global memory alike."""
    bits = _ORDERS[order]
    return I32(bits | _LOCAL_MEMORY | _GLOBAL_MEMORY if bits else 0)


def barrier(builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
    """Wait for all work-items of the group, and order memory for `scope`."""
    call_builtin(
        builder,
        "__spirv_ControlBarrier",
        ir.VoidType(),
        [execution_scope(group), scope_operand(scope), semantics_operand(order)],
        unsigned=True,
        attributes=("nounwind", "convergent"),
    )


def fence(builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
    """Order memory."""
    operands = [scope_operand(scope), semantics_operand(order)]
    call_builtin(builder, "__spirv_MemoryBarrier", ir.VoidType(), operands, unsigned=True, attributes=("nounwind",))
