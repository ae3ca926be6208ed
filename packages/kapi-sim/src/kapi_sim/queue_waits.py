"""Waits for all work of a queue, one thread at a time.

Where two threads let Intel's runtime for CPUs finish a queue at once, it may end the process by a segmentation fault.
A barrier would do without, but does not wait for work that a host task still holds back.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from kapi_sim.forks import reinit_after_fork

__all__ = ["finish"]

_locks: dict[int, threading.Lock] = {}  # by the hash of a queue, which is that of each object for it


def finish(queue: Any) -> None:
    """Wait until nothing that was submitted to a queue is left.

    - `queue`: of anything else, its `wait` is called; what has none needs no waiting.
    """
    kind = _of_dpctl(queue.__class__)
    if kind is not None:
        with _locks.setdefault(hash(queue), reinit_after_fork(threading.Lock())):
            kind.wait(queue)
    elif hasattr(queue, "wait"):
        queue.wait()


@cache
def _of_dpctl(kind: type) -> Any:
    """The class of dpctl's from which a queue has what it does; None if there is none."""
    return next((each for each in kind.__mro__ if each.__module__.partition(".")[0] == "dpctl"), None)
