"""Arrays for `kapi_runtime.memory`: NumPy's, whatever kind of memory is asked for, since the CPU reads all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_runtime.cpu.memory.allocations import new_ndarray
from kapi_runtime.cpu.memory.arrays import numpy_of
from kapi_runtime.cpu.queues.queue import CpuQueue, default_queue
from kapi_runtime.platform import recorder
from kapi_runtime.platform.interface import Platform
from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.short_repr import short_repr

__all__ = ["asarray", "host_array_of", "new", "queue_named", "recorded"]


def new(shape: tuple[int, ...], dtype: np.dtype[Any], fill: Any) -> np.ndarray[Any, Any]:
    """Return a new array.

    Raises `UsmAllocationError` if there is not so much memory.
    """
    array = new_ndarray(shape, dtype)
    if fill is not None:
        array[...] = fill
    return array


def asarray(values: Any, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return values of any kind as NumPy's array, in the processor's byte order; what is one already is not copied.

    Raises `ValueError` if a copy is needed, and `copy` is False.
    """
    known = numpy_of(values)
    source = values if known is None else known
    wanted = np.dtype(dtype or np.asarray(source).dtype)
    if not wanted.isnative:
        wanted = wanted.newbyteorder("=")
    made: np.ndarray[Any, Any] = np.array(source, wanted, copy=copy)
    return made


def host_array_of(array: Any) -> np.ndarray[Any, Any]:
    """Return NumPy's array of the memory of an array of the platform."""
    found = numpy_of(array)
    assert found is not None  # the caller has found its platform
    return found


def queue_named(queue: Any) -> CpuQueue:
    """Return the queue that a program names for an array, or the default one.

    Raises `ExecutionPlacementError` if it is none of the CPU.
    """
    if queue is None:
        return default_queue()
    if not isinstance(queue, CpuQueue):
        raise ExecutionPlacementError(
            f"queue of an array of the CPU must be one of its queues, got {short_repr(queue)}: "
            "`kapi.queue('cpu')` makes one",
            code="no-queue",
        )
    return queue


def recorded(platform: Platform, queue: CpuQueue, name: str, nbytes: int, run: Callable[[], None]) -> None:
    """Copy on the host, after the queue's work, between two times if a record is kept."""
    if recorder.active is None:
        queue.wait()
        run()
        return

    def submitted(on: Any, after: Sequence[Any]) -> Any:
        return on.enqueue(run, after)

    recorder.submit(platform, queue, [], submitted, kind="copy", name=name, nbytes=nbytes).wait()
