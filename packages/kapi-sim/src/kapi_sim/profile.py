"""Pretend devices: what a launch may ask of the device that it will run on."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Abilities and limits of a device, against which the simulator checks launches.

    Attributes
    ----------
    has_fp64, has_fp16, has_atomic64 : bool
        Whether the device computes in float64, in float16, and has 64-bit atomics.
    max_work_group_size : int
        Largest work-group, in work-items.
    local_mem_size : int
        Local memory of a work-group, in bytes.
    sub_group_sizes : tuple of int
        Sub-group sizes that the device can run, in work-items.
    """

    has_fp64: bool = True
    has_fp16: bool = True
    has_atomic64: bool = True
    max_work_group_size: int = 1024
    local_mem_size: int = 65536
    sub_group_sizes: tuple[int, ...] = (32,)
