"""Waiting for the device so that Ctrl-C is heard at once, and no core is lost.

A wait inside of the driver lets other threads run, but a signal is handled only after it.  Asking for the state of
an event again and again would hear signals, and take the core that Intel's runtime for CPUs gives to the thread that
waits: there a kernel of 70 ms takes 140 ms.  So the main thread, the only one that signals reach, waits for a
thread of this module, which waits inside of the driver.  Handing that over costs some tens of microseconds, so
launches whose like were short before are waited for directly: Ctrl-C is heard after them, and that is soon.

A queue is finished by one thread at a time, as `kapi_types.usm.queue_waits` says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import dpctl

from kapi_runtime.sycl.devices.fork_check import require_no_fork
from kapi_types.usm.queue_waits import finish

__all__ = ["Pace", "wait_for"]

_COMPLETE = dpctl.event_status_type.complete

_idle: list[_Waiter] = []

_SHORT = 0.02  # seconds that Ctrl-C may be late


class Pace:
    """Duration of the host's last wait for a launch of one kind; unknown at first."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = float("inf")


class _Waiter:
    """A thread that waits, and is used again: starting one costs more than most waits."""

    __slots__ = ("_orders",)

    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[Callable[[], None], threading.Lock, list[BaseException]]] = SimpleQueue()
        threading.Thread(target=self._serve, name="kapi-waiter", daemon=True).start()

    def order(self, wait: Callable[[], None], done: threading.Lock, errors: list[BaseException]) -> None:
        self._orders.put((wait, done, errors))

    def _serve(self) -> None:
        while True:
            wait, done, errors = self._orders.get()
            try:
                wait()
            except BaseException as error:
                errors.append(error)
            _idle.append(self)
            done.release()
            del wait, done, errors  # what is waited for is not kept until the next order


def wait_for(work: Any, pace: Pace | None = None) -> None:
    """Wait for a `dpctl.SyclEvent`, or for all work of a `dpctl.SyclQueue`; never while holding the GIL.

    - `work`: what is waited for.
    - `pace`: what is known of such waits, and kept up to date.

    Raises `KeyboardInterrupt` at once, if Ctrl-C is pressed in the main thread, or after a wait that is expected to be
    short; the work itself goes on. Raises `ForkError` in a process that was forked after a device was used.
    """
    require_no_fork()
    if pace is None:
        _wait(work, is_short=False)
        return
    start = time.perf_counter()
    _wait(work, is_short=pace.seconds < _SHORT)
    pace.seconds = time.perf_counter() - start


def _wait(work: Any, is_short: bool) -> None:
    if isinstance(work, dpctl.SyclQueue):
        wait = partial(finish, work)
    elif work.execution_status == _COMPLETE:
        return
    else:
        wait = work.wait
    if is_short or threading.current_thread() is not threading.main_thread():
        wait()
        return
    try:
        waiter = _idle.pop() if _idle else _Waiter()
    except RuntimeError:  # no thread can be started, as at the interpreter's exit
        wait()
        return
    done = threading.Lock()
    done.acquire()
    errors: list[BaseException] = []
    waiter.order(wait, done, errors)
    done.acquire()  # a signal's handler runs here, and what it raises ends the wait
    if errors:
        raise errors[0]
