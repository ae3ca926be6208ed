"""Events and times of a platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Profiler", "Times"]


@dataclass(frozen=True, slots=True)
class Times:
    """The times at which work was submitted, began and ended, in nanoseconds of one clock for each device."""

    submit: int
    start: int
    end: int


class Profiler(ABC):
    """Marks points of a queue, waits for them, and measures between them."""

    @abstractmethod
    def mark(self, queue: Any, timing: bool) -> tuple[Any, Any]:
        """Set a mark after all work that was submitted to a `Queue` so far.

        Parameters
        ----------
        queue : Queue
            Where.
        timing : bool
            Whether the device takes the time when the mark is passed.

        Returns
        -------
        event, timed : object
            The native event that is done when the mark is passed, and that which has its time, for `elapsed_ns`; None
            without timing.

        Raises
        ------
        LimitError
            If the device takes no times.
        """

    @abstractmethod
    def hold(self, queue: Any, event: Any) -> None:
        """Let all that kapi and others submit to a `Queue` from now on wait for a native event; the host does not."""

    @abstractmethod
    def elapsed_ns(self, start: Any, end: Any) -> int:
        """Return the time between two marks of one device that were timed and are passed, in ns."""

    def is_done(self, event: Any) -> bool:
        """Return whether the work of a native event is done; waits for nothing."""
        return bool(event.is_done)

    def wait_for(self, work: Any) -> None:
        """Wait for a native event or for all work of a queue, without the GIL, so that Ctrl-C is heard."""
        work.wait()

    @abstractmethod
    def submit_timed(self, queue: Any, before: Sequence[Any], run: Callable[[Any, list[Any]], Any]) -> Any:
        """Submit work so that the device takes its times, ordered as if it were submitted to `queue`.

        Parameters
        ----------
        queue : object
            The queue that the work belongs to.
        before : sequence
            Native events that it waits for.
        run : callable
            ``run(queue, events)`` submits the work to the queue that it is given, after the events that it is given,
            and returns its event.

        Returns
        -------
        object
            An event that `times` takes.
        """

    @abstractmethod
    def times(self, event: Any) -> Times:
        """Return the times of work that `submit_timed` submitted; waits for it."""
