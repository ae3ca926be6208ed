"""Barriers and fences, as SPIR-V's instructions.

References
----------
SPIR-V specification, 3.52.20, "Barrier Instructions"; OpenCL SPIR-V environment, 2.9, "Memory semantics".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.target import GroupKind
from kapi_sim import MemoryOrder, MemoryScope
from kapi_spirv.code.builtins import call_builtin
from kapi_spirv.code.memory_model import execution_scope, scope_operand, semantics_operand

__all__ = ["barrier", "fence"]


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
