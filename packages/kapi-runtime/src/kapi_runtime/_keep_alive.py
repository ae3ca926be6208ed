"""What launches in flight use stays alive until the device is done with it.

Memory that is freed while a kernel uses it is given to the next allocation, which the kernel then
overwrites.  The owners of a launch's arguments are therefore held with its event, and let go by a later
launch, by a wait, or at exit. No thread, and no callback of the device, takes part: a callback would need the
GIL, and dead-lock with whoever waits for the device while holding it.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from typing import Any

import dpctl

from kapi_runtime._waiting import wait_for

__all__ = ["in_flight", "keep", "release", "wait"]

_COMPLETE = dpctl.event_status_type.complete

_lock = threading.Lock()
_pending: dict[Any, deque[tuple[Any, Any]]] = {}


def keep(queue: Any, event: Any, owners: Any) -> None:
    """Hold `owners` until `event` of `queue` is complete, and let go of what is done.

    Parameters
    ----------
    queue : dpctl.SyclQueue
        Where the work was submitted.
    event : dpctl.SyclEvent
        The work.
    owners : object
        What it uses.
    """
    with _lock:
        _pending.setdefault(queue, deque()).append((event, owners))
        done = _take_complete()
    # Owners are destroyed here, without the lock: their destructors may launch, or free memory of the device.
    del done


def release() -> None:
    """Let go of the owners of all launches that are done; waits for none."""
    with _lock:
        done = _take_complete()
    del done


def in_flight() -> int:
    """Return how many launches are held; some may be complete already."""
    with _lock:
        return sum(map(len, _pending.values()))


def _take_complete() -> list[Any]:
    """Take what is done from the front of each queue's launches; the caller holds the lock."""
    done = []
    for queue, launches in list(_pending.items()):
        while launches and launches[0][0].execution_status == _COMPLETE:
            done.append(launches.popleft())
        if not launches:
            del _pending[queue]
    return done


@atexit.register
def wait(device: Any = None) -> None:
    """Wait for the launches that are held, and let go of what they use.

    Parameters
    ----------
    device : dpctl.SyclDevice, optional
        Only for those on this device.
    """
    with _lock:
        waited = [launches for queue, launches in _pending.items() if device in (None, queue.sycl_device)]
        events = [event for launches in waited for event, _ in launches]
    for event in events:
        wait_for(event)
    release()
