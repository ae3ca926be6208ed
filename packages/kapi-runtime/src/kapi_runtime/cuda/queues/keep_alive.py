"""Keep alive what launches in flight use, until the device is done with it.

Memory that is freed while a kernel uses it is given to the next allocation, which the kernel then overwrites.  The
owners of a launch's arguments are therefore held with its event, and let go by a later launch, by a wait, or at exit.
No callback of the driver takes part: it would need the GIL, and may call nothing of CUDA's.

Setting an event costs a fifth of a launch.  Launches by a plan are therefore put into batches on a `Timeline`, and an
event is set after a batch only, when it is full or somebody asks: it tells of all launches in the batch.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from kapi_runtime.cuda.queues.events import CudaEvent, is_passed, recorded_event
from kapi_runtime.platform.handles import EventStatus, HostEvent
from kapi_sim.forks import in_children, reinit_after_fork

if TYPE_CHECKING:
    from kapi_runtime.cuda.queues.queue import CudaQueue

__all__ = ["LOOK_AFTER", "Batch", "PlannedLaunch", "Timeline", "finish", "in_flight", "keep", "release", "timeline_of"]

LOOK_AFTER = 16
"""Launches on one queue, after which those that are done are let go."""

_lock = reinit_after_fork(threading.Lock())
_pending: dict[CudaQueue, deque[tuple[CudaEvent, Any]]] = {}
_timelines: dict[CudaQueue, Timeline] = {}
_parent_s: list[Any] = []


class Batch(list[Any]):
    """Owners of the arguments of consecutive launches on one queue, and the event that is set after them.

    - `timeline`: that of the queue.
    - `event`: None until it is set; the timeline has another batch for launches by then.
    - `is_passed`: whether the event has been seen to be passed.
    """

    __slots__ = ("event", "is_passed", "timeline")

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self.timeline, self.is_passed = timeline, False
        self.event: CudaEvent | None = None


class Timeline:
    """The launches by plans on one queue, in batches.

    - `queue`: its stream must be lasting: an event may be set in it whenever somebody asks.
    - `batch`: where a launch is put once it is submitted.
    """

    __slots__ = ("_closed", "_lock", "batch", "queue")

    def __init__(self, queue: CudaQueue) -> None:
        self.queue = queue
        self.batch = Batch(self)
        self._closed: deque[Batch] = deque()
        self._lock = reinit_after_fork(threading.Lock())

    def add(self, owners: Any, look_after: int = LOOK_AFTER) -> PlannedLaunch:
        """Hold what the launch uses that was submitted just now, and return its event.

        Each so many launches, those that are done are let go.
        """
        # Put into a batch after it was submitted: the event of the batch is set later.
        batch = self.batch
        batch.append(owners)
        if len(batch) >= look_after:
            self.look()
        return PlannedLaunch(batch)

    def look(self) -> None:
        """Set an event after all launches, and let go of what is done."""
        self.close(self.batch)
        self.tidy()

    def close(self, batch: Batch) -> CudaEvent:
        """Return the event that is passed when all launches of a batch are done, and perhaps later ones."""
        with self._lock:
            if batch is self.batch:
                self.batch = Batch(self)
                self._closed.append(batch)
            return self._event_of(batch)

    def tidy(self) -> None:
        """Let go of what the launches use that are done; waits for none."""
        batch = self.batch
        if batch and not self._closed:
            self.close(batch)
        done: list[Batch] = []
        with self._lock:
            while self._closed and is_passed(self._event_of(self._closed[0])):
                done.append(self._closed.popleft())
                done[-1].is_passed = True
        for batch in done:  # without the lock: destructors may launch
            batch.clear()

    @property
    def last(self) -> Batch | None:
        """The last batch with a launch that is held, or None."""
        batch = self.batch
        if batch:
            return batch
        try:
            return self._closed[-1]
        except IndexError:
            return None

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, (*self._closed, self.batch)))

    def _event_of(self, batch: Batch) -> CudaEvent:
        if batch.event is None:
            batch.event = recorded_event(self.queue.device, self.queue.handle)
        return batch.event


class PlannedLaunch(CudaEvent, HostEvent):
    """The event of a launch by a plan, for host and device: set in the stream when it is asked for.

    It may be passed a little later than the launch is done, if more was submitted since.
    """

    __slots__ = ("_batch",)

    is_timed = False

    def __init__(self, batch: Batch) -> None:  # native code makes it as well
        self._batch = batch

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
        return self._batch.timeline.queue

    @property
    def device(self) -> Any:  # type: ignore[override]  # that of its queue
        return self.queue.device

    @property
    def native(self) -> Any:  # set when it is asked for
        return self._batch.timeline.close(self._batch).native

    @property
    def is_done(self) -> bool:
        return self._batch.is_passed or self._is_passed()

    def wait(self) -> None:
        """Wait for the kernel, and let go of its arguments.  Other threads run meanwhile, and Ctrl-C is heard."""
        if not self._batch.is_passed:
            CudaEvent.wait(self)
        release()


def timeline_of(queue: CudaQueue) -> Timeline:
    """Return the timeline of a queue, which `release` and `finish` know of."""
    with _lock:
        found = _timelines.get(queue)
        if found is None:
            found = _timelines[queue] = Timeline(queue)
        return found


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
        timelines = list(_timelines.values())
    del done
    for timeline in timelines:
        timeline.tidy()


def in_flight() -> int:
    """Return how many launches are held; some may be complete already."""
    with _lock:
        timelines = list(_timelines.values())
        return sum(map(len, _pending.values())) + sum(map(len, timelines))


def finish(device: Any = None) -> None:
    """Wait for the launches that are held, on one device or on all, and let go of what they use."""
    with _lock:
        last = [launches[-1][0] for queue, launches in _pending.items() if launches and device in (None, queue.device)]
        timelines = [each for each in _timelines.values() if device in (None, each.queue.device)]
    for timeline in timelines:
        batch = timeline.last
        if batch is not None:
            last.append(timeline.close(batch))
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


def _after_fork_in_child() -> None:
    """The parent's launches are its own: the child neither waits for them, nor destroys what they use."""
    global _pending, _timelines
    _parent_s.append((_pending, _timelines))
    _pending, _timelines = {}, {}


in_children(_after_fork_in_child)
