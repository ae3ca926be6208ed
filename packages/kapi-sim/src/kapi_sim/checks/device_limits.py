"""A launch against the profile of the device that it will run on."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from kapi_sim.errors import DtypeError, LimitError
from kapi_sim.items.profile import Profile
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.language.launchables.options import KernelOptions
from kapi_sim.language.source import SourceLocation
from kapi_sim.short_repr import short_repr

__all__ = [
    "check_dtype",
    "check_index_space",
    "check_local_memory",
    "check_sub_group_size",
    "fail_narrow_atomics",
    "fail_wide",
    "portability_notes",
]


def check_index_space(space: Range | NdRange, profile: Profile) -> None:
    """Raise `LimitError` if the work-groups are larger than the device runs."""
    if isinstance(space, NdRange) and space.local_range.size > profile.max_work_group_size:
        raise LimitError(
            f"a work-group must have at most {profile.max_work_group_size} work-items on this device, "
            f"got {space.local_range.size}: {tuple(space.local_range)}; choose a smaller local_range",
            code="work-group-too-large",
        )


def check_sub_group_size(name: str, options: KernelOptions, profile: Profile) -> None:
    """Raise `LimitError` if the device has no sub-groups of the size that the kernel's options name."""
    size = options.sub_group_size
    if size is not None and size not in profile.sub_group_sizes:
        sizes = ", ".join(map(str, profile.sub_group_sizes))
        raise LimitError(
            f"sub_group_size of kernel `{name}` must be one that this device has ({sizes}), got {size}: "
            "choose one of them, or leave the option out",
            code="sub-group-size-unknown",
        )


def check_local_memory(nbytes: int, profile: Profile) -> None:
    """Raise `LimitError` if the launch asks for more local memory than a work-group can have."""
    if nbytes > profile.local_mem_size:
        raise LimitError(
            f"local memory of a work-group must be at most {profile.local_mem_size} bytes on this device, "
            f"got {nbytes}: choose smaller LocalAccessors",
            code="local-memory-too-large",
        )


_PORTABLE_GROUP = 1024
_PORTABLE_LOCAL_BYTES = 48 * 1024


def portability_notes(kernel: str, space: Range | NdRange, local_bytes: int) -> list[str]:
    """Say what of a launch, for which no profile was given, the smallest devices that users have cannot run."""
    notes = []
    if isinstance(space, NdRange) and space.local_range.size > _PORTABLE_GROUP:
        notes.append(
            f"kernel `{kernel}` has work-groups of {space.local_range.size} work-items, and NVIDIA's and AMD's GPUs "
            f"run at most {_PORTABLE_GROUP}"
        )
    if local_bytes > _PORTABLE_LOCAL_BYTES:
        notes.append(
            f"kernel `{kernel}` has {local_bytes} bytes of local memory for each work-group, and NVIDIA's GPUs have "
            f"{_PORTABLE_LOCAL_BYTES} for every kernel, Intel's and AMD's {64 * 1024}"
        )
    return [f"{each}: choose less, or pass the device's limits as simulation(profile=...)" for each in notes]


def check_dtype(subject: str, dtype: np.dtype[Any], profile: Profile) -> None:
    """Raise `DtypeError` if the device does not compute in the dtype of what `subject` names."""
    if not profile.has_fp64 and dtype in (np.float64, np.complex128):
        raise DtypeError(
            f"{subject} is {dtype}, which a device without fp64 does not have: convert it to float32",
            code="needs-fp64",
        )
    if not profile.has_fp16 and dtype == np.float16:
        raise DtypeError(
            f"{subject} is float16, which a device without fp16 does not have: convert it to float32",
            code="needs-fp16",
        )


def fail_wide(element: str, value: np.generic, clock: ScheduleState, site: SourceLocation) -> NoReturn:
    """Raise for a float64 that a kernel computed and stores to `element`, on a device that has none."""
    raise DtypeError(
        f"the value stored to {element} is {value.dtype}, which a device without fp64 does not have: "
        f"{short_repr(value)}\n"
        f"  {clock.describe()} at {site}\n"
        "  integers divided by each other, or multiplied by a float, give float64: convert one to numpy.float32 first",
        code="needs-fp64",
    )


def fail_narrow_atomics(name: str, dtype: np.dtype[Any], where: str) -> NoReturn:
    """Raise for an AtomicRef of 64 bits, on a device that has none; `where` says who and at which line."""
    raise DtypeError(
        f"elements of an AtomicRef must have 32 bits on a device without 64-bit atomics, got `{name}` of dtype "
        f"{dtype}\n  {where}\n  use int32, uint32 or float32",
        code="needs-atomic64",
    )
