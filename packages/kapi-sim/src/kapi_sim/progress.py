"""Progress of long work: a line on the terminal, from the third second on.

A thread of its own polls, now and then, where the running work is, so that kernels run no slower for it.
Nothing is written unless standard error is a terminal, and nothing while a launch stands still, as at a
debugger's prompt.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kapi_sim.forks import reinit_after_fork

__all__ = ["Follower", "follow", "follow_launch", "progress_text"]

AFTER = 2.0
"""Seconds of work before anything is shown."""
EVERY = 0.5
"""Seconds between two polls."""
_POLLS = reinit_after_fork(threading.Condition())
_running: list[Follower] = []
_threads: list[threading.Thread] = []


@dataclass(slots=True, eq=False)
class Follower:
    """Work that is followed.

    - `tell`: returns how far the work is, in words, and something that differs if it went on.
    - `part_done`: returns which part of the work is done, from 0 to 1; 0 where that is not known.
    """

    show: Callable[[], tuple[str, object]]
    part_done: Callable[[], float] = lambda: 0.0
    _start: float = field(default_factory=time.monotonic)
    _seen: object = None
    _is_displayed: bool = False

    def stop(self) -> None:
        """Follow no longer, and take the line back."""
        with _POLLS:
            _running.remove(self)
            if self._is_displayed:
                _write("\r\x1b[K")

    def poll(self) -> None:
        """Show how far the work is, if it takes long and goes on."""
        seconds = time.monotonic() - self._start
        text, state = self.show()
        if seconds >= AFTER and state != self._seen:
            self._is_displayed = True
            part = self.part_done()
            rest = f", about {seconds * (1 - part) / part:.0f} s more" if part > 0 else ""
            _write(f"\r\x1b[Kkapi: {text}, {seconds:.0f} s{rest}")
        self._seen = state


def follow(show: Callable[[], tuple[str, object]], part_done: Callable[[], float] = lambda: 0.0) -> Follower | None:
    """Follow work until `Follower.stop` is called; `None` if standard error is no terminal."""
    if not _is_terminal():
        return None
    made = Follower(show, part_done)
    with _POLLS:
        if not any(thread.is_alive() for thread in _threads):  # the first, or a process that was forked
            thread = threading.Thread(target=_poll, name="kapi-progress", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # a place without threads
                return None
            _threads[:] = [thread]
        _running.append(made)
        _POLLS.notify()
    return made


def follow_launch(kernel: str, noun: str, total: int, position: Callable[[], tuple[int, object]]) -> Follower | None:
    """Follow a launch in the simulator.

    - `noun`: what is counted: ``"work-items"`` or ``"work-groups"``.
    - `total`: how many there are.
    - `position`: returns how many have run, and something that differs if the launch went on.
    """

    def show() -> tuple[str, object]:
        done, state = position()
        return f"`{kernel}` has run {done} of {total} {noun}", state

    return follow(show, lambda: position()[0] / max(total, 1))


@contextmanager
def progress_text(text: str) -> Iterator[None]:
    """Follow what a ``with`` block does, such as ``"compiling kernel `k`"``."""
    follower = follow(lambda: (text, time.monotonic()))
    try:
        yield
    finally:
        if follower is not None:
            follower.stop()


def _poll() -> None:
    while True:
        with _POLLS:
            while not _running:
                _POLLS.wait()
            # Of launches within launches, or on several threads, the oldest is told.
            _running[0].poll()
        time.sleep(EVERY)


def _is_terminal() -> bool:
    is_terminal = getattr(sys.stderr, "isatty", None)
    return is_terminal is not None and bool(is_terminal())


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # closed meanwhile
        return
