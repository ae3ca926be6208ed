"""The time of each part of a function, taken while `explain` runs it: then each part waits for its own work."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kapi_numba_offload.libraries.arrays import is_device_array, queue_of
from kapi_sim.finishing import finish

__all__ = ["timed", "timing"]

_state = threading.local()


class PartTimes(dict[int, tuple[int, float]]):
    """Runs and seconds of each part that ran, by the identity of the part."""


@contextmanager
def timing() -> Iterator[PartTimes]:
    """Take the times of what this thread runs."""
    _state.times = times = PartTimes()
    try:
        yield times
    finally:
        del _state.times


def timed(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let calls of a part's method be timed."""

    @functools.wraps(method)
    def call(part: Any, *args: Any, **keywords: Any) -> Any:
        times: PartTimes | None = getattr(_state, "times", None)
        if times is None:
            return method(part, *args, **keywords)
        _wait(args)  # for what came before
        start = time.perf_counter()
        result = method(part, *args, **keywords)
        _wait((*args, result))
        runs, seconds = times.get(id(part), (0, 0.0))
        times[id(part)] = runs + 1, seconds + time.perf_counter() - start
        return result

    return call


def _wait(values: Sequence[Any]) -> None:
    for each in values:
        if is_device_array(each):
            finish(queue_of(each))
        elif isinstance(each, (tuple, list)):
            _wait(each)
