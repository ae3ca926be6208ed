"""Events of the CPU: done when the work before them is, with its times."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from kapi_runtime.platform.handles import EventStatus, HostEvent
from kapi_sim.errors import ForkError, KernelLaunchError
from kapi_sim.forks import in_children

__all__ = ["DONE", "CpuEvent", "CpuHostEvent", "Running", "native_events", "wait_for_lock"]

Running = dict[Any, None]
"""Launches that their callers run by themselves; its keys alone count."""

_LONGEST_WAIT = 0.05 if sys.platform == "win32" else -1.0
"""Seconds for which a lock is waited for at a time: on Windows, Ctrl-C is not heard meanwhile."""

_process = 0


class CpuEvent(HostEvent):
    """The event of work on a queue, for the host and for other work.

    Attributes
    ----------
    is_done : bool
        Whether the work has ended.
    is_running : bool
        Whether it has begun.
    submitted, started, ended : int
        When that was, in nanoseconds of `time.perf_counter_ns`; 0 until then.
    error : BaseException or None
        What the work raised.
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

        Raises
        ------
        ForkError
            In a process that was forked before the work had ended: it is the parent's.
        """
        if not self.is_done:
            if self._process != _process:
                raise ForkError(
                    f"an event must be waited for by the process that launched, got process {os.getpid()}, which was "
                    "forked while the work ran: wait before the fork",
                    code="forked-process",
                )
            wait_for_lock(self._lock)
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


class CpuHostEvent(HostEvent):
    """The host's side of a launch that has more to do when it is done.

    Parameters
    ----------
    device_event : CpuEvent
        The kernel's own event.
    release : callable
        Called after each wait.
    """

    __slots__ = ("_release", "device_event")

    def __init__(self, device_event: CpuEvent, release: Callable[[], None]) -> None:
        self.device_event, self._release = device_event, release

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        self.device_event.wait()
        self._release()

    @property
    def status(self) -> EventStatus:
        """The progress of the kernel; waits for nothing."""
        event: CpuEvent = self.device_event
        return event.status


def wait_for_lock(lock: Any) -> None:
    """Acquire a lock, hearing Ctrl-C."""
    while not lock.acquire(timeout=_LONGEST_WAIT):
        pass


def native_events(events: Sequence[Any]) -> list[CpuEvent]:
    """Return the event of each that a launch is to wait for.

    Raises
    ------
    KernelLaunchError
        If one is something else, such as an event of another platform.
    """
    found: list[CpuEvent] = []
    for event in events:
        native = event if isinstance(event, CpuEvent) else getattr(event, "device_event", event)
        if native is None:
            continue  # a mark that was not recorded is waited for by nobody
        if not isinstance(native, CpuEvent):
            raise KernelLaunchError(
                f"an event that a launch on the CPU waits for must be one of the CPU, got {type(event).__name__}: wait "
                "for it on the host, or pass what call_kernel_async returned",
                code="no-event",
            )
        found.append(native)
    return found


def _after_fork_in_child() -> None:
    global _process
    _process += 1


in_children(_after_fork_in_child)
