"""Memory of CUDA devices, freed when nobody holds it, and copies of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.queues.events import CudaEvent, recorded_event, wait_on_stream
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.platform import recorder
from kapi_runtime.platform.handles import describe_device
from kapi_sim.errors import UsmAllocationError
from kapi_sim.language.array_memory import ArrayFields

__all__ = [
    "CudaMemory",
    "copy_call",
    "copy_from_device",
    "copy_on_device",
    "copy_to_device",
    "deferred_frees",
    "submit_copy",
]

Kind = Literal["device", "shared", "host"]

_PORTABLE_AND_MAPPED = 1 | 2
_GLOBAL = 1
_ADDRESSES = 2**63  # bytes: more than any device has, and than the driver can be asked for


class CudaMemory:
    """A piece of memory that a device's kernels use.

    - `nbytes`: its size; at least one byte is had.
    - `kind`: memory of the device; managed memory, which moves to where it is used; memory of the host, pinned.

    Raises `UsmAllocationError` if there is not so much.
    """

    __slots__ = ("__weakref__", "device", "kind", "nbytes", "pointer")

    def __init__(self, device: CudaDevice, nbytes: int, kind: Kind = "device") -> None:
        self.device, self.nbytes, self.kind = device, nbytes, kind
        self.pointer = 0
        size = max(1, nbytes)
        if size >= _ADDRESSES:
            raise UsmAllocationError(
                f"an array must have fewer than 2**63 bytes, got {nbytes}: check its shape", code="device-memory-short"
            )
        name, arguments = {
            "device": ("cuMemAlloc", (size,)),
            "shared": ("cuMemAllocManaged", (size, _GLOBAL)),
            "host": ("cuMemHostAlloc", (size, _PORTABLE_AND_MAPPED)),
        }[kind]
        with device.entered():
            code, found = driver.result(name, *arguments)
        if code:
            error = driver.error_of(name, code, f"{nbytes} bytes of {kind} memory on {describe_device(device)}")
            if isinstance(error, UsmAllocationError):
                free, total = device.memory_info()
                raise UsmAllocationError(
                    f"{error}; {free} bytes of {total} are free on the device", code="device-memory-short"
                )
            raise error
        self.pointer = int(found)

    def fill_with_zeros(self, queue: CudaQueue) -> None:
        """Set all bytes to 0, in the order of the queue's work."""
        with self.device.entered():
            driver.call("cuMemsetD8Async", self.pointer, 0, max(1, self.nbytes), queue.handle)

    def read(self, nbytes: int) -> bytes:
        """Return its first bytes, after the host has waited for the work that fills them."""
        host = np.empty(nbytes, np.uint8)
        with self.device.entered():
            driver.call("cuMemcpyDtoH", host.ctypes.data, self.pointer, nbytes)
        return host.tobytes()

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", 0)
        try:
            if pointer and _deferring:
                _deferred.append((self.device, self.kind, pointer))
            elif pointer:
                _free(self.device, self.kind, pointer)
        except Exception:  # at exit the driver and modules may be gone, and a lost context cannot be entered
            return


_deferring: list[None] = []  # as many as there are `deferred_frees` at present, in all threads
_deferred: list[tuple[CudaDevice, Kind, int]] = []


@contextmanager
def deferred_frees() -> Iterator[None]:
    """Give no memory back in a ``with`` block, of whatever thread: that would wait for the device."""
    _deferring.append(None)
    try:
        yield
    finally:
        _deferring.pop()
        while _deferred and not _deferring:
            _free(*_deferred.pop())


def _free(device: CudaDevice, kind: Kind, pointer: int) -> None:
    if driver.is_loaded():
        with device.entered():
            # Both wait for the work that may use it.
            driver.quietly("cuMemFreeHost" if kind == "host" else "cuMemFree", pointer)


def copy_to_device(queue: CudaQueue, pointer: int, source: np.ndarray[Any, Any]) -> None:
    """Copy a C-contiguous NumPy array to an address, after the queue's earlier work, and wait."""
    _copied(queue, "cuMemcpyHtoDAsync", pointer, source.ctypes.data, source.nbytes)


def copy_from_device(queue: CudaQueue, target: np.ndarray[Any, Any], pointer: int) -> None:
    """Copy from an address to a C-contiguous NumPy array, after the queue's earlier work, and wait."""
    _copied(queue, "cuMemcpyDtoHAsync", target.ctypes.data, pointer, target.nbytes)


def copy_on_device(queue: CudaQueue, target: int, source: int, nbytes: int) -> None:
    """Copy between addresses of devices, which may be two, after the queue's earlier work, and wait."""
    _copied(queue, "cuMemcpyAsync", target, source, nbytes)


def submit_copy(
    queue: CudaQueue, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[CudaEvent]
) -> CudaEvent:
    """Submit a copy between two contiguous arrays, of a device or of the host, after these events; return its event."""
    for event in before:
        wait_on_stream(queue.device, queue.handle, event)
    with queue.device.entered():
        driver.call(copy_call(target, source), target.pointer, source.pointer, nbytes, queue.handle)
    return recorded_event(queue.device, queue.handle)


def copy_call(target: ArrayFields, source: ArrayFields) -> str:
    """Return the name of the driver's function that copies between two arrays, of a device or of the host."""
    if None not in (source.owner, target.owner):
        return "cuMemcpyAsync"
    return "cuMemcpyHtoDAsync" if source.owner is None else "cuMemcpyDtoHAsync"


def _copied(queue: CudaQueue, name: str, target: int, source: int, nbytes: int) -> None:
    recorder.require_no_graph("a copy that the host waits for")
    if nbytes:
        with queue.device.entered():
            driver.call(name, target, source, nbytes, queue.handle)
        recorded_event(queue.device, queue.handle).wait()
