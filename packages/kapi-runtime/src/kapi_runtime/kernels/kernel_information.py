"""Properties of a built kernel on a device, and the work-group that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from kapi_runtime.platform.interface import DeviceLimits, KernelInformation
from kapi_sim import Range
from kapi_sim.language import as_range

__all__ = ["Statistics", "suggested_local_range"]

_GROUP_SIZE = 256
_GROUPS_PER_UNIT = 4


@dataclass(frozen=True, slots=True)
class Statistics:
    """The launches and modules of a kernel so far, in this process.

    Attributes
    ----------
    launches : int
        Launches made, by all paths and threads.
    modules : int
        Modules that are compiled: one for each list of argument types and kind of device.
    """

    launches: int
    modules: int


def suggested_local_range(
    global_range: Any, device: DeviceLimits, information: Sequence[KernelInformation], most: int | None = None
) -> Range:
    """Return a work-group that divides a global range and keeps the device busy.

    - `global_range`: the range to be divided.
    - `information`: of the kernel's modules, as far as they are built; its limits are kept.
    - `most`: largest work-group that the kernel's author allows, in work-items.
    """
    full = as_range(global_range, "global_range")
    limits = [each.max_work_group_size for each in information]
    multiple = max((each.preferred_work_group_size_multiple for each in information), default=1)
    # Enough groups for every unit come before large groups.
    enough = max(1, prod(full) // (_GROUPS_PER_UNIT * device.compute_units))
    budget = min(_GROUP_SIZE, device.max_work_group_size, most or _GROUP_SIZE, enough, *limits)
    sizes = device.max_work_item_sizes[-len(full) :]
    local: list[int] = []
    for extent, size in zip(reversed(full), reversed(sizes), strict=True):
        # The last dimension, whose neighbours are neighbours in memory, takes what it can.
        wanted = multiple if not local else 1
        step = _largest_divisor(extent, min(budget, size), wanted)
        local.append(step)
        budget //= step
    return Range(*reversed(local))


def _largest_divisor(number: int, most: int, multiple: int) -> int:
    """The largest divisor of `number` up to `most`; a multiple of `multiple` if there is one."""
    divisors = [each for each in range(1, min(number, most) + 1) if number % each == 0]
    preferred = [each for each in divisors if each % multiple == 0]
    return max(preferred or divisors or [1])
