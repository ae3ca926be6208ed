"""Profiling: a record of every launch and copy, with its times on the device's clock.

A queue takes times only if it was made so, and the default queue, on which dpnp's arrays live, was not.  While a
record is kept, work for such a queue therefore runs on a second queue of the same context that takes times, between
two barriers on the first one: it starts after all that was submitted there, and all that is submitted later starts
after it.

The module of the function `profiling` could not have its name: a package has one attribute of a name, and importing a
module sets it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import dpctl

from kapi_runtime.recording.trace_format import Entry, entries_table, export_trace, summary_table
from kapi_runtime.sycl.device_summary import describe_device
from kapi_runtime.sycl.queues import profiling_queue
from kapi_runtime.sycl.waiting import wait_for
from kapi_sim.errors import KernelLaunchError
from kapi_sim.shown import shown

__all__ = ["Recording", "profile_start", "profile_stop", "profiling", "submit"]

_COMPLETE = dpctl.event_status_type.complete
_READ_EVERY = 1024  # entries, so that a long record does not hold the events of all


@dataclass(slots=True)
class _Pending:
    event: Any
    host: int
    fields: dict[str, Any]


class Recording:
    """What ran while it was kept: launches and copies, in the order of their submission.

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
        self._lock = threading.Lock()
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

    def _add(self, event: Any, fields: dict[str, Any]) -> None:
        with self._lock:
            self._pending.append(_Pending(event, time.perf_counter_ns(), fields))
            if len(self._pending) >= _READ_EVERY:
                while self._pending and self._pending[0].event.execution_status == _COMPLETE:
                    self._read.append(_entry(self._pending.popleft()))


active: Recording | None = None
"""The record that is kept, of all threads, if one is: a launch looks here, and calls `submit` if so."""

_switch = threading.Lock()


def profile_start() -> Recording:
    """Start to record every launch and copy that kapi makes, in all threads, until `profile_stop`.

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
    >>> recording = kapi.profile_start()
    >>> array = kapi.memory.asarray(np.ones(10))
    >>> kapi.profile_stop() is recording
    True
    >>> [(entry.kind, entry.nbytes) for entry in recording.entries]
    [('copy', 80)]
    """
    global active
    with _switch:
        if active is not None:
            raise KernelLaunchError(
                f"profiling must be stopped before it is started, got {shown(active)}: call profile_stop() first",
                code="profiling-running",
            )
        active = Recording()
        return active


def profile_stop() -> Recording:
    """Stop to record, and return what was recorded; waits for it to be done.

    Raises
    ------
    KernelLaunchError
        If nothing is recorded.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.profile_stop()
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelLaunchError: profiling must be started before it is stopped, got none: call profile_start()
    """
    recording = _end()
    _ = recording.entries
    return recording


def _end() -> Recording:
    global active
    with _switch:
        if active is None:
            raise KernelLaunchError(
                "profiling must be started before it is stopped, got none: call profile_start()",
                code="profiling-stopped",
            )
        recording, active = active, None
    recording.is_active = False
    return recording


@contextmanager
def profiling() -> Iterator[Recording]:
    """Record every launch and copy that kapi makes inside a ``with`` block; it ends with the block, come what may.

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
        if active is recording:  # the block may have called profile_stop()
            _end()
    _ = recording.entries  # but Ctrl-C in the block ends it at once


def submit(
    queue: Any,
    depends: Sequence[Any],
    run: Callable[[Any, list[Any]], Any],
    *,
    kind: Literal["launch", "copy"],
    name: str,
    space: str = "",
    nbytes: int = 0,
) -> Any:
    """Submit work to a queue, and record it if a record is kept.

    Parameters
    ----------
    queue : dpctl.SyclQueue
        The queue that the work belongs to.
    depends : sequence of dpctl.SyclEvent
        What it waits for.
    run : callable
        Submits the work to the queue that it is given, after the events that it is given, and returns its event.
    kind : {"launch", "copy"}
        What it is.
    name : str
        The kernel's name, or from where to where is copied.
    space : str
        The index space, as text.
    nbytes : int
        Bytes of all array arguments, or bytes copied.

    Returns
    -------
    dpctl.SyclEvent
        The event of the work itself.
    """
    recording = active
    if recording is None:
        return run(queue, list(depends))
    clock = profiling_queue(queue)
    if clock is queue:
        event = run(queue, list(depends))
    else:
        event = run(clock, [*depends, queue.submit_barrier()])
        queue.submit_barrier([event])
    fields = {
        "kind": kind,
        "name": name,
        "space": space,
        "nbytes": nbytes,
        "device": describe_device(queue.sycl_device),
        "queue": queue.addressof_ref(),
        "thread": threading.current_thread().name,
    }
    recording._add(event, fields)
    return event


def _entry(pending: _Pending) -> Entry:
    event = pending.event
    wait_for(event)  # dpctl would wait for the times without letting other threads run
    return Entry(
        **pending.fields,
        host=pending.host,
        submit=event.profiling_info_submit,
        start=event.profiling_info_start,
        end=event.profiling_info_end,
    )
