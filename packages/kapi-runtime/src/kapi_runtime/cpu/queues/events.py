"""Events of the CPU: done when the work before them is, with its times."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from kapi_runtime.platform.handles import EventStatus, HostEvent, events_of
from kapi_sim.errors import ForkError
from kapi_sim.forks import in_children

__all__ = ["DONE", "CpuEvent", "Running", "native_events", "wait_for_lock"]

Running = dict[Any, None]
"""Launches that their callers run by themselves; its keys alone count."""

_LONGEST_WAIT = 0.05
"""Seconds for which a lock is waited for at a time.

Ctrl-C is not heard meanwhile if it comes as the wait begins, and on Windows never.
"""

_process = 0


class CpuEvent(HostEvent):
    """The event of work on a queue, for the host and for other work.

    - `is_done`: whether the work has ended.
    - `is_running`: whether it has begun.
    - `submitted`, `started`, `ended`: when that was, in nanoseconds of `time.perf_counter_ns`; 0 until then.
    - `error`: what the work raised.
    """

    __slots__ = ("__weakref__", "_lock", "_process", "ended", "error", "is_done", "started", "submitted")

    def __init__(self) -> None:
        self.is_done = False
        self.submitted, self.started, self.ended = time.perf_counter_ns(), 0, 0
        self.error: BaseException | None = None
        self._process = _process
        self._lock = threading.Lock()
        self._lock.acquire()

    @property
    def device_event(self) -> CpuEvent:
        """Itself: the CPU's work is the host's."""
        return self

    @property
    def is_running(self) -> bool:
        return bool(self.started) and not self.is_done

    @property
    def status(self) -> EventStatus:
        """The progress of the work; waits for nothing."""
        return (
            EventStatus.complete if self.is_done else EventStatus.running if self.is_running else EventStatus.submitted
        )

    execution_status = status

    def finish(self, error: BaseException | None = None) -> None:
        """Let all who wait go on; for the thread that did the work."""
        self.error, self.ended = error, time.perf_counter_ns()
        self.started = self.started or self.ended
        self.is_done = True
        self._lock.release()

    def wait(self) -> None:
        """Wait until the work has ended.  Other threads run meanwhile, and Ctrl-C is heard.

        Raises `ForkError` in a process that was forked before the work had ended: it is the parent's.
        """
        if not self.is_done:
            if self._process != _process:
                raise ForkError(
                    f"an event must be waited for by the process that launched, got process {os.getpid()}, which was "
                    "forked while the work ran: wait before the fork",
                    code="forked-process",
                )
            while not self.is_done:  # asked again and again, for Ctrl-C may keep another thread from its release
                if self._lock.acquire(timeout=_LONGEST_WAIT):
                    self._lock.release()
        if self.error is not None:
            raise self.error


class _Done(CpuEvent):
    """The event of work that had ended before anybody could ask."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.finish()

    def wait(self) -> None:
        """Return at once."""


DONE = _Done()
"""The event of launches that the calling thread itself has run."""


def wait_for_lock(lock: Any) -> None:
    """Acquire a lock, open to Ctrl-C."""
    while not lock.acquire(timeout=_LONGEST_WAIT):
        pass


def native_events(events: Sequence[Any]) -> list[CpuEvent]:
    """Return the CPU's event of each event that a launch is to wait for; see `Launcher.native_events`."""
    return events_of(CpuEvent, "the CPU", events)


def _after_fork_in_child() -> None:
    global _process
    _process += 1


in_children(_after_fork_in_child)
