"""What is worth knowing of a device, as a value, whatever its platform."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DeviceSummary"]


@dataclass(frozen=True, slots=True)
class DeviceSummary:
    """The properties of one device.

    Attributes
    ----------
    filter_string : str
        The name by which it is selected, such as ``"opencl:cpu:0"`` or ``"cuda:0"``; "" for a sub-device.
    name, vendor, platform, driver_version : str
        As the driver says them.
    backend : str
        "opencl", "level_zero" or "cuda".
    kind : str
        "cpu", "gpu" or "accelerator".
    compute_units : int
        Parallel compute units; on CUDA streaming multiprocessors.
    max_work_group_size : int
        Largest work-group, in work-items.
    max_work_item_sizes : tuple of int
        Largest work-group along each dimension, in work-items, the fastest dimension last.
    local_mem_size, global_mem_size, max_mem_alloc_size : int
        Memory of one work-group, of the device, and the largest single allocation, in bytes.
    sub_group_sizes : tuple of int
        Sub-group sizes that kernels may have, in work-items.
    aspects : tuple of str
        SYCL's words for what it has, such as "fp64".
    found_by : str
        How its driver came to be loaded.
    is_default : bool
        Whether it is where its platform's kernels and arrays go when nothing says otherwise.
    """

    filter_string: str
    name: str
    vendor: str
    platform: str
    driver_version: str
    backend: str
    kind: str
    compute_units: int
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]
    local_mem_size: int
    global_mem_size: int
    max_mem_alloc_size: int
    sub_group_sizes: tuple[int, ...]
    aspects: tuple[str, ...]
    found_by: str
    is_default: bool

    @property
    def has_usm(self) -> bool:
        """Whether the device has the unified shared memory that arrays live in."""
        return "usm_device_allocations" in self.aspects and "usm_shared_allocations" in self.aspects
