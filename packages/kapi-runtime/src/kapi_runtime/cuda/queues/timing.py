"""Times of work on CUDA devices, by events that the device stamps.

The driver tells only the time between two events.  A reference event for each device, of which the host's time is
known, turns that into a time of a clock; it is set anew from time to time, since the driver's difference has few
digits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.queues.events import CudaEvent, RecordedEvent, recorded_event
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.platform.interface import Times
from kapi_sim.forks import reinit_after_fork

__all__ = ["TimedWork", "submit_timed", "times"]

_RENEWED_AFTER = 10.0  # seconds: a difference of float32 milliseconds is then right to a microsecond

_lock = reinit_after_fork(threading.Lock())
_references: dict[int, tuple[CudaEvent, int]] = {}


class TimedWork(RecordedEvent):
    """The event of work that the device times: its end, with its beginning beside it.

    - `start`: set before the work.
    - `reference`: a mark before it, and when that was passed, in ns.
    - `submitted`: when the work was submitted, in ns.
    """

    __slots__ = ("last", "reference", "start", "submitted")

    def __init__(
        self, queue: CudaQueue, start: CudaEvent, last: CudaEvent, reference: tuple[CudaEvent, int], submitted: int
    ) -> None:
        super().__init__(queue.device, True)
        self.start, self.last, self.reference, self.submitted = start, last, reference, submitted


def submit_timed(
    queue: CudaQueue, before: Sequence[CudaEvent], run: Callable[[Any, list[Any]], CudaEvent]
) -> TimedWork:
    """Submit work between two marks that the device stamps."""
    from kapi_runtime.cuda.devices import driver

    reference = _reference(queue)
    submitted = time.perf_counter_ns()
    barrier = queue.submit_barrier(before)
    start = recorded_event(queue.device, queue.handle, is_timed=True)
    work = TimedWork(queue, start, barrier, reference, submitted)
    work.last = run(queue, [])
    with queue.device.entered():
        driver.call("cuEventRecord", work.native, queue.handle)
    return work


def times(work: TimedWork) -> Times:
    """Return when work was submitted, began and ended; waits for it."""
    work.wait()
    event, base = work.reference
    start = base + event.elapsed_ns(work.start)
    return Times(min(work.submitted, start), start, start + work.start.elapsed_ns(work))


def _reference(queue: CudaQueue) -> tuple[CudaEvent, int]:
    device: CudaDevice = queue.device
    with _lock:
        found = _references.get(device.ordinal)
        if found is None or time.perf_counter_ns() - found[1] > _RENEWED_AFTER * 1e9:
            event = recorded_event(device, queue.handle, is_timed=True)
            event.wait()
            found = _references[device.ordinal] = event, time.perf_counter_ns()
        return found
