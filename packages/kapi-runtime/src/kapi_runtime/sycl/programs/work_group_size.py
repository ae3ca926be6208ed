"""The range that is submitted for a `Range` on SYCL devices.

A work-item outside of the `Range` that a launch asked for does nothing, so a `Range` may be rounded up.  It
has to be: without a work-group size of its own, a launch gets one from the driver, which must divide the
range.  Intel's runtime for CPUs looks for it along the last dimension, and runs single work-items if that
extent is prime or 1.

Measured there (2 cores, a loop of four float32 differences for each work-item, medians in ms):

===================  ==========================  ====================================
Range                as it is                    as submitted here
===================  ==========================  ====================================
(1000003,)           5.66 (a copy and add)       0.23, to a multiple of 64
(1, 1000003)         12.0                        0.92, the last to a multiple of 64
(1000003, 1)         12.1                        1.83, work-groups of (256, 1)
(300007, 3)          4.14                        1.27, work-groups of (64, 3)
(60013, 17)          1.55                        1.00, work-groups of (8, 17)
(1797, 1797)         41.6                        41.1, the last to a multiple of 64
===================  ==========================  ====================================

Where the last extent is 64 or more, the driver's work-groups lie along it.  A work-group is a loop of one thread
there, and what it does before that loop costs as much as some hundred work-items.  So work-groups have several rows,
of 4096 work-items at most: a step of the heat equation in three dimensions takes 0.70 of the time, a stencil of nine
points 0.87, distances of points 0.95; along a single axis, ``a * x + y`` takes 0.95 of what it takes in groups of 1024.
A short launch spends its time on sharing out the work-groups: ``a * x + y`` of 1,000 work-items, waited for, takes
22 us in 16 of them, 16 in 8 and 9 in 4, and one of 4,096 takes 20, 19 and 11.  Work-items that take longer than others
need more groups: loops that are longer from one work-item to the next take 1.2 times as long in 4 groups as in 8 or 16.
So kernels without loops have two groups for each unit at least, others four, and eight where there are work-items
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

__all__ = ["MAX_WORK_ITEMS", "rounded_range"]

MAX_WORK_ITEMS = 2**31 - 1
"""Work-items of one launch: the SYCL runtime refuses more, whatever their shape."""

_MULTIPLE = 64
_GROUP_SIZE = 256
_GROUPS_PER_UNIT = 4
_LOOP = 4096
"""Work-items of a work-group that is a loop of one thread, as on CPUs: other devices have no groups as large."""
_UNEQUAL_PER_UNIT = 8
"""Work-groups for each unit, if work-items may take longer than others."""
_SHORT_LOOP = 512
"""Work-groups of fewer work-items cost more to share out than they gain by being many."""
_SHORT_UNEQUAL_PER_UNIT = 4
_EQUAL_PER_UNIT = 2
_VECTOR = 16
_WASTE = 64
"""An extent may be rounded up by one part of as many."""


def rounded_range(
    space: Sequence[int], compute_units: int, max_work_group_size: int, has_loops: bool
) -> tuple[list[int], list[int] | None]:
    """Return the range to submit for a `Range`, and the work-group where the driver would choose a bad one.

    - `space`: what the launch asks for, of at least one work-item.
    - `compute_units`: units to keep busy.
    - `max_work_group_size`: largest work-group, in work-items.
    - `has_loops`: whether work-items may differ in how long they take, so that there are more groups to share out.
    """
    last = space[-1]
    if last >= _MULTIPLE:
        rounded = [*space[:-1], _up(last, _MULTIPLE)]
        if prod(rounded) > MAX_WORK_ITEMS:
            return list(space), None
        return _with_loops(rounded, compute_units, has_loops) if max_work_group_size >= _LOOP else (rounded, None)
    # Enough groups for every unit come before large groups.
    budget = min(_GROUP_SIZE, max_work_group_size, max(1, prod(space) // (_GROUPS_PER_UNIT * compute_units)))
    if len(space) == 1 or budget < 2 * last:
        return list(space), None
    local = [1] * (len(space) - 1) + [last]
    budget //= last
    for dim in reversed(range(len(space) - 1)):
        local[dim] = 1 << (min(budget, space[dim]).bit_length() - 1)
        budget //= local[dim]
    rounded = [_up(extent, step) for extent, step in zip(space, local, strict=True)]
    return (rounded, local) if prod(rounded) <= MAX_WORK_ITEMS else (list(space), None)


def _with_loops(space: list[int], compute_units: int, has_loops: bool) -> tuple[list[int], list[int] | None]:
    """The range with work-groups of whole rows, or of equal parts of a single axis, if there are enough of them."""
    budget, multiple = prod(space) // (_UNEQUAL_PER_UNIT * compute_units), _MULTIPLE
    if not has_loops:
        budget = _up(-(-prod(space) // (_EQUAL_PER_UNIT * compute_units)), multiple)
    elif budget < _SHORT_LOOP:
        multiple = _VECTOR
        budget = _up(-(-prod(space) // (_SHORT_UNEQUAL_PER_UNIT * compute_units)), multiple)
    budget = min(_LOOP, budget)
    local = [1] * len(space)
    if len(space) == 1:
        local[0] = _step(space[0], budget // multiple * multiple, multiple)
    elif budget >= 2 * space[-1]:
        local[-1] = space[-1]
        for dim in reversed(range(len(space) - 1)):
            local[dim] = _step(space[dim], budget // prod(local), 1)
    rounded = [_up(extent, step) for extent, step in zip(space, local, strict=True)]
    is_worth_it = local[-1] > 1 and prod(local) > space[-1] * (len(space) > 1) and prod(rounded) <= MAX_WORK_ITEMS
    return (rounded, local) if is_worth_it else (space, None)


def _step(extent: int, largest: int, multiple: int) -> int:
    """The largest step to which an extent can be rounded up without much waste, or 1: small steps gain nothing."""
    steps = range(min(largest, extent), largest // 2, -multiple)
    return next((step for step in steps if (_up(extent, step) - extent) * _WASTE <= extent), 1)


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
