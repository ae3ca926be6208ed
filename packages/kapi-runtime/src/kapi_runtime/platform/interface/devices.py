"""Devices and queues of a platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kapi_runtime.platform.handles import Device, Queue

__all__ = ["DeviceLimits", "DeviceManager"]


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What decides how large work-groups are best made on a device.

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

    @abstractmethod
    def limits(self, device: Any) -> DeviceLimits:
        """Return what decides how large work-groups are best made on a `Device`."""

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

    @abstractmethod
    def device_of(self, queue: Any) -> Device:
        """Return the `Device` of a queue."""

    @abstractmethod
    def describe_queue(self, queue: Any) -> str:
        """Name a queue and its device in a few words, for messages."""

    def place_key(self, queue: Any) -> tuple[Any, ...]:
        """Return what a kernel is built for: the device of a queue first, then what else tells builds apart."""
        return (self.device_of(queue),)

    @abstractmethod
    def queue_id(self, queue: Any) -> int:
        """Return a number that tells the queues of a device apart in a trace."""

    @abstractmethod
    def memory_info(self, device: Any) -> tuple[int | None, int]:
        """Return free and total memory of a `Device` in bytes; None where the driver does not say what is free."""
