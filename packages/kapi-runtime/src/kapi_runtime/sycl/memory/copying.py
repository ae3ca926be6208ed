"""Bytes copied through a queue: ordered after other work, recorded where a record is kept, and waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dpctl.utils import SequentialOrderManager

from kapi_runtime.platform import recorder
from kapi_runtime.platform.installed import named
from kapi_runtime.sycl.memory.usm_bytes import memory_at
from kapi_runtime.sycl.queues.interruptible_waits import wait_for
from kapi_runtime.sycl.queues.queue import queue_of
from kapi_types.usm.structures import array_fields

__all__ = ["copy_array", "copy_bytes"]


def copy_array(target: Any, source: Any, name: str) -> None:
    """Copy one array to another after all work on the queues of both, and wait.

    - `target`, `source`: c-contiguous, of one shape and one type, without memory in common; one of them at least in
      USM.
    - `name`: from where to where, for the record.
    """
    usm = [each for each in (target, source) if not isinstance(each, np.ndarray)]
    queue = queue_of(usm[0].sycl_queue)
    for other in usm[1:]:
        if other.sycl_queue.sycl_context != queue.sycl_context:
            staged = np.empty(source.shape, source.dtype)
            copy_array(staged, source, "device to host")
            copy_array(target, staged, "host to device")
            return
    if source.nbytes == 0:  # there may be no memory to point to
        return
    to, of = (_bytes_of(each) for each in (target, source))
    for each in usm:
        wait_for(each.sycl_queue)
    copy_bytes(queue, to, of, source.nbytes, name, SequentialOrderManager[queue].submitted_events)


def copy_bytes(queue: Any, target: Any, source: Any, nbytes: int, name: str, depends: Sequence[Any] = ()) -> None:
    """Copy `nbytes` from one memory to another, each of USM or of the host.

    - `queue`: through which they are copied.
    - `nbytes`: how many bytes; 0 is fine.
    - `name`: from where to where, for the record.
    - `depends`: what must be done before.
    """
    recorder.require_no_graph("a copy that the host waits for")
    if nbytes == 0:
        return
    if queue.is_in_order:  # the driver would wait there, with memory that is not USM, and Ctrl-C not be heard
        wait_for(queue)

    def run(on: Any, after: list[Any]) -> Any:
        return on.memcpy_async(target, source, nbytes, after)

    if recorder.active is None:
        wait_for(run(queue, list(depends)))
    else:
        platform = named("sycl", "copies")
        wait_for(recorder.submit(platform, queue, depends, run, kind="copy", name=name, nbytes=nbytes))


def _bytes_of(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else memory_at(array_fields(array), array)
