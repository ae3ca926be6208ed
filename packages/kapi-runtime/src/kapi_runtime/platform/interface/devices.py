"""Devices and queues of a platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kapi_runtime.platform.handles import Device, Queue

__all__ = ["DeviceLimits", "DeviceManager", "DeviceSummary"]


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Limits that decide how large work-groups are best made on a device.

    Attributes
    ----------
    compute_units : int
        Units that run work-groups side by side.
    max_work_group_size : int
        Largest work-group, in work-items.
    max_work_item_sizes : tuple of int
        The same along each of three dimensions, the fastest last.
    """

    compute_units: int
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]


class DeviceManager(ABC):
    """Finds devices, and makes and describes their queues."""

    @abstractmethod
    def require_usable(self) -> None:
        """Raise ForkError in a process that was forked after a device was used; cheap, asked by each launch."""

    @abstractmethod
    def devices(self) -> Sequence[Device]:
        """Return the devices that kernels can run on, best first; each is hashable and equal to others of the same."""

    @abstractmethod
    def default_device(self) -> Device | None:
        """Return the device that is used where nothing says otherwise, or None if there is none."""

    @abstractmethod
    def device(self, source: Any) -> Device | None:
        """Return the `Device` that a native device, or a text such as a part of its name, stands for, or None.

        Indices are not asked here: they count the devices of all platforms.
        """

    @abstractmethod
    def missing_device_message(self) -> str:
        """Say what was looked for in vain, where, and what to do."""

    @abstractmethod
    def describe_device(self, device: Any) -> str:
        """Name a device, native or `Device`, in a few words, for messages."""

    def limits(self, device: Any) -> DeviceLimits:
        """Return what decides how large work-groups are best made on a `Device`."""
        return DeviceLimits(device.max_compute_units, device.max_work_group_size, tuple(device.max_work_item_sizes3d))

    @abstractmethod
    def default_queue(self, device: Any) -> Queue:
        """Return the queue of a `Device` that arrays which name no queue live on; the same for each call."""

    @abstractmethod
    def new_queue(self, device: Any, in_order: bool, profiling: bool) -> Queue:
        """Make a queue of a `Device`; on platforms whose queues are all in order or all timed, that is granted."""

    @abstractmethod
    def external_queue(self, source: Any) -> Queue | None:
        """Return the `Queue` of one that somebody else made; None if it is none.

        Parameters
        ----------
        source : object
            A queue of any library that the platform knows; or the address of a native one, as an integer or a
            `ctypes.c_void_p`, which says nothing of its platform: the caller has decided.
        """

    def device_of(self, queue: Any) -> Device:
        """Return the `Device` of a queue."""
        device: Device = queue.device
        return device

    @abstractmethod
    def describe_queue(self, queue: Any) -> str:
        """Name a queue and its device in a few words, for messages."""

    def build_key(self, queue: Any) -> tuple[Any, ...]:
        """Return what a kernel is built for: the device of a queue first, then what else distinguishes builds."""
        return (self.device_of(queue),)

    @abstractmethod
    def queue_id(self, queue: Any) -> int:
        """Return a number that distinguishes the queues of a device in a trace."""

    def memory_info(self, device: Any) -> tuple[int | None, int]:
        """Return free and total memory of a `Device` in bytes; None where the driver does not say what is free."""
        free, total = device.memory_info()
        return free, total


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

    def _text(self, platform: str, units: str) -> str:
        """The summary of a device that has all types of elements, as text."""
        lines = (
            f"{self.filter_string}: {self.name}{' (default)' if self.is_default else ''}",
            f"  platform     {platform}",
            f"  compute      {self.compute_units} {units}, work-groups to {self.max_work_group_size} work-items, "
            f"sub-groups of {', '.join(map(str, self.sub_group_sizes))}",
            f"  memory       {self.global_mem_size / 2**30:.0f} GiB, {self.local_mem_size // 1024} KiB local",
            "  has          fp64, fp16, atomic64",
        )
        return "\n".join(lines)

    @property
    def has_usm(self) -> bool:
        """Whether the device has the unified shared memory that arrays live in."""
        return "usm_device_allocations" in self.aspects and "usm_shared_allocations" in self.aspects
