"""Barriers.

References
----------
SPIR-V specification, 3.52.20, "OpControlBarrier"; OpenCL SPIR-V environment, 2.9, "Memory semantics".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

import kapi_sim
from kapi_sim import MemoryScope
from kapi_spirv._numba_compat import LoweringRegistry
from kapi_spirv.lowering.builtins import I32, call_builtin
from kapi_types import GroupType
from kapi_types.kernel_api import ConstantType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi convergence")

LOWERED = {"group_barrier"}

_SPIRV_SCOPE = {
    MemoryScope.SYSTEM: 0,
    MemoryScope.DEVICE: 1,
    MemoryScope.WORK_GROUP: 2,
    MemoryScope.SUB_GROUP: 3,
    MemoryScope.WORK_ITEM: 4,
}
_EXECUTE_IN_WORK_GROUP = 2
_ACQUIRE_RELEASE, _WORK_GROUP_MEMORY, _CROSS_WORK_GROUP_MEMORY = 0x8, 0x100, 0x200


@registry.lower(kapi_sim.group_barrier, GroupType, ConstantType)
def _group_barrier(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    scope = sig.args[1].value
    semantics = _ACQUIRE_RELEASE | _WORK_GROUP_MEMORY | _CROSS_WORK_GROUP_MEMORY
    call_builtin(
        builder,
        "__spirv_ControlBarrier",
        ir.VoidType(),
        [I32(_EXECUTE_IN_WORK_GROUP), I32(_SPIRV_SCOPE[scope]), I32(semantics)],
        unsigned=True,
        attributes=("nounwind", "convergent"),
    )
    return context.get_dummy_value()
