"""Queues: where work is submitted, waited for, and called back from; and what they are called in messages."""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache
from typing import Any

import dpctl
import numpy as np

from kapi_runtime.platform import callbacks, recorder
from kapi_runtime.platform.handles import Queue
from kapi_runtime.sycl.devices.device import DpctlDevice
from kapi_runtime.sycl.devices.device_summary import describe_device
from kapi_runtime.sycl.devices.discovery import current_device
from kapi_runtime.sycl.queues import keep_alive
from kapi_runtime.sycl.queues.interruptible_waits import wait_for
from kapi_sim.errors import LimitError
from kapi_sim.forks import reinit_after_fork

__all__ = [
    "DpctlQueue",
    "default_queue",
    "describe_queue",
    "external_queue",
    "new_queue",
    "profiling_queue",
    "queue_of",
]


class DpctlQueue(Queue, dpctl.SyclQueue):  # type: ignore[misc]  # dpctl is Any for mypy
    """A `dpctl.SyclQueue` as a `Queue`, equal to the one that it was made from."""

    def __init__(self, *given: Any, **named: Any) -> None:
        """`dpctl.SyclQueue` has done all when it was made."""

    @property
    def device(self) -> DpctlDevice:
        """The device that the queue's work runs on."""
        return DpctlDevice(self.sycl_device)

    def synchronize(self) -> None:
        """Wait for all work that was submitted to the queue, and for its callbacks, as `Queue.synchronize` says."""
        recorder.require_no_graph("synchronize of a queue")
        wait_for(self)
        callbacks.wait_until_called(self)
        keep_alive.release()

    def wait(self) -> None:
        """Wait for all work that was submitted to the queue; several threads may do so, one at a time."""
        wait_for(self)

    submit_barrier = dpctl.SyclQueue.submit_barrier

    def _described(self) -> str:
        return describe_queue(self)


def default_queue(device: Any = None) -> DpctlQueue:
    """Return dpctl's and dpnp's default queue of a device; the same object for the same device, in every thread.

    - `device`: root or sub-device; by default the current one.
    """
    chosen = current_device() if device is None else device
    with _lock:
        if _is_sub_device(chosen):
            return _default_of_sub_device(chosen)
        return _wrapped(dpctl.get_device_cached_queue(chosen))


def new_queue(device: Any, in_order: bool, profiling: bool) -> DpctlQueue:
    """Make a queue of a device: in the order of submission, and with times, if so wanted."""
    properties = ["in_order"] * bool(in_order) + ["enable_profiling"] * bool(profiling)
    if _is_sub_device(device):
        with _lock:
            context = _context_of_sub_device(device)
        return DpctlQueue(context, device, property=properties)
    return DpctlQueue(device, property=properties)


def external_queue(source: Any) -> DpctlQueue | None:
    """Return the queue that a dpctl queue, a capsule of one, or the address of a ``sycl::queue`` stands for, or None.

    A queue at an address is copied, so that the original may be destroyed.
    """
    if isinstance(source, DpctlQueue):
        return source
    address = getattr(source, "value", None) if isinstance(source, ctypes.c_void_p) else source
    if isinstance(address, (int, np.integer)) and not isinstance(address, bool):
        found = _from_address(int(address)) if 0 < address < 1 << 8 * ctypes.sizeof(ctypes.c_void_p) else None
    else:
        found = None if isinstance(source, type) else queue_of(source)
    return None if found is None else DpctlQueue(found._get_capsule())


@lru_cache(maxsize=64)
def profiling_queue(queue: Any) -> Any:
    """Return a queue of the same context and device whose work is timed by the device: `queue` itself if it does so.

    Returns the same object for the same queue.  It is not ordered with `queue` but by events. Raises `LimitError` if
    the device takes no times.
    """
    if queue.has_enable_profiling:
        return queue
    if not queue.sycl_device.has_aspect_queue_profiling:
        raise LimitError(
            f"{describe_device(queue.sycl_device)} takes no times, since it has no profiling: "
            "measure on the host, or make events with timing=False",
            code="device-without-times",
        )
    return dpctl.SyclQueue(queue.sycl_context, queue.sycl_device, property="enable_profiling")


def queue_of(owner: Any) -> Any:
    """Return the `dpctl.SyclQueue` that the ``syclobj`` of the USM array protocol stands for, or None.

    Parameters
    ----------
    owner : dpctl.SyclQueue or capsule or object
        A queue, a capsule of one, or an object that gives a capsule of one.

    References
    ----------
    The USM array protocol, version 1, as dpctl documents it.
    """
    if isinstance(owner, dpctl.SyclQueue):
        return owner
    capsule = owner._get_capsule() if hasattr(owner, "_get_capsule") else owner
    if type(capsule).__name__ == "PyCapsule":
        try:
            return dpctl.SyclQueue(capsule)
        except (TypeError, ValueError):
            return None
    return None


def describe_queue(queue: Any) -> str:
    """Name a `dpctl.SyclQueue` in a few words, for messages: its address, kind and device."""
    kind = "in-order queue" if queue.is_in_order else "queue"
    profiling = " with profiling" if queue.has_enable_profiling else ""
    return f"{kind} {queue.addressof_ref():#x}{profiling} of {describe_device(queue.sycl_device)}"


# Held while a default queue is looked up, lest two threads make two.
_lock = reinit_after_fork(threading.RLock())


@lru_cache(maxsize=64)
def _wrapped(queue: Any) -> DpctlQueue:
    return DpctlQueue(queue._get_capsule())


def _is_sub_device(device: Any) -> bool:
    return device.parent_device is not None


# SYCL has no default context for a sub-device; one for each lets its queues share memory.
@lru_cache(maxsize=64)
def _context_of_sub_device(device: Any) -> Any:
    return dpctl.SyclContext(device)


@lru_cache(maxsize=64)
def _default_of_sub_device(device: Any) -> DpctlQueue:
    return DpctlQueue(_context_of_sub_device(device), device)


def _from_address(address: int) -> Any:
    """The dpctl queue of a ``sycl::queue`` in memory, through dpctl's C interface, which copies it."""
    capsule = dpctl._sycl_queue.__pyx_capi__["SyclQueue_Make"]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(pointer(capsule, name(capsule)))
    return make(address)
