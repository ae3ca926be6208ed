"""NumPy, the library of the CPU platform's arrays: offloaded inside of `device_context("cpu")`, in place.

An offloaded function has views of them, of a class of its own: see `host_array`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any

import numpy as np

from kapi_numba_offload.libraries.host_array import HostArray, as_host_arrays
from kapi_numba_offload.libraries.host_memory import as_numpy, bytes_at, host_address, host_bounds
from kapi_numba_offload.libraries.interface import ArrayLibrary, DeviceFacts, function_named
from kapi_runtime.cpu.devices.device import CpuDevice
from kapi_runtime.cpu.memory.arrays import fields_of
from kapi_runtime.cpu.programs.work_group_size import chosen_group
from kapi_runtime.cpu.queues.queue import CpuQueue, default_queue
from kapi_runtime.platform.current import host_array_target
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["NumpyLibrary"]


class _Functions(SimpleNamespace):
    """NumPy's functions by name, each made when it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _function(name)


class NumpyLibrary(ArrayLibrary):
    """NumPy's arrays, in the memory of the host."""

    name = "numpy"
    functions = _Functions()
    array_class = HostArray
    has_numpy_signatures = True
    is_host = True

    def function(self, name: str) -> Any:
        return _function(name)

    def creating(self, queue: Any, keywords: Mapping[str, Any]) -> AbstractContextManager[dict[str, Any]]:
        return nullcontext({name: each for name, each in keywords.items() if name != "device"})

    def copy_call(self, name: str) -> str:
        return f"numpy.asarray({name})"

    def host_copy_call(self, name: str) -> str:
        return f"{name}.copy()"

    def queue_of(self, array: Any) -> CpuQueue:
        target = host_array_target.get()
        if target is None or not target.platform.is_host:
            return default_queue()
        queue: CpuQueue = target.queue
        return queue

    def is_on(self, array: Any, queue: Any) -> bool:
        return isinstance(queue, CpuQueue)

    def execution_queue(self, function: str, arrays: Sequence[tuple[str, Any]]) -> CpuQueue:
        return self.queue_of(None)

    def facts(self, queue: Any) -> DeviceFacts:
        return _facts(queue.device)

    def work_group(self, queue: Any, space: Sequence[int], has_loops: bool) -> Sequence[int] | None:
        return chosen_group(space)

    def fields(self, array: Any) -> ArrayFields:
        fields = fields_of(array, None)
        assert fields is not None  # it is an array of NumPy's
        return fields

    def kind_of(self, array: Any) -> str:
        return "device"

    def block_of(self, array: Any) -> tuple[int, int]:
        low, high = host_bounds(array)
        while isinstance(array.base, np.ndarray):
            array = array.base
            own_low, own_high = host_bounds(array)
            low, high = min(low, own_low), max(high, own_high)
        return low, high - low

    def layout_key(self, array: Any) -> tuple[Any, ...]:
        return array.strides, array.dtype

    def pointer_of(self, array: Any) -> int:
        return host_address(array)

    def is_writable(self, array: Any) -> bool:
        return bool(array.flags.writeable)

    def set_writable(self, array: Any, is_writable: bool) -> None:
        array.flags.writeable = is_writable

    def byte_bounds(self, array: Any) -> tuple[int, int]:
        return host_bounds(array)

    def is_reachable(self, array: Any) -> bool:
        return True

    def is_same_view(self, first: Any, second: Any) -> bool:
        return bool(
            host_address(first) == host_address(second)
            and first.shape == second.shape
            and first.strides == second.strides
            and first.dtype == second.dtype
        )

    def allocator(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str) -> Callable[[Any], Any]:
        empty = np.empty

        def make(queue: Any) -> Any:
            return empty(shape, dtype).view(HostArray)

        return make

    def from_host(self, value: Any, queue: Any, kind: str = "device") -> Any:
        return np.asarray(value).view(HostArray)

    def adopted(self, value: Any) -> Any:
        return np.asarray(value).view(HostArray)

    def flat_view(self, array: Any) -> Any:
        return array.reshape(-1)

    def view_of(self, owner: Any, address: int, like: np.ndarray[Any, Any], *, writable: bool = True) -> Any:
        strides = tuple(stride // like.itemsize for stride in like.strides)
        fields = ArrayFields(address, like.shape, strides, like.dtype, not writable, owner)
        return as_numpy(owner, fields, is_writeable=writable).view(HostArray)

    def host_copy(self, array: Any) -> np.ndarray[Any, Any]:
        return np.array(array)

    def host_bytes(self, owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
        return bytes_at(owner, low, high)

    def store_elements(self, array: Any, values: np.ndarray[Any, Any]) -> None:
        np.copyto(array, values)

    def host_views(self, queue: Any, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        return [each.view(np.ndarray) for each in arrays]


@cache
def _function(name: str) -> Any:
    """NumPy's function of a name, whose arrays are views; None if it has none."""
    own = function_named(np, name)
    if not callable(own):
        return None

    @wraps(own)  # which tells its signature
    def call(*args: Any, **keywords: Any) -> Any:
        return as_host_arrays(own(*args, **keywords))

    return call


@cache
def _facts(device: CpuDevice) -> DeviceFacts:
    return DeviceFacts(
        device.name, device.max_compute_units, device.max_work_group_size, is_cpu=True, has_host_memory=True
    )
