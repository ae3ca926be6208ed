"""Profiling: a record of every launch and copy, with its times on the device's clock.

Launches and copies read `kapi_runtime.platform.recorder` for whether a record is kept; the platform submits them so
that the device takes their times.  On SYCL devices only queues made for profiling take times, and a user's queue was
made without.  So a recorded launch runs on a second queue of the same context, between barriers on the first one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

from kapi_runtime.platform import recorder
from kapi_runtime.platform.interface import Platform
from kapi_runtime.recording.trace_format import Entry, entries_table, export_trace, summary_table
from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.short_repr import short_repr

__all__ = ["Recording", "profile_start", "profile_stop", "profiling"]

_READ_EVERY = 1024  # entries, so that a long record does not hold the events of all


@dataclass(slots=True)
class _Pending:
    platform: Platform
    event: Any
    host: int
    fields: dict[str, Any]


class Recording:
    """The launches and copies of a recording, in the order of their submission.

    ``print(recording)`` shows a line for each kernel and kind of copy; `table` a line for each single one.

    Attributes
    ----------
    is_active : bool
        Whether it is still kept.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     i = item.get_id(0)
    ...     a[i] = a[i] * 2
    >>> with kapi.profiling() as recording:
    ...     double[100](dpnp.ones(100))
    >>> entry, = recording.entries
    >>> entry.name, entry.space, entry.nbytes, entry.submit <= entry.start <= entry.end
    ('double', 'Range(100)', 800, True)
    """

    def __init__(self) -> None:
        self.is_active = True
        self._lock = reinit_after_fork(threading.Lock())
        self._pending: deque[_Pending] = deque()
        self._read: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Each launch and copy; waits for those that are not done."""
        with self._lock:
            while self._pending:
                self._read.append(_entry(self._pending[0]))  # Ctrl-C in it loses nothing
                self._pending.popleft()
            return tuple(self._read)

    @property
    def launches(self) -> tuple[Entry, ...]:
        """The launches among the entries."""
        return tuple(entry for entry in self.entries if entry.kind == "launch")

    @property
    def copies(self) -> tuple[Entry, ...]:
        """The copies among the entries."""
        return tuple(entry for entry in self.entries if entry.kind == "copy")

    def table(self) -> str:
        """Return a line of text for each entry, in the order of submission."""
        return entries_table(self.entries)

    def export(self, path: str | PathLike[str]) -> None:
        """Write the entries as a trace that Perfetto and Chrome's tracing page show.

        Parameters
        ----------
        path : path-like
            The JSON file to write.

        References
        ----------
        Trace Event Format: complete events, ``"ph": "X"``, times in microseconds.
        """
        export_trace(self.entries, path)

    def __len__(self) -> int:
        with self._lock:
            return len(self._read) + len(self._pending)

    def __str__(self) -> str:
        return summary_table(self.entries)

    def __repr__(self) -> str:
        return f"<Recording of {len(self)} launches and copies{', active' if self.is_active else ''}>"

    def add(self, platform: Platform, event: Any, fields: dict[str, Any]) -> None:
        """Note work that was submitted; for `kapi_runtime.platform.recorder`."""
        with self._lock:
            self._pending.append(_Pending(platform, event, time.perf_counter_ns(), fields))
            if len(self._pending) >= _READ_EVERY:
                while self._pending and self._pending[0].platform.is_done(self._pending[0].event):
                    self._read.append(_entry(self._pending.popleft()))


_switch = reinit_after_fork(threading.Lock())


def profile_start() -> Recording:
    """Record every launch and copy of kapi, in all threads, until `profile_stop`.

    Returns
    -------
    Recording

    Raises
    ------
    KernelLaunchError
        If one is kept already.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> import kapi_runtime.compat as cuda
    >>> recording = cuda.profile_start()
    >>> array = kapi.memory.asarray(np.ones(10))
    >>> cuda.profile_stop() is recording
    True
    >>> [(entry.kind, entry.nbytes) for entry in recording.entries]
    [('copy', 80)]
    """
    with _switch:
        if recorder.active is not None:
            raise KernelLaunchError(
                f"profiling is running already, into {short_repr(recorder.active)}: call profile_stop() first",
                code="profiling-running",
            )
        recording = Recording()
        recorder.keep_profile(recording)
        return recording


def profile_stop() -> Recording:
    """Stop the recording, wait for its work to be done, and return it.

    Raises
    ------
    KernelLaunchError
        If nothing is recorded.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.profile_stop()
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelLaunchError: profiling is not running: call profile_start() first [profiling-stopped]
    """
    recording = _end()
    _ = recording.entries
    return recording


def _end() -> Recording:
    with _switch:
        recording = recorder.active
        if not isinstance(recording, Recording):
            raise KernelLaunchError("profiling is not running: call profile_start() first", code="profiling-stopped")
        recorder.keep_profile(None)
    recording.is_active = False
    return recording


@contextmanager
def profiling() -> Iterator[Recording]:
    """Record every launch and copy of kapi inside a ``with`` block.

    Times are the device's own, on whatever queue the work is.  Recording costs: work of one queue runs one after
    another, and a launch takes two barriers more.  What dpnp does by itself is not recorded.

    Yields
    ------
    Recording

    Raises
    ------
    KernelLaunchError
        If one is kept already.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> @kapi.kernel
    ... def fill(item: kapi.Item, target):
    ...     target[item.get_id(0)] = 1
    >>> with kapi.profiling() as recording:
    ...     fill[1000](dpnp.empty(1000))
    >>> print(recording)  # doctest: +ELLIPSIS
    kind name count ...
    launch fill 1 ...
    """
    recording = profile_start()
    try:
        yield recording
    finally:
        if recorder.active is recording:  # the block may have called profile_stop()
            _end()
    _ = recording.entries  # but Ctrl-C in the block ends it at once


def _entry(pending: _Pending) -> Entry:
    times = pending.platform.times(pending.event)
    return Entry(**pending.fields, host=pending.host, submit=times.submit, start=times.start, end=times.end)
