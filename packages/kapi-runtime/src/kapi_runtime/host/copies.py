"""Copies that the host does not wait for, and NumPy's views of memory that host and device share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from kapi_runtime.host.events import listed_events
from kapi_runtime.platform import recorder
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.numpy_views import fields_of_numpy, numpy_view
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.errors import KernelLaunchError
from kapi_sim.language.array_memory import ArrayFields, may_share

__all__ = ["is_overlapping", "submit_copy", "view_of"]


def submit_copy(platform: Platform, source: Any, target: Any, depends: Iterable[Any]) -> HostEvent:
    """Submit a copy, ordered as a launch that reads one array and writes the other.

    It comes after all that was submitted to the queues of both so far, and after the events; what is submitted to them
    later comes after it.

    - `platform`: of the arrays that are on devices.
    - `source`, `target`: c-contiguous, of one shape and one type; one of them at least on a device.
    - `depends`: as for `call_kernel_async`.

    Raises `KernelLaunchError` if the two overlap, or something in `depends` is no event of the platform;
    `ExecutionPlacementError` if the device of one array does not reach the other.
    """
    platform.require_usable()
    operands = [(array, _fields(platform, array)) for array in (source, target)]
    if is_overlapping(platform, source, target):
        raise KernelLaunchError(
            "source and target of a copy that nobody waits for must not overlap, got two arrays that share memory: "
            "copy one first, or leave `depends` out",
            code="copy-overlap",
        )
    queues = [
        platform.queue_of("copy", [(name, fields)])
        for name, (array, fields) in zip(("source", "target"), operands, strict=True)
        if not isinstance(array, np.ndarray)
    ]
    queues = queues or [platform.queue_of("copy", ())]
    queue, other = queues[-1], queues[0]  # the target's, if it has one
    nbytes = math.prod(operands[0][1].shape) * operands[0][1].dtype.itemsize
    if (graph := recorder.graph()) is not None:
        graph.require_own_events(depends)
        recorded: HostEvent = graph.copy(platform, queue, (operands[0][1], operands[1][1]), nbytes, (source, target))
        return recorded
    before = platform.native_events(listed_events(depends))
    if nbytes == 0:
        event = platform.barrier(queue, before)
        return platform.host_event(event, platform.release)
    before = [*platform.earlier_work(queue), *before]
    if other != queue:
        platform.require_reach(queue, other)
        before.append(platform.mark(other, timing=False)[0])
    event = recorder.submit(
        platform,
        queue,
        before,
        lambda on, after: platform.submit_copy(on, operands[1][1], operands[0][1], nbytes, after),
        kind="copy",
        name=" to ".join("host" if isinstance(array, np.ndarray) else "device" for array, _ in operands),
        nbytes=nbytes,
    )
    platform.note_work(queue, event)
    if other != queue:
        platform.hold(other, event)
    platform.keep(queue, event, (source, target))
    return platform.host_event(event, platform.release)


def view_of(platform: Platform, array: Any) -> np.ndarray[Any, Any]:
    """Return NumPy's view of an array in shared or host memory, after the work of its queue.

    Raises `ExecutionPlacementError` if it is in the device's own memory.
    """
    platform.require_usable()
    recorder.require_no_graph("a view of an array")
    kind = platform.memory_kind(array)
    if kind == "device":
        raise placement_error(
            "array must be in shared or host memory for a view, got one in device memory, which the host cannot read: "
            "copy it by `asnumpy(array)`",
            "view-of-device-memory",
        )
    fields = _fields(platform, array)
    platform.wait_for(platform.queue_of("view", [("array", fields)]))
    if 0 in fields.shape:  # there may be no memory of its own
        return np.empty(fields.shape, fields.dtype)
    return numpy_view(fields, array)


def is_overlapping(platform: Platform, source: Any, target: Any) -> bool:
    """Whether two arrays, of a device or of the host, may have bytes in common."""
    return may_share(*_fields(platform, source).span, *_fields(platform, target).span)


def _fields(platform: Platform, array: Any) -> ArrayFields:
    if isinstance(array, np.ndarray):
        return fields_of_numpy(array)
    fields = platform.fields(array)
    assert fields is not None  # the caller has found its platform
    return fields
