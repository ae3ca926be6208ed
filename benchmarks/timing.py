"""Interleaved timing: every candidate once, then all again, so that drift meets all alike.

A short candidate is called once more before it is timed, in each turn. The first call after another library's finds its
threads asleep and its code out of the caches, whose cost is neither's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Timing", "interleaved"]

_LEAST_ROUNDS = 3
_SHORT = 0.05  # seconds


@dataclass(frozen=True)
class Timing:
    """Times of one candidate, in seconds.

    Attributes
    ----------
    first : float
        Its first call, compilation included.
    median, fastest : float
        Of the calls after it.
    rounds : int
        How many those were.
    """

    first: float
    median: float
    fastest: float
    rounds: int


def interleaved(
    candidates: Mapping[str, Callable[[], object]],
    rounds: int,
    seconds: float = 5.0,
    most: int = 60,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time each candidate in turn, after two calls of it: the first is timed apart, the second warms.

    Parameters
    ----------
    candidates : mapping of str to callable
        Each call does the work once and waits for it.
    rounds : int
        How often each is timed, at least.
    seconds : float
        A candidate that has used up this much takes part in no further round, once it has had three; while time is
        left, quick candidates are timed beyond `rounds`.
    most : int
        No candidate is timed more often.
    clock : callable
        What is read before and after; `time.process_time` counts all threads of this process, and nobody else's.
    """
    first = {name: _once(call, clock) for name, call in candidates.items()}
    for name, call in candidates.items():
        if first[name] < seconds:
            call()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    while True:
        due = [name for name in candidates if _is_due(times[name], rounds, seconds, most)]
        if not due:
            break
        for name in due:
            if first[name] < _SHORT or (times[name] and times[name][-1] < _SHORT):
                candidates[name]()
            times[name].append(_once(candidates[name], clock))
    return {name: Timing(first[name], statistics.median(each), min(each), len(each)) for name, each in times.items()}


def _is_due(times: list[float], rounds: int, seconds: float, most: int) -> bool:
    if len(times) < _LEAST_ROUNDS:
        return True
    used = sum(times)
    return used < seconds and len(times) < (rounds if used > seconds / 10 else most)


def _once(call: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start
