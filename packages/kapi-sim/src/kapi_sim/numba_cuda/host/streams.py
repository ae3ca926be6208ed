"""Streams and events: their work is done when the call that asks for it returns, and its order on a GPU is checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import get_ident
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.numba_cuda.host.stream_order import DEFAULT, Clock, Key, order

__all__ = [
    "Event",
    "Stream",
    "default_stream",
    "event",
    "event_elapsed_time",
    "external_stream",
    "key_of",
    "legacy_default_stream",
    "name_of",
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
    key : int or tuple
        What it is among the clocks of streams.
    """

    def __init__(self, name: str = "stream", handle: int = 0, key: Key = DEFAULT) -> None:
        self._name = name
        self.handle = handle
        self.key = key

    def __int__(self) -> int:
        return self.handle

    def __bool__(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Wait for the stream's work."""
        order.wait_for_stream(self.key)

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait for the stream's work at the end of a ``with`` block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[[Any, int, Any], object], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)``, at once."""
        # A callback tells the host that the work is done, by means that are not seen.
        self.synchronize()
        callback(self, 0, arg)

    def async_done(self) -> asyncio.Future[Stream]:
        """Return a future that is done."""
        self.synchronize()
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
        self._clock: Clock = {}

    def record(self, stream: Any = 0) -> None:
        """Note the time, and what a stream has to do before."""
        self._time = time.perf_counter()
        self._clock = order.recorded(key_of(stream))

    def query(self) -> bool:
        """Return whether all work before the event is done: it is."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait for the work before the event."""
        order.wait_for_event(self._clock)

    def wait(self, stream: Any = 0) -> None:
        """Let a stream wait for the event."""
        order.let_wait(key_of(stream), self._clock)

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


_numbers = count(1)


def key_of(stream: Any, bound: Any = 0) -> Key:
    """Return what a stream is among the clocks of streams.

    Parameters
    ----------
    stream : Stream or 0
        As a call was given it.
    bound : Stream or 0
        Of the array that is used, which a call without a stream takes.
    """
    chosen = stream or bound
    # What orders the work of another library's streams is not seen: they are taken as the default stream.
    return chosen.key if isinstance(chosen, Stream) else DEFAULT


def name_of(stream: Any, bound: Any = 0) -> str:
    """Return what reports call the stream that `key_of` takes."""
    chosen = stream or bound
    return repr(chosen) if isinstance(chosen, Stream) else "the default stream"


def stream() -> Stream:
    """Return a new stream."""
    number = next(_numbers)
    return Stream(f"stream {number}", key=number)


def default_stream() -> Stream:
    """Return the default stream."""
    return Stream("default stream")


def legacy_default_stream() -> Stream:
    """Return the legacy default stream."""
    return Stream("legacy default stream", 1)


def per_thread_default_stream() -> Stream:
    """Return the default stream of the calling thread."""
    return Stream("per-thread default stream", 2, ("thread", get_ident()))


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
    order.wait_for_all()
