"""Interleaved timing: every candidate once, then all again, so that drift meets all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Timing", "interleaved"]


@dataclass(frozen=True)
class Timing:
    """Times of one candidate, in seconds.

    Attributes
    ----------
    first : float
        Its first call, compilation included.
    median, fastest : float
        Of the calls after it.
    """

    first: float
    median: float
    fastest: float


def interleaved(candidates: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time each candidate `rounds` times, in turn, after one call that is timed apart."""
    first = {name: _once(call) for name, call in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            times[name].append(_once(call))
    return {name: Timing(first[name], statistics.median(each), min(each)) for name, each in times.items()}


def _once(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
