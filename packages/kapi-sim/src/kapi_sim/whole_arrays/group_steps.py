"""Steps that the work-groups of several algorithms share, as device functions."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from kapi_sim.language.intrinsics.atomics import AtomicRef
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.group_algorithms import inclusive_scan_over_group
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.launchables.device_function import device_func

__all__ = ["add_one", "fold_tile", "same", "scan_tile"]


@device_func
def same(value):
    """The value itself."""
    return value


@device_func
def add_one(found, each):
    """Add one to a counter in local memory."""
    AtomicRef(found, each, MemoryOrder.RELAXED, MemoryScope.WORK_GROUP, AddressSpace.LOCAL).fetch_add(1)


@device_func
def fold_tile(item, tile, count, op):
    """Combine the first `count` elements of local memory into the first, in any order; all work-items call it."""
    position, group = item.get_local_id(0), item.get_group()
    step = item.get_local_range(0)
    while step > 1:
        step = (step + 1) // 2
        group_barrier(group)
        if position < step and position + step < count:
            tile[position] = op(tile[position], tile[position + step])
        count = min(count, step)
    group_barrier(group)


@device_func
def scan_tile(item, tile, value, op, group_op):
    """Write the values of the work-items up to each into local memory, combined in their order."""
    position, group = item.get_local_id(0), item.get_group()
    if group_op is not None:
        tile[position] = inclusive_scan_over_group(group, value, group_op)
    else:
        tile[position] = value
        step = 1
        while step < item.get_local_range(0):
            group_barrier(group)
            before = value
            if position >= step:
                before = op(tile[position - step], value)
            group_barrier(group)
            value = before
            tile[position] = value
            step *= 2
    group_barrier(group)
