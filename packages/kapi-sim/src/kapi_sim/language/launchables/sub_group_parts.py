"""Parts of sub-groups, SYCL's non-uniform groups, written in the kernel language over sub-group algorithms.

A part is the set of its members, a bit for each work-item of the sub-group. All parts of a sub-group work side by side:
each function is called by all work-items of the sub-group, each with its own part. They are device functions, so each
back end has them.

References
----------
SYCL 2020, section 4.17.4 (group algorithms library); the extension ``sycl_ext_oneapi_non_uniform_groups``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.language.intrinsics.bits import clz, popcount
from kapi_sim.language.intrinsics.group_algorithms import (
    exclusive_scan_over_group,
    group_broadcast,
    reduce_over_group,
    select_from_group,
)
from kapi_sim.language.intrinsics.operators import bit_or
from kapi_sim.language.launchables.device_function import device_func

__all__ = [
    "all_of_part",
    "any_of_part",
    "binary_partition",
    "chunked_partition",
    "exclusive_scan_over_part",
    "inclusive_scan_over_part",
    "part_local_id",
    "part_size",
    "reduce_over_part",
    "select_from_part",
]


@device_func
def _bit(index: Any) -> Any:
    return np.uint64(1) << np.uint64(index)


@device_func
def _first_bits(count: Any) -> Any:
    return ~np.uint64(0) >> np.uint64(64 - count)


@device_func
def _where(sub_group: Any, predicate: Any) -> Any:
    own = _bit(sub_group.get_local_id()) if bool(predicate) else np.uint64(0)
    return reduce_over_group(sub_group, own, bit_or)


@device_func
def chunked_partition(sub_group: Any, size: int) -> Any:
    """Cut a sub-group into parts of neighbours, and return the part of the work-item.

    Parameters
    ----------
    sub_group : SubGroup
        Of at most 64 work-items, as all devices have.
    size : int
        Members of each part, from 1 to 64, the same for all; the last part has those that are left.

    Returns
    -------
    uint64
        The part: a bit for each member, by its id in the sub-group.
    """
    lane = sub_group.get_local_id()
    first = lane // size * size
    return _first_bits(min(size, sub_group.get_local_range() - first)) << np.uint64(first)


@device_func
def binary_partition(sub_group: Any, predicate: Any) -> Any:
    """Cut a sub-group in two, where a predicate is true and where it is not, and return the part of the work-item.

    Parameters
    ----------
    sub_group : SubGroup
        Of at most 64 work-items; all of them call it.
    predicate : bool
        Each work-item's own.

    Returns
    -------
    uint64
        The part: a bit for each member, by its id in the sub-group.
    """
    part = _where(sub_group, predicate)
    return part if bool(predicate) else part ^ _first_bits(sub_group.get_local_range())


@device_func
def part_size(part: Any) -> Any:
    """Return how many members a part has."""
    return int(popcount(part))


@device_func
def part_local_id(sub_group: Any, part: Any) -> Any:
    """Return how many members of a part come before the work-item."""
    return int(popcount(part & (_bit(sub_group.get_local_id()) - np.uint64(1))))


@device_func
def select_from_part(sub_group: Any, part: Any, x: Any, local_id: Any) -> Any:
    """Return the value of one member of the part.

    Parameters
    ----------
    sub_group : SubGroup
        All its work-items call it.
    part : uint64
        That of the work-item.
    x : number
        The work-item's value.
    local_id : int
        Which member, by its `part_local_id`: 0 for all is a broadcast, the own one plus 1 a shift. Where there is no
        such member, the result is `x`.
    """
    lane = int(sub_group.get_local_id())
    if 0 <= local_id and local_id < part_size(part):
        # Bisection: how many members stand in the lower half of what is left.
        lane, left, width = 0, int(local_id), 32
        while width > 0:
            lower = part_size((part >> np.uint64(lane)) & _first_bits(width))
            if left >= lower:
                left -= lower
                lane += width
            width //= 2
    return select_from_group(sub_group, x, lane)


@device_func
def inclusive_scan_over_part(sub_group: Any, part: Any, x: Any, op: Any) -> Any:
    """Combine the values of the part up to and with the work-item's own, in their order.

    Parameters
    ----------
    sub_group : SubGroup
        All its work-items call it.
    part : uint64
        That of the work-item.
    x : number
        The work-item's value.
    op : function
        An operator of kapi or a `device_func` of two values, which is associative and keeps their type.
    """
    lane = sub_group.get_local_id()
    before = part & (_bit(lane) - np.uint64(1))
    total = x
    link = 63 - int(clz(before))  # the member that comes before; -1 if none does
    width = 1
    while width < sub_group.get_max_local_range():
        # What a member has combined reaches back to its link, which leads on to the link's own.
        source = link if link >= 0 else int(lane)
        other = select_from_group(sub_group, total, source)
        further = select_from_group(sub_group, link, source)
        if link >= 0:
            total = op(other, total)
            link = further
        width *= 2
    return total


@device_func
def exclusive_scan_over_part(sub_group: Any, part: Any, x: Any, op: Any) -> Any:
    """Combine the values of the part before the work-item's own, in their order; the identity for the first.

    Parameters
    ----------
    sub_group, part, x
        As of `inclusive_scan_over_part`.
    op : operator
        An operator of kapi, which has an identity.
    """
    up_to = inclusive_scan_over_part(sub_group, part, x, op)
    identity = group_broadcast(sub_group, exclusive_scan_over_group(sub_group, x, op))
    lane = part_local_id(sub_group, part)
    found = select_from_part(sub_group, part, up_to, lane - 1)
    return found if lane > 0 else identity


@device_func
def reduce_over_part(sub_group: Any, part: Any, x: Any, op: Any) -> Any:
    """Combine the values of all members of the part, in their order.

    The parameters are those of `inclusive_scan_over_part`.
    """
    return select_from_group(sub_group, inclusive_scan_over_part(sub_group, part, x, op), 63 - int(clz(part)))


@device_func
def any_of_part(sub_group: Any, part: Any, predicate: Any) -> bool:
    """Return whether any member's value is true.

    Parameters
    ----------
    sub_group : SubGroup
        All its work-items call it.
    part : uint64
        That of the work-item.
    predicate : bool
        The work-item's value.
    """
    return bool((_where(sub_group, predicate) & part) != 0)


@device_func
def all_of_part(sub_group: Any, part: Any, predicate: Any) -> bool:
    """Return whether all members' values are true.

    The parameters are those of `any_of_part`.
    """
    return bool((_where(sub_group, predicate) & part) == part)
