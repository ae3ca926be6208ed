"""Calling Python when the device has done its work: one thread for each queue that has calls outstanding.

A callback of the driver would need the GIL in a thread of the runtime's, and dead-lock with whoever waits for the
device while holding it; on CUDA it may not even call the driver.  Here a Python thread waits for an event, which lets
go of the GIL, and calls; it ends when nothing is left to call.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kapi_sim.forks import reinit_after_fork

__all__ = ["call_after", "wait_until_called"]


@dataclass(slots=True, eq=False)
class _Call:
    event: Any
    function: Callable[[], object]
    is_done: threading.Event = field(default_factory=threading.Event)


_lock = reinit_after_fork(threading.Lock())
_outstanding: dict[Any, deque[_Call]] = {}
_here = threading.local()


def call_after(queue: Any, event: Any, function: Callable[[], object]) -> None:
    """Call `function` in a thread of the queue's when `event` is complete, after the queue's earlier calls.

    - `queue`: whose calls are made one after the other.
    - `event`: what is waited for, by its `wait`.
    - `function`: without arguments.  What it raises goes to `threading.excepthook`, and the next call is made all the
      same.
    """
    call = _Call(event, function)
    with _lock:
        calls = _outstanding.get(queue)
        if calls is not None:
            calls.append(call)
            return
        _outstanding[queue] = deque([call])
    # Not a daemon, wherever it is started: the interpreter's exit waits for what was promised to be called.
    thread = threading.Thread(target=_serve, args=(queue,), name="kapi-callbacks", daemon=False)
    try:
        thread.start()
    except RuntimeError:  # no thread can be started any more, as at the interpreter's exit
        _serve(queue)


def wait_until_called(queue: Any) -> None:
    """Wait for the calls that are outstanding on a queue; in a callback, where that could be itself, for none."""
    if getattr(_here, "is_calling", False):
        return
    with _lock:
        calls = _outstanding.get(queue)
        last = calls[-1] if calls else None
    if last is not None:
        last.is_done.wait()


def _report() -> None:
    """Tell of the exception at hand, and of one that the program's own hook raises: no call must be lost for it."""
    try:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
    except BaseException:
        sys.__excepthook__(*sys.exc_info())  # shows both


def _serve(queue: Any) -> None:
    was_calling = getattr(_here, "is_calling", False)
    _here.is_calling = True
    try:
        _call_all(queue)
    finally:
        _here.is_calling = was_calling


def _call_all(queue: Any) -> None:
    while True:
        with _lock:
            call = _outstanding[queue][0]
        try:
            call.event.wait()
            call.function()
        except BaseException:
            _report()
        # The call stays in the queue until it is done, so that `wait_until_called` finds it.
        with _lock:
            calls = _outstanding[queue]
            calls.popleft()
            call.is_done.set()
            if not calls:
                del _outstanding[queue]
                return
        del call
