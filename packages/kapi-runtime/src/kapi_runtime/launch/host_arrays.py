"""NumPy arrays as arguments: moved in and out for each launch, where the program says on which device.

Compute follows data, and a NumPy array is on no device.  `device_context` names one, for programs whose data live on
the host.  Where the device reads the host's memory, nothing is copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

import dpctl
import numpy as np
from dpctl.memory import MemoryUSMDevice

from kapi_runtime.platform import current
from kapi_runtime.sycl.copying import copy_bytes
from kapi_runtime.sycl.device import Device
from kapi_runtime.sycl.discovery import find_device
from kapi_runtime.sycl.queues import Queue, default_queue, external_queue
from kapi_runtime.sycl.usm_array import copy_call
from kapi_sim.errors import ExecutionPlacementError, ImplicitCopyWarning
from kapi_sim.language.usm_fields import ArrayFields

__all__ = ["HostArrays", "Place", "device_context", "on_device_context", "place_of_host_arrays"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where NumPy arrays are moved to, and whether a copy is warned of.

    Attributes
    ----------
    queue : Queue
        Where to.
    warn : bool
        Whether a copy is warned of.
    in_place : bool
        Whether arrays stay where they are if the device reads the host's memory.
    """

    queue: Queue
    warn: bool
    in_place: bool = True


_place: ContextVar[Place | None] = ContextVar("kapi_place_of_host_arrays", default=None)


@contextmanager
def device_context(device: Any, *, warn: bool = False) -> Iterator[Queue]:
    """Launch kernels with NumPy arrays inside a ``with`` block: on this device, moved in and out for each launch.

    The device becomes the current one, too.  A launch that has to copy arrays waits, and writes back each array that
    can be written, also with `call_kernel_async`.  USM arrays stay where they are, and must be on the same queue.  The
    block counts for this thread and asyncio task; a thread that is started inside has none.

    Parameters
    ----------
    device : int or str or dpctl.SyclDevice or dpctl.SyclQueue
        Index into `devices`, filter string, part of a device's name, the device, or one of its queues.  By a device
        its default queue is meant.
    warn : bool
        Whether a copy gives an `ImplicitCopyWarning`.

    Yields
    ------
    Queue
        Where the launches of NumPy arrays go.

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> values = np.arange(4)
    >>> with kapi.device_context("opencl:cpu"):
    ...     double[kapi.Range(4)](values)
    >>> values
    array([0, 2, 4, 6])
    """
    queue = external_queue(device) if isinstance(device, dpctl.SyclQueue) else default_queue(find_device(device))
    token = _place.set(Place(queue, warn))
    current.enter(Device(queue.sycl_device))
    _tell(True)
    try:
        yield queue
    finally:
        _tell(False)
        current.leave()
        _place.reset(token)


_listeners: list[Callable[[bool], None]] = []


def on_device_context(listener: Callable[[bool], None]) -> None:
    """Have a function called when a `device_context` begins, with True, and when it ends, with False, in any thread.

    A package that is to hear of it names a function that calls this one as an entry point of the group
    ``kapi_device_context``; it is loaded when the first context begins.

    Parameters
    ----------
    listener : callable
        Told by a bool; adding it twice is adding it once.
    """
    if listener not in _listeners:
        _listeners.append(listener)


@lru_cache(maxsize=1)
def _load_listeners() -> None:
    for each in entry_points(group="kapi_device_context"):
        each.load()()


def _tell(begins: bool) -> None:
    _load_listeners()
    for listener in _listeners:
        listener(begins)


def place_of_host_arrays() -> Place | None:
    """Return where NumPy arrays are moved to here, or None outside of every `device_context`."""
    return _place.get()


@dataclass(slots=True)
class HostArrays:
    """The NumPy arrays of one launch, and their copies.

    Attributes
    ----------
    kernel : str
        Name of the kernel, for messages.
    place : Place
        Where they are moved to.
    copies : dict
        By where the array is and how it is laid out: its name, the array, and its copy on the device.
    """

    kernel: str
    place: Place
    copies: dict[Hashable, tuple[str, np.ndarray[Any, Any], Any]] = field(default_factory=dict)

    def fields(self, name: str, array: np.ndarray[Any, Any]) -> ArrayFields:
        """Return where the device finds the elements of an array, which is copied there if need be.

        Raises
        ------
        ExecutionPlacementError
            If it shares memory with another array that is copied, and one of them can be written.
        """
        readonly = not array.flags.writeable
        queue = self.place.queue
        size = array.itemsize
        if self.place.in_place and queue.sycl_device.has_aspect_usm_system_allocations and _is_regular(array):
            pointer = array.__array_interface__["data"][0]
            strides = tuple(stride // size for stride in array.strides)
            return ArrayFields(pointer, array.shape, strides, array.dtype, readonly, queue)
        key = (*array.__array_interface__["data"], array.shape, array.strides, array.dtype)
        if key not in self.copies:
            self.copies[key] = (name, array, self._copy_in(name, array))
        memory = self.copies[key][2]
        dense = np.empty(array.shape, np.uint8).strides
        return ArrayFields(memory._pointer, array.shape, dense, array.dtype, readonly, queue)

    def memory_at(self, pointer: int) -> Any:
        """Return the `dpctl.memory` object of the copy at an address, or None."""
        return next((memory for _, _, memory in self.copies.values() if memory._pointer == pointer), None)

    def copy_out(self) -> None:
        """Write what the kernel left in the copies back; the kernel has run."""
        for _, array, memory in self.copies.values():
            if array.flags.writeable and array.size:
                dense = np.empty(array.shape, array.dtype)
                copy_bytes(self.place.queue, dense, memory, array.nbytes, "device to host")
                array[...] = dense

    def _copy_in(self, name: str, array: np.ndarray[Any, Any]) -> Any:
        for other_name, other, _ in self.copies.values():
            if (array.flags.writeable or other.flags.writeable) and _share_memory(array, other):
                raise ExecutionPlacementError(
                    f"arguments `{other_name}` and `{name}` of kernel `{self.kernel}` must not share memory where they "
                    "are copied to the device, got two NumPy views of one buffer: copy one of them first",
                    code="copies-share-memory",
                )
        if self.place.warn:
            warnings.warn(
                f"argument `{name}` of kernel `{self.kernel}` is copied to the device and back, {array.nbytes} bytes: "
                f"keep it there with `{copy_call(name, 'queue')}`",
                ImplicitCopyWarning,
                stacklevel=2,
            )
        memory = MemoryUSMDevice(max(1, array.nbytes), queue=self.place.queue)
        copy_bytes(self.place.queue, memory, np.ascontiguousarray(array), array.nbytes, "host to device")
        return memory


def _share_memory(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether an element of one is one of the other's; taken for granted where that is too hard to tell."""
    try:
        return np.shares_memory(left, right, max_work=10_000)  # type: ignore[arg-type]  # NumPy's stubs know 0 and -1 only
    except np.exceptions.TooHardError:
        return True


def _is_regular(array: np.ndarray[Any, Any]) -> bool:
    """Whether each element is where elements of its size may be, at whole steps from the first."""
    return array.flags.aligned and all(stride % array.itemsize == 0 for stride in array.strides)
