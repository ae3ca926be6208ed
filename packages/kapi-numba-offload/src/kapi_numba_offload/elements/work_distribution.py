"""Distribution of the elements of a reduction over work-items."""

from __future__ import annotations

from typing import NamedTuple

import kapi_runtime
from kapi_numba_offload.libraries.interface import DeviceFacts

__all__ = [
    "POSITION_LINES",
    "ROWS_PER_UNIT",
    "WorkDistribution",
    "has_enough_rows",
    "pieces_of",
    "distribute_rows",
    "distribute",
    "group_size",
    "groups_of",
    "is_by_groups",
]

_ITEMS_PER_UNIT = 2048
_COLUMN_ITEMS_PER_UNIT = 1024  # of a GPU, where each has several elements in flight
_MOST_ITEMS = 65536
_FEWEST_STEPS = 16  # of a work-item, else its result costs as much as its work
_SMALLEST_GROUP = 32  # work-items: with fewer elements, a work-item has them sooner
_GROUPS_PER_UNIT = 4  # as many as are resident, with several elements in flight for each work-item
_MOST_OF_ONE_GROUP = 32  # elements for each of its work-items: combining the results of several is a launch more
_FEWEST_OF_GROUP = 8  # the same, of several groups
_MOST_PIECES = 16384  # of one result: a work-group combines them


ROWS_PER_UNIT = 16
"""Rows of iterations for each unit of a device, so that none waits long for the last one."""


class WorkDistribution(NamedTuple):
    """Distribution of a reduction's iterations: a row of `lanes` work-items takes `steps` times `lanes`.

    Neighbouring work-items take neighbouring iterations, which is what devices vectorise and what memory likes. The
    lanes are an axis of the index space, so that the driver's compiler can see it.
    """

    rows: int
    lanes: int
    steps: int

    @property
    def items(self) -> int:
        """Work-items in all."""
        return self.rows * self.lanes

    @property
    def space(self) -> kapi_runtime.Range:
        """The index space."""
        return kapi_runtime.Range(self.rows, self.lanes)

    @property
    def single_items(self) -> kapi_runtime.NdRange:
        """The index space of work-items that are work-groups of their own, for one lane.

        A compiler that makes vectors of work-groups makes them of the loops within such a work-item.
        """
        return kapi_runtime.NdRange([self.rows], [1])


POSITION_LINES = (
    "kapi_row = item.get_id(0)",
    "kapi_lane = item.get_id(1)",
    "kapi_lanes = item.get_range(1)",
    "kapi_base = kapi_row * kapi_steps * kapi_lanes + kapi_lane",
)
"""Lines of a kernel over `Shares.space` before its loop over `kapi_steps` steps."""


def distribute(count: int, device: DeviceFacts) -> WorkDistribution:
    """Distribute `count` iterations, at least one, on a device."""
    lanes = _lanes(device)
    most = _most_items(device) // lanes
    if device.is_cpu:  # more rows than keep it busy cost as many results
        most = min(most, max(ROWS_PER_UNIT * device.units, count // (lanes * _FEWEST_STEPS)))
    rows = max(1, min(most, count // lanes))
    return WorkDistribution(rows, lanes, -(-count // (rows * lanes)))


def distribute_rows(count: int, device: DeviceFacts, per_unit: int = ROWS_PER_UNIT) -> WorkDistribution:
    """Distribute `count` iterations, at least one, in rows of one lane: each work-item takes consecutive ones."""
    steps = -(-count // (per_unit * device.units))
    return WorkDistribution(-(-count // steps), 1, steps)


def has_enough_rows(count: int, device: DeviceFacts) -> bool:
    """Whether `count` iterations keep all units of a device busy."""
    return count >= ROWS_PER_UNIT // 4 * device.units


def is_by_groups(kept: int, count: int, device: DeviceFacts, is_along_last: bool) -> bool:
    """Whether work-groups do `kept` reductions of `count` elements, neighbours in memory or not: on GPUs."""
    return not device.is_cpu and is_along_last and (count >= _SMALLEST_GROUP or kept == 1)


def group_size(count: int) -> int:
    """Work-items of a group that combines so many elements."""
    return next((size for size in (256, 128, 64) if count >= 4 * size), _SMALLEST_GROUP)


def groups_of(kept: int, count: int, device: DeviceFacts) -> int:
    """Into how many work-groups each of `kept` reductions of `count` elements is split on a GPU."""
    size = group_size(count)
    if count <= _MOST_OF_ONE_GROUP * size:
        return 1
    return max(1, min(_GROUPS_PER_UNIT * device.units // kept, -(-count // (_FEWEST_OF_GROUP * size))))


def pieces_of(kept: int, count: int, device: DeviceFacts, is_along_last: bool) -> int:
    """Into how many work-items each of `kept` reductions of `count` elements is split."""
    most = _most_items(device) if device.is_cpu else device.units * _COLUMN_ITEMS_PER_UNIT
    if not is_along_last:
        pieces = max(1, min(most // kept, count // _FEWEST_STEPS))
        return pieces if device.is_cpu else min(pieces, _MOST_PIECES)
    lanes = _lanes(device)
    if count < 4 * lanes:
        return 1
    return lanes * max(1, min(most // (lanes * kept), count // (lanes * _FEWEST_STEPS)))


def _lanes(device: DeviceFacts) -> int:
    # Intel's runtime for CPUs runs 16 work-items as one vector; more lanes than that make it go through the data
    # several times, at half of the speed.
    return 16 if device.is_cpu else 64


def _most_items(device: DeviceFacts) -> int:
    """Work-items beyond which a device gains nothing by sharing out work further."""
    return int(min(_MOST_ITEMS, device.units * _ITEMS_PER_UNIT))
