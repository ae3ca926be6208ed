"""Barriers and fences.

References
----------
SPIR-V specification, 3.52.20, "Barrier Instructions"; OpenCL SPIR-V environment, 2.9, "Memory semantics".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_sim import MemoryOrder, MemoryScope
from kapi_spirv._numba_compat import LoweringRegistry, types
from kapi_spirv.lowering.builtins import call_builtin
from kapi_spirv.lowering.memory_model import IN_SUB_GROUP, IN_WORK_GROUP, scope_operand, semantics_operand
from kapi_types import SubGroupType
from kapi_types.kernel_api import ConstantType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi convergence")

LOWERED = {"group_barrier", "atomic_fence"}


@registry.lower("group_barrier", types.Any, ConstantType)
def _group_barrier(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    scope = sig.args[1].value
    # A fence for the work-item alone has nothing to order for others: what remains is that all wait.
    order = MemoryOrder.RELAXED if scope is MemoryScope.WORK_ITEM else MemoryOrder.ACQ_REL
    execution = IN_SUB_GROUP if isinstance(sig.args[0], SubGroupType) else IN_WORK_GROUP
    call_builtin(
        builder,
        "__spirv_ControlBarrier",
        ir.VoidType(),
        [execution, scope_operand(scope), semantics_operand(order)],
        unsigned=True,
        attributes=("nounwind", "convergent"),
    )
    return context.get_dummy_value()


@registry.lower("atomic_fence", ConstantType, ConstantType)
def _atomic_fence(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    order, scope = sig.args[0].value, sig.args[1].value
    if order is not MemoryOrder.RELAXED:
        operands = [scope_operand(scope), semantics_operand(order)]
        call_builtin(builder, "__spirv_MemoryBarrier", ir.VoidType(), operands, unsigned=True, attributes=("nounwind",))
    return context.get_dummy_value()
