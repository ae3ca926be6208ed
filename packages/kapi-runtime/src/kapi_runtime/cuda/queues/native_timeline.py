"""A timeline for native code, which holds what launches use and makes their events as `Timeline.add` does."""

from __future__ import annotations

from functools import cache
from typing import Any

from kapi_runtime.cuda.native.array_tables import offset_of, word_at
from kapi_runtime.cuda.native.structures import CudaLaunch
from kapi_runtime.cuda.queues.keep_alive import PlannedLaunch, Timeline

__all__ = ["knows_events", "put_timeline"]


def knows_events() -> bool:
    """Whether native code can make events of launches."""
    return _slots() is not None


def put_timeline(launch: CudaLaunch, timeline: Timeline, look_after: int) -> tuple[Any, ...]:
    """Fill in where native code holds a launch; return what must be kept.  `knows_events` was asked before.

    - `timeline`: that of its queue.
    - `look_after`: launches after which those that are done are let go.
    """
    slots, look = _slots(), timeline.look
    assert slots is not None
    launch.timeline, launch.look, launch.event_type = id(timeline), id(look), id(PlannedLaunch)
    launch.batch_of_timeline, launch.batch_of_event = slots
    launch.look_after = look_after
    return timeline, look


@cache
def _slots() -> tuple[int, int] | None:
    """Offsets of the batch in a timeline and in an event; None if they are unknown."""
    batches: list[Any] = [object(), object()]
    timelines, events = [Timeline(batch) for batch in batches], [PlannedLaunch(batch) for batch in batches]
    for timeline, batch in zip(timelines, batches, strict=True):
        timeline.queue, timeline.batch = None, batch  # type: ignore[assignment]
    found = [_slot(timelines, batches), _slot(events, batches)]
    return None if None in found else (found[0], found[1])  # type: ignore[return-value]


def _slot(objects: list[Any], batches: list[Any]) -> int | None:
    pairs = list(zip(objects, batches, strict=True))
    return offset_of(pairs, type(objects[0]).__basicsize__, lambda pair, at: word_at(id(pair[0]) + at) == id(pair[1]))
