"""From an index space to the range that is submitted.

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

Work-groups of a fixed size gain nothing where the last extent is 64 or more.
"""

from __future__ import annotations

from math import prod
from typing import Protocol

from kapi_runtime.sycl.program import DeviceKernel
from kapi_sim import KernelLaunchError, LimitError, LocalAccessor, NdRange, Range
from kapi_sim.shown import shown
from kapi_spirv import SpirvModule

__all__ = ["MAX_WORK_ITEMS", "KernelLimits", "checked_range", "packed_extents", "rounded_range", "submitted_range"]

MAX_WORK_ITEMS = 2**31 - 1
"""Work-items of one launch: the SYCL runtime refuses more, whatever their shape."""

_MULTIPLE = 64
_GROUP_SIZE = 256
_GROUPS_PER_UNIT = 4


class KernelLimits(Protocol):
    """What the launches of a kernel keep; `DeviceKernel` has it."""

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""

    @property
    def max_work_group_size(self) -> int:
        """Largest work-group, in work-items."""

    @property
    def max_work_item_sizes(self) -> tuple[int, ...]:
        """Largest work-group along each of three dimensions, in work-items, the fastest last."""

    @property
    def local_mem_size(self) -> int:
        """Local memory of a work-group, in bytes."""


def checked_range(
    space: Range | NdRange, kernel: KernelLimits, accessors: tuple[LocalAccessor, ...]
) -> tuple[list[int], list[int] | None]:
    """Return the global range of an index space as it is, and the local one, None where the driver is to choose.

    Parameters
    ----------
    space : Range or NdRange
        What the launch asks for, of at least one work-item.
    kernel : KernelLimits
        What its launches keep.
    accessors : tuple of LocalAccessor
        Local memory that each work-group gets.

    Raises
    ------
    KernelLaunchError
        If local memory is asked for without work-groups.
    LimitError
        If the launch exceeds a limit of the device or of SYCL.
    """
    whole = space if isinstance(space, Range) else space.global_range
    if whole.size > MAX_WORK_ITEMS:
        raise LimitError(
            f"index_space of kernel `{kernel.name}` must have at most {MAX_WORK_ITEMS} work-items, got {whole.size} "
            f"in {shown(space)}: split it into several launches",
            code="range-too-large",
        )
    if isinstance(space, NdRange):
        _check_work_group(space.local_range, kernel)
        _check_local_memory(accessors, kernel)
        return list(whole), list(space.local_range)
    if accessors:
        raise KernelLaunchError(
            f"index_space of kernel `{kernel.name}` must be an NdRange, since it has a LocalAccessor, got "
            f"{shown(space)}: "
            "local memory belongs to a work-group",
            code="local-memory-in-range",
        )
    return list(whole), None


def submitted_range(
    space: Range | NdRange, kernel: DeviceKernel, accessors: tuple[LocalAccessor, ...]
) -> tuple[list[int], list[int] | None]:
    """Return the global range to submit and the local one, None where the driver is to choose.

    Parameters
    ----------
    space : Range or NdRange
        What the launch asks for, of at least one work-item.
    kernel : DeviceKernel
        The kernel and its limits.
    accessors : tuple of LocalAccessor
        Local memory that each work-group gets.

    Raises
    ------
    KernelLaunchError
        If local memory is asked for without work-groups.
    LimitError
        If the launch exceeds a limit of the device or of SYCL.
    """
    global_range, local_range = checked_range(space, kernel, accessors)
    if isinstance(space, Range):
        return rounded_range(space, kernel.compute_units, kernel.max_work_group_size)
    if kernel.module.is_linear and local_range is not None:
        return [prod(global_range)], [prod(local_range)]
    return global_range, local_range


def packed_extents(space: Range | NdRange, module: SpirvModule) -> list[int]:
    """Return what the packed argument of a launch says of its index space.

    Parameters
    ----------
    space : Range or NdRange
        What the launch asks for.
    module : SpirvModule
        The compiled kernel.
    """
    if isinstance(space, Range):
        return list(space) if module.index_space == "item" else []
    return [*space.local_range, *space.group_range] if module.is_linear else []


def rounded_range(space: Range, compute_units: int, max_work_group_size: int) -> tuple[list[int], list[int] | None]:
    """Return the range to submit for a `Range`, and the work-group where the driver would choose a bad one.

    Parameters
    ----------
    space : Range
        What the launch asks for, of at least one work-item.
    compute_units : int
        Units to keep busy.
    max_work_group_size : int
        Largest work-group, in work-items.
    """
    last = space[-1]
    if last >= _MULTIPLE:
        rounded = [*space[:-1], _up(last, _MULTIPLE)]
        return (rounded if prod(rounded) <= MAX_WORK_ITEMS else list(space)), None
    # Enough groups for every unit come before large groups.
    budget = min(_GROUP_SIZE, max_work_group_size, max(1, space.size // (_GROUPS_PER_UNIT * compute_units)))
    if len(space) == 1 or budget < 2 * last:
        return list(space), None
    local = [1] * (len(space) - 1) + [last]
    budget //= last
    for dim in reversed(range(len(space) - 1)):
        local[dim] = 1 << (min(budget, space[dim]).bit_length() - 1)
        budget //= local[dim]
    rounded = [_up(extent, step) for extent, step in zip(space, local, strict=True)]
    return (rounded, local) if prod(rounded) <= MAX_WORK_ITEMS else (list(space), None)


def _check_work_group(local: Range, kernel: KernelLimits) -> None:
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


def _check_local_memory(accessors: tuple[LocalAccessor, ...], kernel: KernelLimits) -> None:
    needed = sum(accessor.nbytes for accessor in accessors)
    if needed > kernel.local_mem_size:
        raise LimitError(
            f"local memory of kernel `{kernel.name}` must be at most {kernel.local_mem_size} bytes "
            "for a "
            f"work-group on this device, got {needed} bytes in {', '.join(map(repr, accessors))}",
            code="local-memory-too-large",
        )


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
