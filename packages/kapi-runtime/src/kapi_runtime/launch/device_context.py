"""NumPy arrays as arguments: moved in and out for each launch, where the program says on which device.

Compute follows data, and a NumPy array is on no device.  `device_context` names one, for programs whose data live on
the host.  Where the device reads the host's memory, nothing is copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from kapi_runtime.host.devices import find_device, platform_of_device
from kapi_runtime.host.queues import known_queue
from kapi_runtime.platform import current
from kapi_runtime.platform.current import HostArrayTarget, device_array_target, host_array_target
from kapi_runtime.platform.interface import Allocation
from kapi_sim.errors import DtypeError, ExecutionPlacementError, ImplicitCopyWarning
from kapi_sim.language.array_memory import ArrayFields, overlaps_itself

__all__ = ["HostArrays", "bits", "device_context", "device_array_target", "on_device_context", "host_array_target"]


@contextmanager
def device_context(device: Any, *, warn: bool = False) -> Iterator[Any]:
    """Launch kernels with NumPy arrays inside a ``with`` block: each launch copies them to this device and back.

    The device becomes the current one, too.  A launch that has to copy arrays waits, and writes back each array that
    can be written, also with `call_kernel_async`.  Arrays of devices stay where they are, and must be on the
    same queue.  The block counts for this thread and asyncio task; a thread that is started inside has none.

    Parameters
    ----------
    device : int or str or Device or Queue
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
    found = None if isinstance(device, (int, str)) or device is None else known_queue(device)
    if found is None:
        chosen = find_device(device)
        platform = platform_of_device(chosen)
        found = platform, platform.default_queue(chosen)
    platform, queue = found
    token = host_array_target.set(HostArrayTarget(platform, queue, warn))
    current.enter(platform.device_of(queue))
    _notify(True)
    try:
        yield queue
    finally:
        _notify(False)
        current.leave()
        host_array_target.reset(token)


_listeners: list[Callable[[bool], None]] = []


def on_device_context(listener: Callable[[bool], None]) -> None:
    """Have a function called when a `device_context` begins, with True, and when it ends, with False, in any thread.

    A package that is to hear of it names a function that calls this one as an entry point of the group
    ``kapi_device_context``; it is loaded when the first context begins.

    - `listener`: told by a bool; adding it twice is adding it once.
    """
    if listener not in _listeners:
        _listeners.append(listener)


@lru_cache(maxsize=1)
def _load_listeners() -> None:
    for each in entry_points(group="kapi_device_context"):
        each.load()()


def _notify(begins: bool) -> None:
    _load_listeners()
    for listener in _listeners:
        listener(begins)


@dataclass(slots=True)
class HostArrays:
    """The NumPy arrays of one launch, and their copies.

    - `kernel`: name of the kernel, for messages.
    - `host_target`: where they are moved to.
    - `copies`: by where the array is and how it is laid out: its name, the array, its copy on the device, and what was
      copied if the array can be written.
    - `overlapping`: the names of copied arrays of which an element has several indices.
    """

    kernel: str
    host_target: HostArrayTarget
    copies: dict[Hashable, tuple[str, np.ndarray[Any, Any], Allocation, np.ndarray[Any, Any] | None]] = field(
        default_factory=dict
    )
    overlapping: set[str] = field(default_factory=set)

    def fields(self, name: str, array: np.ndarray[Any, Any]) -> ArrayFields:
        """Return where the device finds the elements of an array, which is copied there if need be.

        Raises `ExecutionPlacementError` if it shares memory with another array that is copied, and one of them can be
        written; `DtypeError` if kernels use it in place, and cannot use it as it is.
        """
        queue = self.host_target.queue
        if self.host_target.platform.is_host:
            return self._in_place(name, array)
        readonly = not array.flags.writeable
        size = array.itemsize
        if self.host_target.in_place and self.host_target.platform.reads_host_memory(queue) and _is_regular(array):
            pointer = array.__array_interface__["data"][0]
            strides = tuple(stride // size for stride in array.strides)
            return ArrayFields(pointer, array.shape, strides, array.dtype, readonly, queue)
        key = (*array.__array_interface__["data"], array.shape, array.strides, array.dtype)
        if overlaps_itself(array.shape, array.strides, size):
            self.overlapping.add(name)
        if key not in self.copies:
            before = None if readonly else np.array(array, order="C", subok=False)
            self.copies[key] = (name, array, self._copy_in(name, array), before)
        memory = self.copies[key][2]
        dense = np.empty(array.shape, np.uint8).strides
        return ArrayFields(memory.pointer, array.shape, dense, array.dtype, readonly, queue)

    def _in_place(self, name: str, array: Any) -> ArrayFields:
        """The memory of an array that the platform's kernels use without a copy."""
        try:
            fields = self.host_target.platform.fields(array)
        except DtypeError as error:
            raise DtypeError(
                f"argument `{name}` of kernel `{self.kernel}`: {error.message}", code=error.code
            ) from error
        assert fields is not None  # it is an array of the platform
        return fields

    def copy_out(self) -> None:
        """Write what the kernel changed in the copies back; the kernel has run."""
        for _, array, memory, before in self.copies.values():
            if before is not None and array.size:
                dense = np.empty(array.shape, array.dtype)
                self.host_target.platform.copy_out(self.host_target.queue, dense, memory)
                # What another thread stores meanwhile is not overwritten with what was there before.
                np.copyto(array, dense, where=bits(dense) != bits(before))

    def _copy_in(self, name: str, array: np.ndarray[Any, Any]) -> Allocation:
        platform = self.host_target.platform
        for other_name, other, *_ in self.copies.values():
            if (array.flags.writeable or other.flags.writeable) and _share_memory(array, other):
                raise ExecutionPlacementError(
                    f"arguments `{other_name}` and `{name}` of kernel `{self.kernel}` must not share memory where they "
                    "are copied to the device, got two NumPy views of one buffer: copy one of them first",
                    code="copies-share-memory",
                )
        if self.host_target.warn:
            warnings.warn(
                f"argument `{name}` of kernel `{self.kernel}` is copied to the device and back, {array.nbytes} bytes: "
                f"keep it there with `{platform.copy_call(name)}`",
                ImplicitCopyWarning,
                stacklevel=2,
            )
        memory = platform.allocate(self.host_target.queue, max(1, array.nbytes))
        platform.copy_in(self.host_target.queue, memory, np.ascontiguousarray(array))
        return memory


def bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of an array as bits, for which equal means the same."""
    size = array.dtype.itemsize
    return array.view(np.dtype(f"u{size}") if size <= 8 else np.dtype([("low", "u8"), ("high", "u8")]))


def _share_memory(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether an element of one is one of the other's; taken for granted where that is too hard to tell."""
    try:
        return np.shares_memory(left, right, max_work=10_000)  # type: ignore[arg-type]  # NumPy's stubs know 0 and -1 only
    except np.exceptions.TooHardError:
        return True


def _is_regular(array: np.ndarray[Any, Any]) -> bool:
    """Whether each element is where elements of its size may be, at multiples of its size from the first."""
    return array.flags.aligned and all(stride % array.itemsize == 0 for stride in array.strides)
