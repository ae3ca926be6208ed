"""Bytes copied through a queue: ordered after other work, recorded where a record is kept, and waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapi_runtime import recording
from kapi_runtime._waiting import wait_for

__all__ = ["copy_bytes"]


def copy_bytes(queue: Any, target: Any, source: Any, nbytes: int, name: str, depends: Sequence[Any] = ()) -> None:
    """Copy `nbytes` from one memory to another, each of USM or of the host.

    Parameters
    ----------
    queue : dpctl.SyclQueue
        Through which they are copied.
    target, source : dpctl.memory object or buffer
        The memory.
    nbytes : int
        How many bytes; 0 is fine.
    name : str
        From where to where, for the record.
    depends : sequence of dpctl.SyclEvent
        What must be done before.
    """
    if nbytes == 0:
        return
    if queue.is_in_order:  # the driver would wait there, with memory that is not USM, and Ctrl-C not be heard
        wait_for(queue)
    event = recording.submit(
        queue,
        depends,
        lambda on, after: on.memcpy_async(target, source, nbytes, after),
        kind="copy",
        name=name,
        nbytes=nbytes,
    )
    wait_for(event)
