"""Streams and events: here all work is done when the call that asks for it returns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kapi_sim.errors import KernelLaunchError

__all__ = [
    "Event",
    "Stream",
    "default_stream",
    "event",
    "event_elapsed_time",
    "external_stream",
    "legacy_default_stream",
    "per_thread_default_stream",
    "stream",
    "synchronize",
]


class Stream:
    """A stream, whose work is always done.

    Parameters
    ----------
    name : str
        What it shows itself as.
    handle : int
        Address of a stream of CUDA's, or 0.
    """

    def __init__(self, name: str = "stream", handle: int = 0) -> None:
        self._name = name
        self.handle = handle

    def __int__(self) -> int:
        return self.handle

    def __bool__(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Wait for the stream's work."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait for the stream's work at the end of a ``with`` block."""
        yield self

    def add_callback(self, callback: Callable[[Any, int, Any], object], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)``, at once."""
        callback(self, 0, arg)

    def async_done(self) -> asyncio.Future[Stream]:
        """Return a future that is done."""
        made: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
        made.set_result(self)
        return made

    def __repr__(self) -> str:
        return f"<{self._name}>"


class Event:
    """A moment in the work of a stream.

    Parameters
    ----------
    timing : bool
        Whether times between events can be asked for.
    """

    def __init__(self, timing: bool = True) -> None:
        self._time: float | None = None

    def record(self, stream: Any = 0) -> None:
        """Note the time."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """Return whether all work before the event is done: it is."""
        return True

    def synchronize(self) -> None:
        """Wait for the work before the event."""

    def wait(self, stream: Any = 0) -> None:
        """Let a stream wait for the event."""

    def elapsed_time(self, evtend: Event) -> float:
        """Return the milliseconds from this event to another one: of the simulator, no GPU's.

        Parameters
        ----------
        evtend : Event
            The later one.
        """
        if self._time is None or evtend._time is None:
            raise KernelLaunchError(
                "an event without a record has no time: call its record() first",
                code="event-unrecorded",
            )
        return (evtend._time - self._time) * 1000


def stream() -> Stream:
    """Return a new stream."""
    return Stream()


def default_stream() -> Stream:
    """Return the default stream."""
    return Stream("default stream")


def legacy_default_stream() -> Stream:
    """Return the legacy default stream."""
    return Stream("legacy default stream", 1)


def per_thread_default_stream() -> Stream:
    """Return the default stream of the calling thread."""
    return Stream("per-thread default stream", 2)


def external_stream(ptr: int) -> Stream:
    """Return a stream that another library made."""
    return Stream("external stream", ptr)


def event(timing: bool = True) -> Event:
    """Return a new event."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Return the milliseconds between two events."""
    return evtstart.elapsed_time(evtend)


def synchronize() -> None:
    """Wait for all work of the device."""
