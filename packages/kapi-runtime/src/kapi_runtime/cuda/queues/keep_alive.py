"""Keep alive what launches in flight use, until the device is done with it.

Memory that is freed while a kernel uses it is given to the next allocation, which the kernel then overwrites.  The
owners of a launch's arguments are therefore held with its event, and let go by a later launch, by a wait, or at exit.
No callback of the driver takes part: it would need the GIL, and may call nothing of CUDA's.

Setting an event costs a fifth of a launch.  Launches by a plan are therefore numbered on a `Timeline`, and an event is
set after some of them only, or when somebody asks: it tells of all launches up to its number.
"""

from __future__ import annotations

import atexit
import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from kapi_runtime.cuda.queues.events import CudaEvent, is_passed, recorded_event
from kapi_runtime.platform.handles import EventStatus, HostEvent
from kapi_sim.forks import in_children, reinit_after_fork

if TYPE_CHECKING:
    from kapi_runtime.cuda.queues.queue import CudaQueue

__all__ = ["LOOK_AFTER", "PlannedLaunch", "Timeline", "finish", "in_flight", "keep", "release", "timeline_of"]

LOOK_AFTER = 16
"""Launches on one queue, after which those that are done are let go."""

_lock = reinit_after_fork(threading.Lock())
_pending: dict[CudaQueue, deque[tuple[CudaEvent, Any]]] = {}
_timelines: dict[CudaQueue, Timeline] = {}
_others: list[Timeline] = []
_parent_s: list[Any] = []


class Timeline:
    """The launches by plans on one queue, numbered in the order in which they were submitted.

    Parameters
    ----------
    queue : CudaQueue
        Its stream must be lasting: an event may be set in it whenever somebody asks.
    """

    __slots__ = ("_launches", "_lock", "_marks", "_numbers", "is_held", "passed", "queue")

    def __init__(self, queue: CudaQueue) -> None:
        self.queue = queue
        self.passed = -1
        self.is_held = False
        self._numbers = itertools.count()
        self._launches: deque[tuple[int, Any]] = deque()
        self._marks: deque[tuple[int, CudaEvent]] = deque()
        self._lock = reinit_after_fork(threading.Lock())

    def add(self, owners: Any, look_after: int = LOOK_AFTER) -> PlannedLaunch:
        """Hold what the launch uses that was submitted just now, and return its event.

        Each so many launches, those that are done are let go.
        """
        # Numbered after it was submitted: an event that is set later is after all launches up to the number.
        number = next(self._numbers)
        self._launches.append((number, owners))
        if not self.is_held:
            hold_timeline(self)
        if number % look_after == look_after - 1:
            self.mark(number)
            self.tidy()
        return PlannedLaunch(self, number)

    def mark(self, number: int) -> CudaEvent:
        """Return an event that is passed when the launch of a number is done, and perhaps later ones."""
        with self._lock:
            for last, event in self._marks:
                if last >= number:
                    return event
            launches = list(self._launches)
            newest = max(number, launches[-1][0]) if launches else number
            event = recorded_event(self.queue.device, self.queue.handle)
            self._marks.append((newest, event))
            return event

    def tidy(self) -> None:
        """Let go of what the launches use that are done; waits for none."""
        number = self.last
        if number is not None and not self._marks:
            self.mark(number)
        done: list[Any] = []
        with self._lock:
            while self._marks and is_passed(self._marks[0][1]):
                self.passed = max(self.passed, self._marks.popleft()[0])
            while self._launches and self._launches[0][0] <= self.passed:
                done.append(self._launches.popleft())
        del done

    @property
    def last(self) -> int | None:
        """The number of the last launch that is held, or None."""
        try:
            return self._launches[-1][0]
        except IndexError:
            return None

    def __len__(self) -> int:
        return len(self._launches)


class PlannedLaunch(CudaEvent, HostEvent):
    """The event of a launch by a plan, for host and device: set in the stream when it is asked for.

    It may be passed a little later than the launch is done, if more was submitted since.
    """

    __slots__ = ("_event", "_number", "_timeline")

    is_timed = False

    def __init__(self, timeline: Timeline, number: int) -> None:
        self._timeline, self._number = timeline, number
        self._event: CudaEvent | None = None

    @property
    def device_event(self) -> CudaEvent:
        """Itself, as that of the device."""
        return self

    @property
    def status(self) -> EventStatus:
        """Progress of the kernel, as far as the driver says."""
        return self.execution_status

    @property
    def queue(self) -> CudaQueue:
        """The queue that it was submitted to."""
        return self._timeline.queue

    @property
    def device(self) -> Any:  # type: ignore[override]  # that of its queue
        return self._timeline.queue.device

    @property
    def native(self) -> Any:  # set when it is asked for
        if self._event is None:
            self._event = self._timeline.mark(self._number)
        return self._event.native

    @property
    def is_done(self) -> bool:
        return self._number <= self._timeline.passed or self._is_passed()

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        if self._number > self._timeline.passed:
            CudaEvent.wait(self)
        release()


def timeline_of(queue: CudaQueue) -> Timeline:
    """Return the timeline of a queue; plans keep it."""
    with _lock:
        found = _timelines.get(queue)
    return Timeline(queue) if found is None else found


def hold_timeline(timeline: Timeline) -> None:
    """Let `release` and `finish` know of a timeline, which has launches in flight."""
    with _lock:
        timeline.is_held = True
        # Two plans of one queue may each have made one: both are held.
        key = timeline.queue
        if _timelines.setdefault(key, timeline) is not timeline:
            _others.append(timeline)


def keep(queue: CudaQueue, event: CudaEvent, owners: Any) -> None:
    """Hold `owners` until `event` of `queue` is passed, and let go of what is done."""
    done: list[Any] = []
    with _lock:
        launches = _pending.get(queue)
        if launches is None:
            launches = _pending[queue] = deque()
        launches.append((event, owners))
        if len(launches) % LOOK_AFTER == 0:
            done = _take_first(launches)
    # Owners are destroyed here, without the lock: their destructors may launch, or free memory of the device.
    del done


def release() -> None:
    """Let go of the owners of all launches that are done; waits for none."""
    done: list[Any] = []
    with _lock:
        for queue, launches in list(_pending.items()):
            done += _take_first(launches)
            if not launches:
                del _pending[queue]
        timelines = [*_timelines.values(), *_others]
    del done
    for timeline in timelines:
        timeline.tidy()


def in_flight() -> int:
    """Return how many launches are held; some may be complete already."""
    with _lock:
        timelines = [*_timelines.values(), *_others]
        return sum(map(len, _pending.values())) + sum(map(len, timelines))


def finish(device: Any = None) -> None:
    """Wait for the launches that are held, on one device or on all, and let go of what they use."""
    with _lock:
        last = [launches[-1][0] for queue, launches in _pending.items() if launches and device in (None, queue.device)]
        timelines = [each for each in (*_timelines.values(), *_others) if device in (None, each.queue.device)]
    for timeline in timelines:
        number = timeline.last
        if number is not None:
            last.append(timeline.mark(number))
    for event in last:
        event.wait()
    release()


def _take_first(launches: deque[tuple[CudaEvent, Any]]) -> list[Any]:
    """Take what is done from the front of one queue's launches; the caller holds the lock."""
    done = []
    while launches and is_passed(launches[0][0]):
        done.append(launches.popleft())
    return done


@atexit.register
def _finish_at_exit() -> None:
    try:
        finish()
    except Exception:  # a lost context was reported where it was found, and no owner can be given back
        _pending.clear()
        _timelines.clear()
        _others.clear()


def _after_fork_in_child() -> None:
    """The parent's launches are its own: the child neither waits for them, nor destroys what they use."""
    global _pending, _timelines, _others
    _parent_s.append((_pending, _timelines, _others))
    _pending, _timelines, _others = {}, {}, []


in_children(_after_fork_in_child)
