"""Waits for all work of a queue, one thread at a time, and for that of an array's queue; needs no Numba.

Where two threads let Intel's runtime for CPUs finish a queue at once, it may end the process by a segmentation fault.
A barrier would do without, but does not wait for work that a host task still holds back.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from kapi_sim.forks import reinit_after_fork
from kapi_types.usm.structures import array_fields

__all__ = ["finish", "queue_of", "wait_for"]

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


def queue_of(array: Any) -> Any:
    """The queue of an array: its attribute `sycl_queue` where it has one, else what the protocol names.

    Raises `RuntimeError` if compiled code asks on behalf of an array that it has lost track of, as Numba's parallel
    loops have.
    """
    if array is None:
        raise RuntimeError("queue of an array must be asked for outside of parallel loops, got an array inside of one")
    try:
        return array.sycl_queue
    except AttributeError:
        return array_fields(array).owner


def wait_for(array: Any) -> None:
    """Wait until nothing that was submitted to the array's queue is left, so that the host may touch its memory.

    What the protocol names may be no queue, but a context, a text or a capsule; then there is nothing to wait for, and
    the library that made the array has to see to it.
    """
    finish(queue_of(array))


@cache
def _of_dpctl(kind: type) -> Any:
    """The class of dpctl's from which a queue has what it does; None if there is none."""
    return next((each for each in kind.__mro__ if each.__module__.partition(".")[0] == "dpctl"), None)
