"""The threads that help callers with their launches: one pool for the process, started when it is first needed."""

from __future__ import annotations

import queue
import threading
from typing import Protocol

from kapi_runtime.cpu.devices.thread_count import thread_count
from kapi_sim.forks import in_children, reinit_after_fork

__all__ = ["Shared", "offer"]


class Shared(Protocol):
    """Work that several threads do together."""

    def help(self) -> None:
        """Take a part of it, and another, until none is left; it never raises."""


_lock = reinit_after_fork(threading.Lock())
_offers: queue.SimpleQueue[Shared] = queue.SimpleQueue()
_threads = 0


def offer(work: Shared, count: int) -> None:
    """Have so many threads of the pool help with work, as soon as they are free.

    - `work`: if no thread can be started any more, as at the interpreter's exit, the caller does all of it.
    - `count`: as many as there may be threads at most.
    """
    global _threads
    if _threads < count:
        with _lock:
            while _threads < min(count, thread_count()):
                thread = threading.Thread(target=_serve, args=(_offers,), name="kapi-cpu", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    work.help()
                    return
                _threads += 1
    for _ in range(count):
        _offers.put(work)


def _serve(offers: queue.SimpleQueue[Shared]) -> None:
    while True:
        work = offers.get()
        work.help()
        del work


def _after_fork_in_child() -> None:
    global _offers, _threads
    _offers, _threads = queue.SimpleQueue(), 0


in_children(_after_fork_in_child)
