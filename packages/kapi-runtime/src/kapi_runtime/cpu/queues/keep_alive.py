"""Owners of memory that launches in flight use: held until the launches are done.

Owners are let go by a later launch, by a wait, or at exit: never by the thread that ran the launch, since their
destructors may launch and wait.
"""

from __future__ import annotations

import atexit
from collections import deque
from typing import Any

from kapi_runtime.cpu.queues.events import CpuEvent
from kapi_sim.forks import in_children

__all__ = ["in_flight", "keep", "release"]

_pending: deque[tuple[CpuEvent, Any]] = deque()
_parent_s: list[Any] = []


def keep(event: CpuEvent, owners: Any) -> None:
    """Hold `owners` until `event` is done."""
    if not event.is_done:
        _pending.append((event, owners))
    while _pending and _pending[0][0].is_done:
        try:
            launch = _pending.popleft()
        except IndexError:  # another thread lets go as well
            return
        if not launch[0].is_done:
            _pending.appendleft(launch)
        del launch


def release() -> None:
    """Let go of the owners of launches that are done; waits for none."""
    done = []
    for _ in range(len(_pending)):
        try:
            launch = _pending.popleft()
        except IndexError:  # another thread lets go as well
            break
        if launch[0].is_done:
            done.append(launch)
        else:
            _pending.append(launch)
    del done


def in_flight() -> int:
    """Return how many launches are held; some may be complete already."""
    return len(_pending)


@atexit.register
def _finish_at_exit() -> None:
    for event, _ in list(_pending):
        try:
            event.wait()
        except BaseException:  # what it raised is the waiters'
            continue
    _pending.clear()


def _after_fork_in_child() -> None:
    """The parent's launches are its own: the child neither waits for them, nor destroys what they use."""
    global _pending
    _parent_s.append(_pending)
    _pending = deque()


in_children(_after_fork_in_child)
