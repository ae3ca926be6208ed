"""dpnp, the library of arrays on SYCL's devices: new arrays as cheap as they can be had, and its memory read in place.

No other module imports dpnp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

import dpnp
import numpy as np
from dpnp.dpnp_array import dpnp_array

from kapi_numba_offload.libraries.host_memory import as_numpy, bytes_at, each_once
from kapi_numba_offload.libraries.interface import ArrayLibrary, DeviceFacts, has_same_steps
from kapi_numba_offload.libraries.usm_pool import memory_for
from kapi_runtime.sycl.execution_queue import execution_queue
from kapi_runtime.sycl.programs.work_group_size import rounded_range
from kapi_sim.language.array_memory import ArrayFields
from kapi_types import array_fields
from kapi_types.usm.queue_waits import finish

__all__ = ["DpnpLibrary"]

_UsmNdarray = dpnp.tensor.usm_ndarray
_wrap = dpnp_array._create_from_usm_ndarray


class DpnpLibrary(ArrayLibrary):
    """dpnp's arrays, in USM memory."""

    name = "dpnp"
    functions = dpnp
    array_class = dpnp_array
    mended = frozenset(("argmax", "argmin"))
    parameter_names = MappingProxyType({"a_min": "min", "a_max": "max", "v": "values"})
    required_parameters = MappingProxyType({"linspace": {"num": 50}})

    def creating(self, queue: Any, keywords: Mapping[str, Any]) -> AbstractContextManager[dict[str, Any]]:
        if keywords.get("device") is not None or keywords.get("sycl_queue") is not None:
            return nullcontext(dict(keywords))
        words = {name: each for name, each in keywords.items() if name != "device"}
        return nullcontext({**words, "sycl_queue": queue})

    def copy_call(self, name: str) -> str:
        return f"dpnp.asarray({name})"

    def host_copy_call(self, name: str) -> str:
        return f"{name}.asnumpy()"

    def queue_of(self, array: Any) -> Any:
        return array._array_obj.sycl_queue

    def execution_queue(self, function: str, arrays: Sequence[tuple[str, Any]]) -> Any:
        return execution_queue(function, [(name, array_fields(array).owner) for name, array in arrays])

    def facts(self, queue: Any) -> DeviceFacts:
        return _facts(queue.sycl_device)

    def work_group(self, queue: Any, space: Sequence[int], has_loops: bool) -> Sequence[int] | None:
        facts = self.facts(queue)
        return rounded_range(space, facts.units, facts.max_work_group_size, has_loops)[1]

    def fields(self, array: Any) -> ArrayFields:
        return array_fields(array)

    def kind_of(self, array: Any) -> str:
        kind: str = array._array_obj.usm_type
        return kind

    def block_of(self, array: Any) -> tuple[int, int]:
        memory = array._array_obj.usm_data
        return memory._pointer, memory.nbytes

    def layout_key(self, array: Any) -> tuple[Any, ...]:
        inner = array._array_obj
        return inner.strides, inner.dtype, type(inner.usm_data)  # the class says the kind of memory

    def pointer_of(self, array: Any) -> int:
        pointer: int = array._array_obj._pointer
        return pointer

    def is_writable(self, array: Any) -> bool:
        return bool(array._array_obj.flags.writable)

    def set_writable(self, array: Any, is_writable: bool) -> None:
        array._array_obj.flags.writable = is_writable

    def byte_bounds(self, array: Any) -> tuple[int, int]:
        low, high = array._array_obj._byte_bounds
        return int(low), int(high)

    def is_same_view(self, first: Any, second: Any) -> bool:
        one, other = first._array_obj, second._array_obj
        return bool(
            one._pointer == other._pointer
            and one.shape == other.shape
            and one.dtype == other.dtype
            and has_same_steps(one.shape, one.strides, other.strides)
        )

    def allocator(self, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str) -> Callable[[Any], Any]:
        # An array without elements has memory, too: SYCL allocates no zero bytes.  `dpnp.empty` takes twice as long.
        size, text = max(1, prod(shape)) * dtype.itemsize, dtype.str

        def make(queue: Any) -> Any:
            return _wrap(_UsmNdarray(shape, dtype=text, buffer=memory_for(size, kind, queue), array_namespace=dpnp))

        return make

    def from_host(self, value: Any, queue: Any, kind: str = "device") -> Any:
        return dpnp.asarray(value, sycl_queue=queue, usm_type=kind)

    def adopted(self, value: Any) -> Any:
        return _wrap(dpnp.tensor.asarray(value, copy=False))

    def flat_view(self, array: Any) -> Any:
        inner = array.get_array()
        return _wrap(
            _UsmNdarray(
                (inner.size,), dtype=inner.dtype.str, buffer=inner.usm_data, offset=inner._element_offset,
                array_namespace=dpnp,
            )
        )  # fmt: skip

    def view_of(self, owner: Any, address: int, like: np.ndarray[Any, Any], *, writable: bool = True) -> Any:
        memory = owner._array_obj.usm_data
        size = like.itemsize
        # Offsets are in elements, so the start of memory is in bytes.
        start = (address - memory._pointer) % size
        if start:
            memory = type(memory)(_as_bytes(owner, memory._pointer + start, memory._pointer + memory.nbytes))
        made = _UsmNdarray(
            like.shape, dtype=like.dtype.str, buffer=memory, strides=tuple(stride // size for stride in like.strides),
            offset=(address - memory._pointer) // size, array_namespace=dpnp,
        )  # fmt: skip
        made.flags.writable = writable
        return _wrap(made)

    def host_copy(self, array: Any) -> np.ndarray[Any, Any]:
        if array.size == 0 or not self.is_reachable(array):
            copy: np.ndarray[Any, Any] = array.asnumpy()
            return copy
        (view,) = self.host_views(array.sycl_queue, (array,))
        return np.array(view)

    def host_bytes(self, owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
        if not self.is_reachable(owner):
            copy: np.ndarray[Any, Any] = _as_bytes(owner, low, high).asnumpy()
            return copy
        finish(owner.sycl_queue)
        return bytes_at(owner, low, high)

    def host_views(self, queue: Any, arrays: Iterable[Any]) -> list[np.ndarray[Any, Any]]:
        finish(queue)
        return [as_numpy(each, array_fields(each)) for each in arrays]

    def store_elements(self, array: Any, values: np.ndarray[Any, Any]) -> None:
        if not array.size:
            return
        if self.is_reachable(array):
            np.copyto(self.host_views(array.sycl_queue, (array,))[0], values)
        else:
            once = each_once(values)
            array[once] = values[once]


@lru_cache(maxsize=64)
def _facts(device: Any) -> DeviceFacts:
    is_cpu = bool(device.is_cpu)
    return DeviceFacts(
        str(device.name),
        int(device.max_compute_units),
        int(device.max_work_group_size),
        is_cpu,
        # A processor takes any memory of the host as its own.
        is_cpu and bool(device.has_aspect_usm_system_allocations),
        frozenset(
            (
                *(() if device.has_aspect_fp16 else ("float16",)),
                *(() if device.has_aspect_fp64 else ("float64", "complex128")),
            )
        ),
    )


def _as_bytes(owner: Any, low: int, high: int) -> Any:
    """The memory from one address to another, as an array of bytes; it belongs to the dpnp array `owner`."""
    memory = owner._array_obj.usm_data
    offset = low - memory._pointer
    return _wrap(_UsmNdarray((high - low,), dtype="|u1", buffer=memory, offset=offset, array_namespace=dpnp))
