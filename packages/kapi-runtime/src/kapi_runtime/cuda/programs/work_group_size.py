"""Work-groups of a CUDA device for an index space.

A launch is a grid of blocks: of work-groups, each of which is full.  The last dimension of an index space, the
fastest, is the grid's x, of which there may be 2**31 - 1 groups; of the two others there may be 65535.  Where nobody
has chosen a work-group, it is chosen so that neighbours along the last dimension are neighbours in memory and no axis
has too many groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from kapi_sim.errors import LimitError

if TYPE_CHECKING:
    from kapi_runtime.cuda.programs.program import CudaKernel

__all__ = ["chosen_group", "submitted_range"]

GROUP_SIZE = 256
"""Work-items of a group that nobody has chosen: whole sub-groups, and several groups fit on a multiprocessor."""

_ROW = 32  # work-items along the last dimension, of more than one: what one access of a sub-group reads


def submitted_range(
    kernel: CudaKernel, global_range: Sequence[int], local_range: Sequence[int] | None, can_round: bool
) -> tuple[list[int], list[int]]:
    """Return the global range to submit and the local one; see `Launcher.submitted_range`."""
    if local_range is None:
        group = chosen_group(kernel, global_range) if can_round else _dividing_group(kernel, global_range)
    else:
        group = list(local_range)
    counts = [-(-extent // size) for extent, size in zip(global_range, group, strict=True)]
    limits = kernel.max_group_counts[-len(counts) :]
    for axis, (count, limit) in enumerate(zip(counts, limits, strict=True)):
        if count > limit:
            chosen = "" if local_range is None else ", or a larger work-group along it"
            raise LimitError(
                f"index_space of kernel `{kernel.name}` must have at most {limit} work-groups along dimension {axis} "
                f"on a CUDA device, got {count} of {group[axis]} work-items: make the longest dimension the last one"
                f"{chosen}, or split the launch",
                code="range-too-large",
            )
    return [count * size for count, size in zip(counts, group, strict=True)], group


def chosen_group(kernel: CudaKernel, extents: Sequence[int]) -> list[int]:
    """Return the work-group for a range that may be rounded up.

    - `extents`: one to three, the fastest last.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> limits = SimpleNamespace(
    ...     group_size=1024, max_work_group_size=1024, max_work_item_sizes=(64, 1024, 1024),
    ...     max_group_counts=(65535, 65535, 2**31 - 1))
    >>> chosen_group(limits, [1000003]), chosen_group(limits, [1000, 1000]), chosen_group(limits, [100, 3])
    ([256], [8, 32], [64, 4])
    >>> chosen_group(limits, [600000, 40])  # of 8 rows there would be 75000 groups
    [16, 32]
    """
    rank = len(extents)
    sizes, counts = kernel.max_work_item_sizes[-rank:], kernel.max_group_counts[-rank:]
    size = min(GROUP_SIZE, kernel.group_size)
    if rank == 1:
        return [min(size, _power_of_two(max(extents[0], _ROW)))]
    group = [1] * rank
    group[-1] = min(_ROW, _power_of_two(extents[-1]), size)
    for axis in reversed(range(rank - 1)):
        group[axis] = min(size // prod(group), _power_of_two(extents[axis]), sizes[axis])
    if prod(group) < size:
        group[-1] = min(size // prod(group[:-1]), _power_of_two(extents[-1]), sizes[-1])
    return _widened(group, extents, sizes, counts, kernel.max_work_group_size)


def _widened(
    group: list[int], extents: Sequence[int], sizes: Sequence[int], counts: Sequence[int], size: int
) -> list[int]:
    """The group, larger along axes that would have too many groups, at the cost of the others where need be."""
    needs = [_power_of_two(-(-extent // count)) for extent, count in zip(extents, counts, strict=True)]
    if prod(needs) > size or any(need > most for need, most in zip(needs, sizes, strict=True)):
        return group  # no group serves
    widened = [max(least, each) for least, each in zip(needs, group, strict=True)]
    while prod(widened) > size:
        axis = max(range(len(widened)), key=lambda each: widened[each] // needs[each])
        widened[axis] //= 2
    return widened


def _dividing_group(kernel: CudaKernel, extents: Sequence[int]) -> list[int]:
    """The work-group for a range that must not be rounded up: of divisors."""
    budget, group = min(GROUP_SIZE, kernel.group_size), []
    for extent, most in zip(reversed(extents), reversed(kernel.max_work_item_sizes[-len(extents) :]), strict=True):
        divisor = next(each for each in range(min(budget, most, extent), 0, -1) if extent % each == 0)
        group.append(divisor)
        budget //= divisor
    return group[::-1]


def _power_of_two(extent: int) -> int:
    """The lowest power of two that is not below."""
    return 1 << (extent - 1).bit_length()
