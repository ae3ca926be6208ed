"""Barriers and fences, which the target writes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.calls.exchange import kind_of
from kapi_sim import MemoryOrder, MemoryScope
from kapi_types.kernel_api import ConstantType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi convergence")

LOWERED = {"group_barrier", "atomic_fence"}


@registry.lower("group_barrier", types.Any, ConstantType)
def _group_barrier(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    scope = sig.args[1].value
    # A fence for the work-item alone has nothing to order for others: what remains is that all wait.
    order = MemoryOrder.RELAXED if scope is MemoryScope.WORK_ITEM else MemoryOrder.ACQ_REL
    context.kernel_target.barrier(builder, kind_of(sig.args[0]), order, scope)
    return context.get_dummy_value()


@registry.lower("atomic_fence", ConstantType, ConstantType)
def _atomic_fence(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    order, scope = sig.args[0].value, sig.args[1].value
    if order is not MemoryOrder.RELAXED:
        context.kernel_target.fence(builder, order, scope)
    return context.get_dummy_value()
