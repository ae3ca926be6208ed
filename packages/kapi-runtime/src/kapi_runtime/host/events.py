"""Marks that a program sets in the work of queues, of whatever platform."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapi_runtime.host.queues import default_queue, require_queue
from kapi_runtime.platform import recorder
from kapi_runtime.platform.interface import Platform
from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr

__all__ = ["EMPTY_TUPLE", "EMPTY_LIST", "Event", "listed_events"]


class Event:
    """A mark in the work of a queue, for the host or another queue to wait for, and for timing.

    Parameters
    ----------
    timing : bool
        Whether the device takes the time when the mark is passed.  It can on every queue: where the queue itself
        takes no times, a second queue that does waits for the mark.

    Attributes
    ----------
    timing : bool
        As given.
    device_event : object or None
        The mark as the platform's library has it; None before `record`.

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

    __slots__ = ("_device", "_platform", "_timed", "device_event", "timing")

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.device_event: Any = None
        self._timed: Any = None
        self._device: Any = None
        self._platform: Any = None

    def record(self, queue: Any = None) -> None:
        """Set the mark after all work that was submitted to the queue so far; a later mark replaces it.

        Parameters
        ----------
        queue : Queue, optional
            A queue, native ones included; by default the default queue of the current device.

        Raises
        ------
        KernelLaunchError
            If it is none.
        """
        recorder.require_no_graph("record of an event")
        platform, queue = require_queue(default_queue() if queue is None else queue, "queue of record")
        self.device_event, self._timed = platform.mark(queue, self.timing)
        self._platform, self._device = platform, platform.device_of(queue)

    def query(self) -> bool:
        """Return whether the mark is passed; waits for nothing.  An event that was not recorded is."""
        return self.device_event is None or bool(self._platform.is_done(self.device_event))

    def synchronize(self) -> None:
        """Wait until the mark is passed.  Other threads run meanwhile, and Ctrl-C is heard."""
        recorder.require_no_graph("synchronize of an event")
        if self.device_event is not None:
            self._platform.wait_for(self.device_event)

    def wait(self, queue: Any = None) -> None:
        """Let all work that is submitted to a queue from now on wait for the mark; the host does not wait.

        Parameters
        ----------
        queue : Queue, optional
            A queue, native ones included; by default the default queue of the current device.

        Raises
        ------
        KernelLaunchError
            If it is none, or is of another platform than the mark.
        """
        recorder.require_no_graph("wait of an event")
        platform, queue = require_queue(default_queue() if queue is None else queue, "queue of wait")
        for event in platform.native_events([self]):
            platform.hold(queue, event)

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
        marks = [_timed_of(self), _timed_of(end)]
        if self._device != end._device:
            raise KernelLaunchError(
                "events must be on one device to be compared, since each device has its own clock, got "
                f"{self._platform.describe_device(self._device)} and {end._platform.describe_device(end._device)}",
                code="events-of-devices",
            )
        platform: Platform = self._platform
        for mark in marks:
            platform.wait_for(mark)
        return platform.elapsed_ns(*marks) / 1e6

    def __repr__(self) -> str:
        state = "not recorded" if self.device_event is None else "complete" if self.query() else "running"
        return f"<Event: {state}>"


def _timed_of(event: Any) -> Any:
    """The mark whose time the device takes."""
    if not isinstance(event, Event):
        raise KernelLaunchError(
            f"an event to be timed must be a kapi_runtime.Event, got {short_repr(event)}: `record()` one",
            code="no-event",
        )
    if event.device_event is None:
        raise KernelLaunchError(
            "an event without a record has no time: call its record() first", code="event-unrecorded"
        )
    if event._timed is None:
        raise KernelLaunchError(
            "an event with timing=False has no time: make it with `Event()`", code="event-without-times"
        )
    return event._timed


EMPTY_TUPLE: tuple[()] = ()  # Python has one empty tuple, so that launches may compare by identity
EMPTY_LIST: list[Any] = []  # never changed


def listed_events(events: Iterable[Any]) -> list[Any]:
    """Return the events of an iterable; KernelLaunchError if it holds something else, or is none."""
    if isinstance(events, (tuple, list)) and not events:
        return EMPTY_LIST
    try:
        listed = list(events)
    except TypeError:
        wrong = f"got {short_repr(events)}: pass [] if the launch depends on none"
        if hasattr(events, "wait"):
            wrong = f"got one event: pass [{type(events).__name__}]"
        raise KernelLaunchError(
            f"dependent_events must be an iterable of events, {wrong}", code="dependent-events"
        ) from None
    for event in listed:
        # Whose event it is, its platform knows.
        if not hasattr(event, "wait") and not hasattr(event, "synchronize"):
            raise KernelLaunchError(
                f"dependent_events must be an iterable of events, got {short_repr(event)}: pass [] if the launch "
                "depends on none",
                code="dependent-events",
            )
    return listed
