"""What a device says of a built kernel, and the work-group that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from kapi_runtime.sycl.device_summary import describe_device
from kapi_sim import Range
from kapi_sim.language import as_range

__all__ = ["KernelInformation", "Statistics", "information_of", "suggested_local_range"]

_GROUP_SIZE = 256
_GROUPS_PER_UNIT = 4


@dataclass(frozen=True, slots=True)
class KernelInformation:
    """What a device says of one compiled kernel.

    Attributes
    ----------
    device : str
        Name of the device.
    max_work_group_size : int
        Largest work-group of this kernel, in work-items.
    preferred_work_group_size_multiple : int
        What a work-group's size is best a multiple of, in work-items.
    private_mem_size : int
        Private memory of a work-item, in bytes.
    max_sub_group_size : int
        Largest sub-group of this kernel, in work-items.
    compile_sub_group_size : int or None
        Sub-group size that the kernel demands, in work-items; None if any will do.
    sub_group_sizes : tuple of int
        Sub-group sizes that the device has, in work-items.
    local_mem_size : int
        Local memory that the device has for a work-group, in bytes.

    References
    ----------
    SYCL 2020, section 4.11.13 (kernel information descriptors).
    """

    device: str
    max_work_group_size: int
    preferred_work_group_size_multiple: int
    private_mem_size: int
    max_sub_group_size: int
    compile_sub_group_size: int | None
    sub_group_sizes: tuple[int, ...]
    local_mem_size: int

    def __str__(self) -> str:
        demanded = "any" if self.compile_sub_group_size is None else str(self.compile_sub_group_size)
        sizes = ", ".join(map(str, self.sub_group_sizes))
        return "\n".join(
            (
                self.device,
                f"  work-groups      to {self.max_work_group_size} work-items, best multiples of "
                f"{self.preferred_work_group_size_multiple}",
                f"  sub-groups       to {self.max_sub_group_size} of {sizes} work-items, demanded: {demanded}",
                f"  private memory   {self.private_mem_size} bytes",
                f"  local memory     {self.local_mem_size} bytes",
            )
        )


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was done with a kernel so far, in this process.

    Attributes
    ----------
    launches : int
        Launches made, by all ways and threads.
    modules : int
        Modules that are compiled: one for each list of argument types and kind of device.
    """

    launches: int
    modules: int


def information_of(sycl_kernel: Any, device: Any) -> KernelInformation:
    """Return what a device says of a `dpctl.program.SyclKernel` that was built for it."""
    return KernelInformation(
        device=describe_device(device),
        max_work_group_size=min(sycl_kernel.work_group_size, device.max_work_group_size),
        preferred_work_group_size_multiple=sycl_kernel.preferred_work_group_size_multiple,
        private_mem_size=sycl_kernel.private_mem_size,
        max_sub_group_size=sycl_kernel.max_sub_group_size,
        compile_sub_group_size=sycl_kernel.compile_sub_group_size or None,
        sub_group_sizes=tuple(device.sub_group_sizes),
        local_mem_size=device.local_mem_size,
    )


def suggested_local_range(
    global_range: Any, device: Any, information: Sequence[KernelInformation], most: int | None = None
) -> Range:
    """Return a work-group that divides a global range and keeps the device busy.

    Parameters
    ----------
    global_range : Range or int or tuple of int
        The range to be divided.
    device : dpctl.SyclDevice
        Where.
    information : sequence of KernelInformation
        Of the kernel's modules, as far as they are built; its limits are kept.
    most : int, optional
        Largest work-group that the kernel's author allows, in work-items.
    """
    whole = as_range(global_range, "global_range")
    limits = [each.max_work_group_size for each in information]
    multiple = max((each.preferred_work_group_size_multiple for each in information), default=1)
    # Enough groups for every unit come before large groups.
    enough = max(1, prod(whole) // (_GROUPS_PER_UNIT * device.max_compute_units))
    budget = min(_GROUP_SIZE, device.max_work_group_size, most or _GROUP_SIZE, enough, *limits)
    sizes = device.max_work_item_sizes3d[-len(whole) :]
    local: list[int] = []
    for extent, size in zip(reversed(whole), reversed(sizes), strict=True):
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
