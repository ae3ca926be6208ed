"""Queues: where work is submitted, waited for, and called back from; and what they are called in messages."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import dpctl
import numpy as np

from kapi_runtime.sycl import callbacks, keep_alive
from kapi_runtime.sycl.device import Device
from kapi_runtime.sycl.device_summary import describe_device
from kapi_runtime.sycl.discovery import current_device
from kapi_runtime.sycl.waiting import wait_for
from kapi_sim.errors import KernelLaunchError, LimitError
from kapi_sim.shown import shown

__all__ = [
    "Queue",
    "default_queue",
    "describe_queue",
    "external_queue",
    "new_queue",
    "profiling_queue",
    "queue_of",
]


class Queue(dpctl.SyclQueue):  # type: ignore[misc]  # dpctl is Any for mypy
    """A `dpctl.SyclQueue` that can be waited for without losing Ctrl-C, and calls back.

    Everything that takes a dpctl queue takes this one, dpnp's ``sycl_queue=`` too, and it is equal to the
    `dpctl.SyclQueue` that it was made from.  `queue`, `default_queue` and `external_queue` make it.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> queue = kapi.queue()
    >>> ones = dpnp.ones(4, sycl_queue=queue)
    >>> with queue.auto_synchronize():
    ...     ones += 1
    >>> ones.asnumpy()
    array([2., 2., 2., 2.])
    """

    @property
    def device(self) -> Device:
        """The device that the queue's work runs on."""
        return Device(self.sycl_device)

    def synchronize(self) -> None:
        """Wait for all work that was submitted to the queue, and for its callbacks; other threads run meanwhile.

        In a callback, of whatever queue, callbacks are not waited for: it could be for itself.

        Raises
        ------
        KeyboardInterrupt
            At once, if Ctrl-C is pressed in the main thread; the work goes on.
        """
        wait_for(self)
        callbacks.wait_until_called(self)
        keep_alive.release()

    @contextmanager
    def auto_synchronize(self) -> Iterator[Queue]:
        """Synchronize at the end of the ``with`` block, also if it is left by an exception."""
        try:
            yield self
        finally:
            self.synchronize()

    def add_callback(self, function: Callable[[Queue, Any, Any], object], arg: Any = None) -> None:
        """Call ``function(queue, status, arg)`` when all work that was submitted to the queue so far is done.

        The callbacks of one queue are called in the order in which they were added, one at a time, in a thread of
        the queue's own; those of different queues may be called at the same time.  Work that is submitted later
        does not wait for the callback.  It may call everything of kapi, dpctl and dpnp, launches and waits included.
        What it raises is reported by `threading.excepthook`, and ends neither the thread nor later callbacks.

        Parameters
        ----------
        function : callable
            Takes the queue, the status of the work (a `dpctl.event_status_type`), and `arg`.
        arg : object, optional
            What the function is to be given.

        Raises
        ------
        KernelLaunchError
            If `function` cannot be called.

        Examples
        --------
        >>> import kapi_runtime as kapi
        >>> queue, called = kapi.queue(), []
        >>> queue.add_callback(lambda queue, status, arg: called.append((status.name, arg)), "done")
        >>> queue.synchronize()
        >>> called
        [('complete', 'done')]
        """
        if not callable(function):
            raise KernelLaunchError(
                f"function of add_callback must be callable, got {shown(function)}", code="callback-form"
            )
        event = self.submit_barrier()
        callbacks.call_after(self, event, lambda: function(self, event.execution_status, arg))

    def async_done(self) -> asyncio.Future[Queue]:
        """Return an awaitable of the running asyncio loop: done when all work submitted so far is.

        It may be cancelled, also together with its task or with the loop; the work goes on.

        Returns
        -------
        asyncio.Future
            Its result is the queue.

        Raises
        ------
        RuntimeError
            If no asyncio loop is running.

        Examples
        --------
        >>> import asyncio
        >>> import kapi_runtime as kapi
        >>> async def main():
        ...     return await kapi.default_queue().async_done()
        >>> asyncio.run(main()) == kapi.default_queue()
        True
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Queue] = loop.create_future()

        def finish() -> None:
            if not future.done():  # it is, if it was cancelled
                future.set_result(self)

        def call() -> None:
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:
                if not loop.is_closed():  # nobody is left to be told
                    raise

        callbacks.call_after(self, self.submit_barrier(), call)
        return future

    def __repr__(self) -> str:
        return f"<Queue: {describe_queue(self)}>"


def default_queue(device: Any = None) -> Queue:
    """Return dpctl's and dpnp's default queue of a device; the same object for the same device, in every thread.

    Parameters
    ----------
    device : dpctl.SyclDevice, optional
        Root or sub-device; by default the current one.
    """
    chosen = current_device() if device is None else device
    with _lock:
        if _is_sub_device(chosen):
            return _default_of_sub_device(chosen)
        return _wrapped(dpctl.get_device_cached_queue(chosen))


def new_queue(device: Any, in_order: bool, profiling: bool) -> Queue:
    """Make a queue of a device: in the order of submission, and with times, if so wanted."""
    properties = ["in_order"] * bool(in_order) + ["enable_profiling"] * bool(profiling)
    if _is_sub_device(device):
        with _lock:
            context = _context_of_sub_device(device)
        return Queue(context, device, property=properties)
    return Queue(device, property=properties)


def external_queue(source: Any) -> Queue | None:
    """Return the queue that a dpctl queue, a capsule of one, or the address of a ``sycl::queue`` stands for, or None.

    A queue at an address is copied, so that the original may be destroyed.
    """
    if isinstance(source, Queue):
        return source
    address = getattr(source, "value", None) if isinstance(source, ctypes.c_void_p) else source
    if isinstance(address, (int, np.integer)) and not isinstance(address, bool):
        found = _from_address(int(address)) if 0 < address < 1 << 8 * ctypes.sizeof(ctypes.c_void_p) else None
    else:
        found = None if isinstance(source, type) else queue_of(source)
    return None if found is None else Queue(found._get_capsule())


@lru_cache(maxsize=64)
def profiling_queue(queue: Any) -> Any:
    """Return a queue of the same context and device whose work is timed by the device: `queue` itself if it does so.

    Parameters
    ----------
    queue : dpctl.SyclQueue

    Returns
    -------
    dpctl.SyclQueue
        The same object for the same queue.  It is not ordered with `queue` but by events.

    Raises
    ------
    LimitError
        If the device takes no times.
    """
    if queue.has_enable_profiling:
        return queue
    if not queue.sycl_device.has_aspect_queue_profiling:
        raise LimitError(
            f"times must be taken by a device that can, got {describe_device(queue.sycl_device)}, which has no "
            "profiling: measure on the host, or make events with timing=False",
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
_lock = threading.RLock()


@lru_cache(maxsize=64)
def _wrapped(queue: Any) -> Queue:
    return Queue(queue._get_capsule())


def _is_sub_device(device: Any) -> bool:
    return device.parent_device is not None


# SYCL has no default context for a sub-device; one for each lets its queues share memory.
@lru_cache(maxsize=64)
def _context_of_sub_device(device: Any) -> Any:
    return dpctl.SyclContext(device)


@lru_cache(maxsize=64)
def _default_of_sub_device(device: Any) -> Queue:
    return Queue(_context_of_sub_device(device), device)


def _from_address(address: int) -> Any:
    """The dpctl queue of a ``sycl::queue`` in memory, through dpctl's C interface, which copies it."""
    capsule = dpctl._sycl_queue.__pyx_capi__["SyclQueue_Make"]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(pointer(capsule, name(capsule)))
    return make(address)
