"""The range that is submitted for an index space: what all platforms check alike, and the platform's own rule.

A work-item outside of the `Range` that a launch asked for does nothing, so a platform may round a `Range` up.
"""

from __future__ import annotations

from math import prod

from kapi_lowering import KernelModule
from kapi_runtime.platform.interface import BuiltKernel, Platform
from kapi_sim import KernelLaunchError, LimitError, LocalAccessor, NdRange, Range
from kapi_sim.short_repr import short_repr

__all__ = ["submitted_range"]


def submitted_range(
    platform: Platform,
    space: Range | NdRange,
    kernel: BuiltKernel,
    accessors: tuple[LocalAccessor, ...],
    module: KernelModule | None = None,
) -> tuple[list[int], list[int] | None]:
    """Return the global range to submit and the local one, None where the driver is to choose.

    - `space`: what the launch asks for, of at least one work-item.
    - `kernel`: the kernel and its limits.
    - `accessors`: local memory that each work-group gets.
    - `module`: what it was compiled to; without one, no work-item more may run than were asked for.

    Raises `KernelLaunchError` if local memory is asked for without work-groups; `LimitError` if the launch exceeds a
    limit of the device or of the platform.
    """
    full = space if isinstance(space, Range) else space.global_range
    if full.size > kernel.max_work_items:
        raise LimitError(
            f"index_space of kernel `{kernel.name}` must have at most {kernel.max_work_items} work-items, got "
            f"{full.size} in {short_repr(space)}: split it into several launches",
            code="range-too-large",
        )
    if isinstance(space, Range):
        if accessors:
            raise KernelLaunchError(
                f"index_space of kernel `{kernel.name}` must be an NdRange, since it has a LocalAccessor, got "
                f"{short_repr(space)}: local memory belongs to a work-group",
                code="local-memory-in-range",
            )
        return platform.submitted_range(kernel, list(space), None, module is not None)
    _check_work_group(space.local_range, kernel)
    _check_local_memory(accessors, kernel)
    global_range, local_range = list(full), list(space.local_range)
    if module is not None and module.is_linear:
        global_range, local_range = [prod(global_range)], [prod(local_range)]
    return platform.submitted_range(kernel, global_range, local_range, False)


def _check_work_group(local: Range, kernel: BuiltKernel) -> None:
    name = kernel.name
    if local.size > kernel.max_work_group_size:
        raise LimitError(
            f"local_range of kernel `{name}` must have at most {kernel.max_work_group_size} work-items on "
            "this device, "
            f"got {local.size} in {tuple(local)}: choose a smaller work-group",
            code="work-group-too-large",
        )
    limits = kernel.max_work_item_sizes[-len(local) :]
    if any(extent > limit for extent, limit in zip(local, limits, strict=True)):
        raise LimitError(
            f"local_range of kernel `{name}` must be at most {limits} on this device, got {tuple(local)}: "
            "choose a smaller work-group",
            code="work-group-too-large",
        )


def _check_local_memory(accessors: tuple[LocalAccessor, ...], kernel: BuiltKernel) -> None:
    needed = sum(accessor.nbytes for accessor in accessors)
    if needed > kernel.local_mem_size:
        raise LimitError(
            f"local memory of kernel `{kernel.name}` must be at most {kernel.local_mem_size} bytes "
            "for a "
            f"work-group on this device, got {needed} bytes in {', '.join(map(repr, accessors))}",
            code="local-memory-too-large",
        )
