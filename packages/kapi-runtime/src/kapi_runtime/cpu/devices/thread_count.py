"""The number of threads that a launch is split over."""

from __future__ import annotations

import os

from kapi_sim.environment_variables import NUMBA_NUM_THREADS
from kapi_sim.errors import LimitError
from kapi_sim.short_repr import short_repr

__all__ = ["thread_count"]


def thread_count() -> int:
    """Return the number of threads: ``NUMBA_NUM_THREADS``, or as many as the process may use processors.

    Raises `LimitError` if the variable is set, and is no positive integer.
    """
    global _found
    if _found is None:
        _found = _counted()
    return _found


_found: int | None = None


def _counted() -> int:
    text = NUMBA_NUM_THREADS.text
    if text:
        if not text.isdigit() or not int(text):
            raise LimitError(
                f"{NUMBA_NUM_THREADS.name} must be a positive integer, the number of threads, got {short_repr(text)}: "
                "unset it for as many as there are processors",
                code="thread-count",
            )
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
