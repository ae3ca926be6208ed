"""Functions at which the work-items of a group meet.

They are plain function objects, the same in every back end, and are recognised by identity: the
simulator rewrites the call, the compiler lowers it.  Called as ordinary functions they only say so.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable

from kapi_sim.errors import KernelLaunchError
from kapi_sim.spec.index_space import Group
from kapi_sim.spec.memory import MemoryScope

__all__ = ["group_barrier"]

ON_THREADS: dict[int, Callable[[object, int], None]] = {}
"""By thread, what waits at a barrier: for kernels that no back end could rewrite or lower."""


def group_barrier(group: Group, fence_scope: MemoryScope = MemoryScope.WORK_GROUP) -> None:
    """Wait until all work-items of `group` have arrived, and make their memory operations visible.

    Every work-item of the group must arrive at the same barrier, or none.  No barrier orders
    different work-groups.

    Parameters
    ----------
    group : Group
        The calling work-item's own group, from ``nd_item.get_group()``.
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
    waits = ON_THREADS.get(get_ident())
    if waits is not None:
        waits(group, fence_scope)
        return
    raise KernelLaunchError(
        "group_barrier must be called by its own name inside a kernel or a device function, "
        "got a call from elsewhere: write `kapi.group_barrier(group)` in a function decorated with "
        "@kernel or @device_func whose source is in a file"
    )
