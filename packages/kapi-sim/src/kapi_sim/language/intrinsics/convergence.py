"""Functions at which the work-items of a group converge.

They are plain function objects, the same in every back end, and are recognised by identity: the
simulator rewrites the call, the compiler lowers it.  Called as ordinary functions they only say so.
"""

from __future__ import annotations

from kapi_sim.language.intrinsics.index_space import Group, SubGroup
from kapi_sim.language.intrinsics.memory import MemoryScope
from kapi_sim.language.intrinsics.outside import carry_out

__all__ = ["group_barrier"]


def group_barrier(group: Group | SubGroup, fence_scope: MemoryScope = MemoryScope.WORK_GROUP) -> None:
    """Wait until all work-items of `group` have arrived, and make their memory operations visible.

    Every work-item of the group must arrive at the same barrier, or none.  No barrier orders
    different groups.

    Parameters
    ----------
    group : Group or SubGroup
        The calling work-item's own, from ``nd_item.get_group()`` or ``nd_item.get_sub_group()``.
    fence_scope : MemoryScope
        Who sees what was written before the barrier.  ``WORK_ITEM`` orders nothing for others.

    Raises
    ------
    BarrierDivergenceError
        In the simulator, if only a part of the group arrives.
    KernelLaunchError
        If called outside of a kernel, or under a name that the simulator cannot follow.

    References
    ----------
    SYCL 2020 specification, section 4.17.3, "group_barrier".
    """
    carry_out(group_barrier, group, fence_scope)
