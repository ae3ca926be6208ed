"""The recorder of launches and copies, while one is active."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from kapi_runtime.platform.interface import Platform

__all__ = ["Recorder", "submit"]


class Recorder(Protocol):
    """A keeper of records of submitted work."""

    def add(self, platform: Platform, event: Any, fields: dict[str, Any]) -> None:
        """Note work that was submitted by `Platform.submit_timed`, with what is known of it."""


active: Recorder | None = None
"""What keeps a record of all threads' work, if one is kept: a launch looks here, and calls `submit` if so."""


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

    Parameters
    ----------
    platform : Platform
        Whose the queue is.
    queue : object
        The queue that the work belongs to.
    depends : sequence
        The native events that it waits for.
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
    object
        The native event of the work itself.
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
