"""The recorders of launches and copies that are open: a profile of all threads, and the graph of a thread or task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Literal, Protocol

from kapi_runtime.platform.interface import Platform
from kapi_sim.errors import KernelLaunchError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.launchables.graph import require_not_recording

__all__ = ["GraphRecorder", "Recorder", "graph", "keep_graph", "keep_profile", "require_no_graph", "submit"]


class Recorder(Protocol):
    """A keeper of records of submitted work."""

    def add(self, platform: Platform, event: Any, fields: dict[str, Any]) -> None:
        """Note work that was submitted by `Platform.submit_timed`, with what is known of it."""


class GraphRecorder(Protocol):
    """A graph that records launches and copies, which run when it is replayed."""

    def launch(self, kernel: Any, space: Any, given: tuple[Any, ...], before: Iterable[Any]) -> tuple[Any, Any]:
        """Record a launch, and return its events, for later launches of the recording."""

    def require_own_events(self, events: Iterable[Any]) -> None:
        """Raise unless the events that recorded work is to wait for are of this recording."""

    def copy(
        self, platform: Platform, queue: Any, fields: tuple[ArrayFields, ArrayFields], nbytes: int, owners: Any
    ) -> Any:
        """Record a copy from the first to the second array, and return its event."""


active: Recorder | None = None
"""The recorder of all threads' work, if there is one; `keep_profile` sets it."""

is_watching = False
"""Whether a profile or a graph is open: a launch checks here first, since nearly always none is."""

_graph: ContextVar[GraphRecorder | None] = ContextVar("kapi_runtime_graph", default=None)
_lock = reinit_after_fork(threading.Lock())
_open_graphs = 0

graph = _graph.get
"""The graph that records the work of this thread or task, or None."""


def keep_profile(recorder: Recorder | None) -> None:
    """Have the work of all threads recorded from now on, or no longer."""
    global active, is_watching
    with _lock:
        active = recorder
        is_watching = active is not None or _open_graphs > 0


def keep_graph(recorder: GraphRecorder | None) -> None:
    """Have the work of this thread or task recorded by a graph from now on, or no longer.

    Raises `KernelLaunchError` if another one records already.
    """
    global is_watching, _open_graphs
    if recorder is not None and graph() is not None:
        raise KernelLaunchError(
            "one graph must be recorded at a time, got another one inside of its block", code="graph-nested"
        )
    _graph.set(recorder)
    with _lock:
        _open_graphs += 1 if recorder is not None else -1
        is_watching = active is not None or _open_graphs > 0


def require_no_graph(what: str) -> None:
    """Raise unless the host may wait here for what was submitted: what a graph records runs later.

    Raises `KernelLaunchError` if a graph is recording in this thread or task.
    """
    if is_watching:
        require_not_recording(what, graph())


def submit(
    platform: Platform,
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

    - `platform`: whose the queue is.
    - `queue`: the queue that the work belongs to.
    - `depends`: the native events that it waits for.
    - `run`: submits the work to the queue that it is given, after the events that it is given, and returns its event.
    - `kind`: what it is.
    - `name`: the kernel's name, or from where to where is copied.
    - `space`: the index space, as text.
    - `nbytes`: bytes of all array arguments, or bytes copied.

    Returns the native event of the work itself.
    """
    recorder = active
    if recorder is None:
        return run(queue, list(depends))
    event = platform.submit_timed(queue, depends, run)
    fields = {
        "kind": kind,
        "name": name,
        "space": space,
        "nbytes": nbytes,
        "device": platform.describe_device(platform.device_of(queue)),
        "queue": platform.queue_id(queue),
        "thread": threading.current_thread().name,
    }
    recorder.add(platform, event, fields)
    return event
