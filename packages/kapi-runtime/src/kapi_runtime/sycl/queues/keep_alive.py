"""Keep alive what launches in flight use, until the device is done with it.

Memory that is freed while a kernel uses it is given to the next allocation, which the kernel then
overwrites.  The owners of a launch's arguments are therefore held with its event, and let go by a later
launch, by a wait, or at exit. No thread, and no callback of the device, takes part: a callback would need the
GIL, and dead-lock with whoever waits for the device while holding it.

Launches by a plan are held by the chain that they belong to (see `chain`), in the order in which they run, so that
the state of one event tells that of all before it.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections import deque
from typing import Any

import dpctl

from kapi_runtime.sycl.native.structures import KEPT
from kapi_runtime.sycl.queues.interruptible_waits import wait_for
from kapi_sim.forks import in_children, reinit_after_fork

__all__ = ["TIDY_AFTER", "hold_chain", "in_flight", "keep", "release", "tidy", "wait"]

_COMPLETE = dpctl.event_status_type.complete
_THIS_QUEUE, _ALL_QUEUES = 8, 64  # launches after which those of the queue at hand, and of all, are looked at

TIDY_AFTER = 16
"""Launches that a chain holds, or a multiple, when `tidy` is worth its cost."""

_lock = reinit_after_fork(threading.Lock())
_pending: dict[Any, deque[tuple[Any, Any]]] = {}
_chains: list[tuple[Any, list[Any]]] = []
_kept = 0
_parent_s: list[Any] = []


def keep(queue: Any, event: Any, owners: Any) -> None:
    """Hold `owners` until `event` of `queue` is complete, and let go of what is done; see `Launcher.keep`."""
    global _kept
    with _lock:
        launches = _pending.get(queue)
        if launches is None:
            launches = _pending[queue] = deque()
        launches.append((event, owners))
        _kept += 1
        # Asking for the state of an event costs more than all else here.
        if _kept % _ALL_QUEUES == 0:
            done = _take_complete()
        else:
            done = _take_first(launches) if _kept % _THIS_QUEUE == 0 else []
    # Owners are destroyed here, without the lock: their destructors may launch, or free memory of the device.
    del done


def hold_chain(queue: Any, chain: list[Any]) -> None:
    """Let `release` and `wait` know of the launches of a chain from now on."""
    with _lock:
        _chains.append((queue, chain[KEPT]))


def tidy(chain: list[Any]) -> None:
    """Let go of the launches of a chain that are done."""
    with _lock:
        done = _take_first_of_chain(chain[KEPT])
    del done


def release() -> None:
    """Let go of the owners of all launches that are done; waits for none."""
    with _lock:
        done = _take_complete()
    del done


def in_flight() -> int:
    """Return how many launches are held; some may be complete already."""
    with _lock:
        return sum(map(len, _pending.values())) + sum(len(kept) for _, kept in _chains)


def _take_complete() -> list[Any]:
    """Take what is done from the front of each queue's launches; the caller holds the lock."""
    done = []
    for queue, launches in list(_pending.items()):
        done += _take_first(launches)
        if not launches:
            del _pending[queue]
    for _, kept in _chains:
        done += _take_first_of_chain(kept)
    return done


def _take_first(launches: deque[tuple[Any, Any]]) -> list[Any]:
    """Take what is done from the front of one queue's launches; the caller holds the lock."""
    done = []
    while launches and launches[0][0].execution_status == _COMPLETE:
        done.append(launches.popleft())
    return done


def _take_first_of_chain(kept: list[Any]) -> list[Any]:
    """Take what is done from the front of a chain's launches; the caller holds the lock, and launches go on."""
    low, high = 0, len(kept)
    if high and kept[high - 1][0].execution_status == _COMPLETE:
        low = high
    while low < high:
        middle = (low + high) // 2
        if kept[middle][0].execution_status == _COMPLETE:
            low = middle + 1
        else:
            high = middle
    done = kept[:low]
    del kept[:low]
    return done


def _after_fork_in_child() -> None:
    """The parent's launches are its own: the child neither waits for them, nor destroys what they use."""
    global _pending, _chains
    _parent_s.append((_pending, _chains))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_parent_s))  # never destroyed
    _pending, _chains = {}, []


in_children(_after_fork_in_child)


@atexit.register
def wait(device: Any = None) -> None:
    """Wait for the launches that are held, and let go of what they use.

    - `device`: only for those on this device.
    """
    with _lock:
        waited = [launches for queue, launches in _pending.items() if device in (None, queue.sycl_device)]
        events = [event for launches in waited for event, _ in launches]
        last = [kept[-1] for queue, kept in _chains if kept and device in (None, queue.sycl_device)]
        events += [event for event, _ in last]
    for event in events:
        wait_for(event)
    release()
