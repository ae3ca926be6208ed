"""What launches in flight use stays alive until the device is done with it.

Memory that is freed while a kernel uses it is given to the next allocation, which the kernel then overwrites.  The
owners of a launch's arguments are therefore held with its event, and let go by a later launch, by a wait, or at exit.
No callback of the driver takes part: it would need the GIL, and may call nothing of CUDA's.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from typing import Any

from kapi_runtime.cuda.events import CudaEvent, is_passed
from kapi_runtime.cuda.queues import CudaQueue

__all__ = ["finish", "in_flight", "keep", "release"]

_LOOK_AFTER = 16  # launches on one queue, after which those that are done are let go

_lock = threading.Lock()
_pending: dict[CudaQueue, deque[tuple[CudaEvent, Any]]] = {}
_parent_s: list[Any] = []


def keep(queue: CudaQueue, event: CudaEvent, owners: Any) -> None:
    """Hold `owners` until `event` of `queue` is passed, and let go of what is done."""
    done: list[Any] = []
    with _lock:
        launches = _pending.get(queue)
        if launches is None:
            launches = _pending[queue] = deque()
        launches.append((event, owners))
        if len(launches) % _LOOK_AFTER == 0:
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
    del done


def in_flight() -> int:
    """Return how many launches are held; some may be complete already."""
    with _lock:
        return sum(map(len, _pending.values()))


def finish(device: Any = None) -> None:
    """Wait for the launches that are held, on one device or on all, and let go of what they use."""
    with _lock:
        last = [launches[-1][0] for queue, launches in _pending.items() if launches and device in (None, queue.device)]
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
    except Exception:  # a lost context was told of where it was met, and no owner can be given back
        _pending.clear()


def _after_fork_in_child() -> None:
    """The parent's launches are its own: the child neither waits for them, nor destroys what they use."""
    global _lock, _pending
    _lock = threading.Lock()
    _parent_s.append(_pending)
    _pending = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
