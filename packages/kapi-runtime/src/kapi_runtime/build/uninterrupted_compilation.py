"""Work that Ctrl-C must not leave half done: imports and compilations, which other launches share.

A `KeyboardInterrupt` in the middle of Numba's import leaves modules behind that look imported and are not, and every
later launch would fail.  Signals reach the main thread alone.  So the work is done by another thread, to its end, while
the main thread waits: Ctrl-C ends the wait at once, and the work's result is used by whoever asks for it next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

from kapi_sim.forks import block_forks

__all__ = ["run_uninterrupted"]

T = TypeVar("T")


class _Outcome(Generic[T]):
    """Result or exception of the work."""

    __slots__ = ("done", "error", "value")

    def __init__(self) -> None:
        self.done = threading.Lock()
        self.done.acquire()
        self.error: BaseException | None = None
        self.value: T


def run_uninterrupted(work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises; it is never interrupted in the middle.

    Raises `KeyboardInterrupt` at once, if Ctrl-C is pressed in the main thread; the work goes on.
    """

    def blocking_forks() -> T:
        with block_forks():
            return work()

    if threading.current_thread() is not threading.main_thread():
        return blocking_forks()
    outcome: _Outcome[T] = _Outcome()
    context = copy_context()

    def do() -> None:
        try:
            outcome.value = context.run(blocking_forks)
        except BaseException as error:
            outcome.error = error
        outcome.done.release()

    try:
        threading.Thread(target=do, name="kapi-compiler", daemon=True).start()
    except RuntimeError:  # no thread can be started, as at the interpreter's exit
        return blocking_forks()
    outcome.done.acquire()  # a signal's handler runs here, and what it raises ends the wait
    if outcome.error is not None:
        try:
            raise outcome.error
        finally:
            outcome.error = None  # or its traceback, which holds this frame, would hold itself
    return outcome.value
