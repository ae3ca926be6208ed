"""CuPy, the library of arrays on NVIDIA's GPUs: its own pool's memory, on the stream that is current at each call.

No other module imports CuPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import cupy
import numpy as np

from kapi_numba_offload.libraries.host_memory import each_once
from kapi_numba_offload.libraries.interface import ArrayLibrary, DeviceFacts, has_same_steps
from kapi_runtime.cuda.devices.device import CudaDevice, device_at
from kapi_runtime.cuda.execution_queue import execution_queue
from kapi_runtime.cuda.memory.arrays import cuda_fields
from kapi_runtime.cuda.queues.queue import CudaQueue
from kapi_runtime.cuda.queues.streams import LEGACY, stream_of
from kapi_sim.language.array_memory import ArrayFields
from kapi_types.device_arrays.libraries import cupy_fields

__all__ = ["CupyLibrary"]

_MOST_QUEUES = 64
_PINNED = range(1 << 16, (1 << 28) + 1)
"""Bytes of copies to the host in memory that is pinned, which takes a tenth of the time: CuPy's pool keeps as much."""


class CupyLibrary(ArrayLibrary):
    """CuPy's arrays, in memory of a GPU's own."""

    name = "cupy"
    functions = cupy
    array_class = cupy.ndarray
    mended = frozenset(("argmax", "argmin"))
    has_slow_reductions = True
    replays_graphs = True
    has_read_only_arrays = False
    has_numpy_signatures = True

    def __init__(self) -> None:
        self._queues: dict[tuple[int, int], CudaQueue] = {}

    def creating(self, queue: Any, keywords: Mapping[str, Any]) -> AbstractContextManager[dict[str, Any]]:
        words = {name: each for name, each in keywords.items() if name != "device"}
        return nullcontext(words) if queue is None or self._is_current(queue) else _on(queue, words)

    def copy_call(self, name: str) -> str:
        return f"cupy.asarray({name})"

    def host_copy_call(self, name: str) -> str:
        return f"cupy.asnumpy({name})"

    def queue_of(self, array: Any) -> CudaQueue:
        return self._current_queue(array.data.device_id)

    def is_on(self, array: Any, queue: Any) -> bool:  # no stream has become current since
        return queue.__class__ is CudaQueue and array.data.device_id == queue.device.ordinal

    def execution_queue(self, function: str, arrays: Sequence[tuple[str, Any]]) -> Any:
        if all(type(array) is cupy.ndarray for _, array in arrays):
            ordinals = {array.data.device_id for _, array in arrays}
            if len(ordinals) == 1:
                return self._current_queue(ordinals.pop())
        fields = [(name, cuda_fields(array)) for name, array in arrays]
        ordinal = cupy.cuda.runtime.getDevice()
        queue = execution_queue(function, [each for each in fields if each[1] is not None], device_at(ordinal))  # type: ignore[misc]
        return self._current_queue(queue.device.ordinal)

    def facts(self, queue: Any) -> DeviceFacts:
        return _facts(queue.device)

    def fields(self, array: Any) -> ArrayFields:
        fields = cupy_fields(array)
        assert fields is not None  # it is an array of CuPy's
        return fields

    def kind_of(self, array: Any) -> str:
        return "device"

    def block_of(self, array: Any) -> tuple[int, int]:
        memory = array.data.mem
        return int(memory.ptr), int(memory.size)

    def layout_key(self, array: Any) -> tuple[Any, ...]:
        return array.strides, array.dtype

    def byte_bounds(self, array: Any) -> tuple[int, int]:  # asked at each store: without `ArrayFields`
        low = high = array.data.ptr
        if not array.size:
            return low, low
        for length, stride in zip(array.shape, array.strides, strict=True):
            if stride < 0:
                low += (length - 1) * stride
            else:
                high += (length - 1) * stride
        return low, high + array.itemsize

    def pointer_of(self, array: Any) -> int:
        pointer: int = array.data.ptr
        return pointer

    def is_writable(self, array: Any) -> bool:
        return True

    def has_repeated_elements(self, array: Any) -> bool:
        return 0 in array.strides and array.size > 1

    def is_same_view(self, first: Any, second: Any) -> bool:
        return bool(
            first.data.ptr == second.data.ptr
            and first.shape == second.shape
            and first.dtype == second.dtype
            and has_same_steps(first.shape, first.strides, second.strides)
        )

    def allocator(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str) -> Callable[[Any], Any]:
        get_device, made = cupy.cuda.runtime.getDevice, cupy.ndarray

        def make(queue: Any) -> Any:
            if get_device() == queue.device.ordinal:
                return made(shape, dtype)
            with _on(queue, {}):
                return made(shape, dtype)

        return make

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str, queue: Any) -> Any:
        if self._is_current(queue):
            return cupy.ndarray(shape, dtype)
        with _on(queue, {}):
            return cupy.ndarray(shape, dtype)

    def from_host(self, value: Any, queue: Any, kind: str = "device") -> Any:
        with self.creating(queue, {}):
            return cupy.array(value)

    def adopted(self, value: Any) -> Any:
        return cupy.asarray(value)

    def flat_view(self, array: Any) -> Any:
        return array.ravel()

    def view_of(self, owner: Any, address: int, like: np.ndarray[Any, Any], *, writable: bool = True) -> Any:
        memory = owner.data.mem
        return cupy.ndarray(like.shape, like.dtype, cupy.cuda.MemoryPointer(memory, address - memory.ptr), like.strides)

    def host_copy(self, array: Any) -> np.ndarray[Any, Any]:
        copy: np.ndarray[Any, Any] = array.get()
        return copy

    def host_bytes(self, owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
        memory, size = owner.data.mem, high - low
        start = cupy.cuda.MemoryPointer(memory, low - memory.ptr)
        found: np.ndarray[Any, Any] = cupy.ndarray((size,), np.uint8, start).get(out=_pinned(size))
        return found

    def store_elements(self, array: Any, values: np.ndarray[Any, Any]) -> None:
        if not array.size:
            return
        once = each_once(values)
        with self.creating(self.queue_of(array), {}):
            array[once] = cupy.asarray(values[once])

    def _current_queue(self, ordinal: int) -> CudaQueue:
        stream = cupy.cuda.get_current_stream(ordinal)
        key = ordinal, stream.ptr
        queue = self._queues.get(key)
        # A stream that has been destroyed may lend its handle to a new one.
        if queue is None or (queue.stream.owner is not None and queue.stream.owner is not stream):
            if len(self._queues) >= _MOST_QUEUES:
                self._queues.clear()
            queue = self._queues[key] = CudaQueue(device_at(ordinal), stream_of(stream.ptr, stream))
        return queue

    def _is_current(self, queue: CudaQueue) -> bool:
        ordinal = queue.device.ordinal
        pointer = cupy.cuda.get_current_stream(ordinal).ptr or LEGACY
        return bool(cupy.cuda.runtime.getDevice() == ordinal and pointer == queue.handle)


@contextmanager
def _on(queue: CudaQueue, words: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Make a queue CuPy's current stream."""
    with cupy.cuda.Device(queue.device.ordinal), cupy.cuda.ExternalStream(queue.handle, queue.device.ordinal):
        yield words


@cache
def _facts(device: CudaDevice) -> DeviceFacts:
    return DeviceFacts(
        str(device.name), device.max_compute_units, device.max_work_group_size, is_cpu=False, has_host_memory=False
    )


def _pinned(size: int) -> np.ndarray[Any, Any] | None:
    """Pinned memory of so many bytes; None for few or very many, and where the driver has none left."""
    if size not in _PINNED:
        return None
    try:
        return np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
    except cupy.cuda.runtime.CUDARuntimeError:
        return None
