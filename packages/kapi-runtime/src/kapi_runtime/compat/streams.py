"""Streams, which are queues, and events by numba.cuda's names."""

from __future__ import annotations

from typing import Any

from kapi_runtime.host import events
from kapi_runtime.host.devices import current_device
from kapi_runtime.host.queues import default_queue, external_queue, queue
from kapi_runtime.platform.installed import platform_of_device

__all__ = [
    "Event",
    "default_stream",
    "event",
    "event_elapsed_time",
    "external_stream",
    "legacy_default_stream",
    "per_thread_default_stream",
    "queue_of_stream",
    "stream",
]


def queue_of_stream(stream: Any) -> Any:
    """Return the queue that a stream argument of numba.cuda's names; None for its default, 0."""
    return None if isinstance(stream, int) and stream == 0 else stream


def stream() -> Any:
    """Return a new queue of the current device, whose work runs in the order of submission.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    return queue(in_order=True)


def default_stream() -> Any:
    """Return the default queue of the current device.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    return default_queue()


def legacy_default_stream() -> Any:
    """Return the queue of the current device that waits for all its others, and they for it.

    Returns
    -------
    Queue

    Raises
    ------
    LimitError
        If the device has none, as on SYCL.
    DeviceNotFoundError
        If there is no device.
    """
    device = current_device()
    return platform_of_device(device).numba_cuda.legacy_default_queue(device)


def per_thread_default_stream() -> Any:
    """Return the queue of the current device that is the calling thread's own.

    Returns
    -------
    Queue
        On CUDA the stream that the driver has for the thread; on SYCL an in-order queue that is made at the thread's
        first call.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.per_thread_default_stream() == cuda.per_thread_default_stream()
    True
    """
    device = current_device()
    return platform_of_device(device).numba_cuda.thread_default_queue(device)


def external_stream(ptr: Any) -> Any:
    """Return another library's queue as one of kapi's, as `kapi_runtime.external_queue` does.

    Parameters
    ----------
    ptr : int or object
        On CUDA the handle of a stream; on SYCL the address of a ``sycl::queue``; or a queue of any library.
    """
    return external_queue(ptr)


class Event(events.Event):
    """A mark in the work of a queue, with numba.cuda's parameters; all else is `kapi_runtime.Event`'s.

    Parameters
    ----------
    timing : bool
        Whether the device takes the time when the mark is passed.
    """

    __slots__ = ()

    def record(self, stream: Any = 0) -> None:
        """Set the mark after all work that was submitted to a queue so far.

        Parameters
        ----------
        stream : Queue or 0
            0 is the default queue of the current device.
        """
        super().record(queue_of_stream(stream))

    def wait(self, stream: Any = 0) -> None:
        """Let all work that is submitted to a queue from now on wait for the mark.

        Parameters
        ----------
        stream : Queue or 0
            0 is the default queue of the current device.
        """
        super().wait(queue_of_stream(stream))

    def elapsed_time(self, evtend: events.Event) -> float:
        """Return the time from this mark to another in milliseconds.

        Parameters
        ----------
        evtend : Event
            The later mark.
        """
        return super().elapsed_time(evtend)


def event(timing: bool = True) -> Event:
    """Return a new mark for the work of queues, an `Event`; `timing` as there."""
    return Event(timing)


def event_elapsed_time(evtstart: events.Event, evtend: events.Event) -> float:
    """Return the time from one event to another in milliseconds, as `Event.elapsed_time` does.

    Parameters
    ----------
    evtstart, evtend : Event
        Recorded events.

    Raises
    ------
    KernelLaunchError
        As `kapi_runtime.Event.elapsed_time`.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> start, end = cuda.event(), cuda.event()
    >>> start.record(), end.record()
    (None, None)
    >>> cuda.event_elapsed_time(start, end) >= 0
    True
    >>> cuda.event_elapsed_time(start, cuda.event())
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelLaunchError: an event without a record has no time: call its record() first [event-unrecorded]
    """
    return events.Event.elapsed_time(evtstart, evtend)
