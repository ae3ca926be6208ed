"""Events: what a launch returns and marks in a queue's work, to be waited for by the host or by other work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dpctl
from dpctl.utils import SequentialOrderManager

from kapi_runtime.sycl.device_summary import describe_device
from kapi_runtime.sycl.queues import default_queue, profiling_queue
from kapi_runtime.sycl.waiting import Pace, wait_for
from kapi_sim.errors import KernelLaunchError
from kapi_sim.shown import shown

__all__ = ["Event", "HostEvent", "event_elapsed_time", "native_events"]

_DONE = dpctl.SyclEvent()


class HostEvent:
    """The host's side of a launch: done when the kernel has run and its arguments are let go.

    Parameters
    ----------
    device_event : dpctl.SyclEvent
        The kernel's own event.
    release : callable
        Lets go of the arguments of launches that are done.
    pace : Pace, optional
        How long launches like this one took to wait for.
    """

    __slots__ = ("_pace", "_release", "device_event")

    def __init__(self, device_event: Any, release: Callable[[], None], pace: Pace | None = None) -> None:
        self.device_event = device_event
        self._release = release
        self._pace = pace

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        wait_for(self.device_event, self._pace)
        self._release()

    def __repr__(self) -> str:
        return f"<HostEvent: {self.device_event.execution_status.name}>"


class Event:
    """A mark in the work of a queue: to be asked, waited for by the host or by another queue, and timed.

    Parameters
    ----------
    timing : bool
        Whether the device takes the time when the mark is passed.  It can on every queue: where the queue itself
        takes no times, a second queue that does waits for the mark.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> start, end = kapi.Event(), kapi.Event()
    >>> start.record()
    >>> total = dpnp.arange(1000).sum()
    >>> end.record()
    >>> start.elapsed_time(end) > 0
    True
    """

    __slots__ = ("_device", "_timed", "device_event", "timing")

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.device_event: Any = None
        self._timed: Any = None
        self._device: Any = None

    def record(self, queue: Any = None) -> None:
        """Set the mark after all work that was submitted to the queue so far; a later mark replaces it.

        Parameters
        ----------
        queue : dpctl.SyclQueue, optional
            By default the default queue of the current device.
        """
        queue = _queue("record", queue)
        self.device_event = queue.submit_barrier()
        self._device = queue.sycl_device
        if self.timing:
            clock = profiling_queue(queue)
            self._timed = self.device_event if clock is queue else clock.submit_barrier([self.device_event])

    def query(self) -> bool:
        """Tell whether the mark is passed; waits for nothing.  An event that was not recorded is."""
        return self.device_event is None or self.device_event.execution_status == dpctl.event_status_type.complete

    def synchronize(self) -> None:
        """Wait until the mark is passed.  Other threads run meanwhile, and Ctrl-C is heard."""
        if self.device_event is not None:
            wait_for(self.device_event)

    def wait(self, queue: Any = None) -> None:
        """Let all work that is submitted to a queue from now on wait for the mark; the host does not wait.

        Parameters
        ----------
        queue : dpctl.SyclQueue, optional
            By default the default queue of the current device.
        """
        queue = _queue("wait", queue)
        if self.device_event is not None:
            barrier = queue.submit_barrier([self.device_event])
            # dpnp and kapi order their work by these events, also where the queue itself orders nothing.
            SequentialOrderManager[queue].add_event_pair(_DONE, barrier)

    def elapsed_time(self, end: Event) -> float:
        """Return the time from this mark to `end`, on the device's clock; waits for both.

        Parameters
        ----------
        end : Event
            The later mark; the result is negative if it is the earlier one.

        Returns
        -------
        float
            Milliseconds.

        Raises
        ------
        KernelLaunchError
            If one of them was not recorded, or takes no time; or they are on two devices, whose clocks differ.

        References
        ----------
        SYCL 2020, section 4.6.6.1 (event profiling descriptors).
        """
        marks = [_require_event(self)._time(), _require_event(end)._time()]
        if self._device != end._device:
            raise KernelLaunchError(
                "events must be on one device to be timed, for each has a clock of its own, got "
                f"{describe_device(self._device)} and {describe_device(end._device)}",
                code="events-of-devices",
            )
        return (marks[1] - marks[0]) / 1e6

    def _time(self) -> int:
        """When the mark was passed, in ns."""
        if self.device_event is None:
            raise KernelLaunchError(
                "an event must be recorded before it is timed, got one that was not: `record()` it",
                code="event-unrecorded",
            )
        if self._timed is None:
            raise KernelLaunchError(
                "an event must be made with timing=True to be timed, got one with timing=False: make it by `Event()`",
                code="event-without-times",
            )
        wait_for(self._timed)  # dpctl would wait for the times without letting other threads run
        return int(self._timed.profiling_info_end)

    def __repr__(self) -> str:
        state = "not recorded" if self.device_event is None else self.device_event.execution_status.name
        return f"<Event: {state}>"


def event_elapsed_time(start: Event, end: Event) -> float:
    """Return the time from one event to another in milliseconds, as `Event.elapsed_time` does.

    Parameters
    ----------
    start, end : Event
        Recorded events.

    Raises
    ------
    KernelLaunchError
        As `Event.elapsed_time`.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> start, end = kapi.Event(), kapi.Event()
    >>> start.record(), end.record()
    (None, None)
    >>> kapi.event_elapsed_time(start, end) >= 0
    True
    >>> kapi.event_elapsed_time(start, kapi.Event())
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelLaunchError: an event must be recorded before it is timed, got one that was not: \
`record()` it [event-unrecorded]
    """
    return _require_event(start).elapsed_time(end)


def _require_event(event: Any) -> Event:
    if not isinstance(event, Event):
        raise KernelLaunchError(
            f"an event to be timed must be a kapi_runtime.Event, got {shown(event)}: `record()` one", code="no-event"
        )
    return event


def _queue(method: str, queue: Any) -> Any:
    if queue is None:
        return default_queue()
    if not isinstance(queue, dpctl.SyclQueue):
        raise KernelLaunchError(
            f"queue of {method} must be a dpctl.SyclQueue, got {shown(queue)}: a device's is "
            "`default_queue(device)`, an "
            "array's `array.sycl_queue`",
            code="no-queue",
        )
    return queue


def native_events(events: Sequence[Any]) -> list[Any]:
    """Return the `dpctl.SyclEvent` of each event that a launch is to wait for.

    Parameters
    ----------
    events : sequence of HostEvent, Event or dpctl.SyclEvent
        Events of launches, or of anything else that dpctl knows; a mark that was not recorded is waited for by nobody.

    Raises
    ------
    KernelLaunchError
        If one is something else.
    """
    marks = [event for event in events if not (isinstance(event, Event) and event.device_event is None)]
    resolved = [event.device_event if isinstance(event, (Event, HostEvent)) else event for event in marks]
    for event in resolved:
        if not isinstance(event, dpctl.SyclEvent):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got {shown(event)}: pass [] if the launch "
                "depends on none",
                code="dependent-events",
            )
    return resolved
