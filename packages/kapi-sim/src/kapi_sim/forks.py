"""Forks: a child gets all of its parent's work or nothing, and locks that are free.

A fork copies the thread that forks, and no other.  A lock that another thread holds is then never released in the
child, and what it guards may be half done.  So a fork waits for work that is *block_forks*, such as compilations, and
for imports, and takes the locks of other libraries that guard such work.  kapi's own locks guard a few steps, and are
free in the child.
"""

from __future__ import annotations

import importlib
import logging  # noqa: F401  see the end of this module
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from kapi_sim.errors import ForkError

__all__ = ["reinit_after_fork", "hold_at_forks", "in_children", "block_forks"]

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a fork waits for block_forks work."""


class _Lock(Protocol):
    """A `threading.RLock`."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...

    def release(self) -> None: ...

    def _is_owned(self) -> bool: ...


_AT_ONCE = 0.05  # seconds that a fork waits while it keeps others from something
_SOON = 0.001  # seconds between two looks at imports
_MODULES = ("kapi", "_kapi", "llvmlite", "numba", "numpy")  # a module of a user's may import for as long as it runs

_gate = threading.Condition(threading.Lock())
_working: dict[int, int] = {}  # how deep each thread is in block_forks work
_is_within: ContextVar[bool] = ContextVar("within work that forks wait for", default=False)
_foreign: list[_Lock] = []
_taken: list[_Lock] = []  # by the fork that runs
_own: WeakSet[Any] = WeakSet()
_forking = 0  # forks that wait
_is_torn = False


def reinit_after_fork(lock: T) -> T:
    """Have a `threading.Lock`, `threading.RLock` or `threading.Condition` be free in a child, whoever held it."""
    _own.add(lock)
    return lock


def hold_at_forks(*locks: _Lock) -> None:
    """Take another library's `threading.RLock` before each fork, and release it after it, in both processes."""
    _foreign.extend(locks)


def in_children(function: Callable[[], object]) -> None:
    """Call a function in each process that is forked from this one, where there are forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


@contextmanager
def block_forks() -> Iterator[None]:
    """Have forks by other threads wait until the ``with`` block is done.

    A fork that waits lets no other work begin. A thread that does a part of the work, in a copy of its context, begins
    all the same.

    Raises `ForkError` in a process that was forked although such work had not ended in time.
    """
    if _is_torn:
        raise ForkError(
            f"kernels must be compiled by a process that holds whole modules, got process {os.getpid()}, forked while "
            f"another thread had compiled for more than {PATIENCE:.0f} seconds: start processes by spawning, as "
            "`multiprocessing.get_context('spawn')` does",
            code="forked-process",
        )
    me = threading.get_ident()
    with _gate:
        if _forking and me not in _working and not _is_within.get() and not _is_awaited(me):
            _gate.wait_for(lambda: not _forking)
        _working[me] = _working.get(me, 0) + 1
    token = _is_within.set(True)
    try:
        yield
    finally:
        _is_within.reset(token)
        with _gate:
            _working[me] -= 1
            if not _working[me]:
                del _working[me]
                _gate.notify_all()


def _is_awaited(thread: int) -> bool:
    """Whether a fork waits for this thread for another reason, so that the thread must not wait for the fork."""
    return thread in _importing() or any(each._is_owned() for each in _foreign)


def _importing() -> set[int]:
    """The threads that import modules of ours: the owners of the locks of these modules."""
    locks: dict[str, Callable[[], Any]] = getattr(importlib._bootstrap, "_module_locks", {})
    owners = {getattr(lock(), "owner", None) for name, lock in list(locks.items()) if name.startswith(_MODULES)}
    return {each for each in owners if each is not None}


def _others_work() -> bool:
    me = threading.get_ident()
    return any(thread != me for thread in _working)


def _others_import() -> bool:
    return bool(_importing() - {threading.get_ident()})


def _before() -> None:
    """Wait for what others do, and keep them from beginning; without holding what they may need to end."""
    global _forking
    deadline = time.monotonic() + PATIENCE
    with _gate:
        _forking += 1
    while True:
        with _gate:  # nothing is kept from those who work
            _gate.wait_for(lambda: not _others_work(), deadline - time.monotonic())
        taken = [each for each in _foreign if each.acquire(timeout=_AT_ONCE)]
        _gate.acquire()
        is_quiet = not _others_work() and not _others_import()
        if (len(taken) == len(_foreign) and is_quiet) or time.monotonic() >= deadline:
            _taken[:] = taken
            return  # the gate stays shut
        _gate.release()
        for each in taken:
            each.release()
        time.sleep(_SOON)


def _after_in_parent() -> None:
    global _forking
    _forking -= 1
    _gate.notify_all()
    _gate.release()
    while _taken:
        _taken.pop().release()


def _after_in_child() -> None:
    global _is_torn, _forking
    _is_torn = _is_torn or _others_work() or _others_import() or len(_taken) < len(_foreign)
    for thread in set(_working) - {threading.get_ident()}:
        del _working[thread]
    _forking = 1
    for each in list(_own):
        each._at_fork_reinit()
    _after_in_parent()


# What is registered last begins first. `logging` takes its own lock before a fork, which compilations ask for: it is
# imported, and so registered, before.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
