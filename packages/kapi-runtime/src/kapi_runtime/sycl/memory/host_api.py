"""`kapi_runtime.memory` on SYCL: dpnp's arrays where dpnp is installed, otherwise our own; and copies."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from dpctl.memory import USMAllocationError

from kapi_runtime.platform.dlpack import host_values
from kapi_runtime.sycl.memory.copying import copy_array
from kapi_runtime.sycl.memory.usm_array import (
    UsmArray,
    UsmType,
    coerced_kind,
    has_dpnp,
    memory_of,
    new_usm_array,
    shared_array_of,
    usm_array_of,
)
from kapi_runtime.sycl.memory.usm_bytes import memory_at
from kapi_runtime.sycl.queues.interruptible_waits import wait_for
from kapi_runtime.sycl.queues.queue import default_queue, describe_queue
from kapi_sim.errors import DriverError, ExecutionPlacementError, UsmAllocationError
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["asarray", "asnumpy", "like", "new", "submit_copy"]


def like(arrays: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a new array for the result of an operation on arrays; see `kapi_runtime.memory.like`."""
    queues = [array.sycl_queue for array in arrays]
    if not queues or any(queue != queues[0] for queue in queues):
        found_on = ", ".join(map(describe_queue, queues)) or "none"
        raise ExecutionPlacementError(
            f"arrays must be on one queue, got {found_on}: copy them to one by `asarray(array, queue=queue)`",
            code="different-queues",
        )
    kind = coerced_kind([array.usm_type for array in arrays])
    return new(shape, dtype, kind, queues[0], None)


def asarray(
    values: Any, dtype: Any = None, *, usm_type: UsmType | None = None, queue: Any = None, copy: bool | None = None
) -> Any:
    """Return values of any kind as an array on a queue; see `kapi_runtime.memory.asarray`."""
    array = _on_device(values)
    if array is None:
        host = np.asarray(host_values(values), dtype, order="C")
        host = host.astype(host.dtype.newbyteorder("="), copy=False)
        if copy is False:
            raise ValueError(
                f"values must be in unified shared memory with copy=False, got {type(values).__name__}: leave copy out"
            )
        array = new(host.shape, host.dtype, usm_type or "device", queue, None)
        copy_array(array, host, "host to device")
        return array
    target = array.sycl_queue if queue is None else queue
    wanted = (np.dtype(dtype or array.dtype), usm_type or array.usm_type)
    if copy is not True and wanted == (array.dtype, array.usm_type) and target == array.sycl_queue:
        return array
    if copy is False:
        raise ValueError(
            f"values must be {wanted[0]} in {wanted[1]} memory on {describe_queue(target)} if copy=False, got "
            f"{array.dtype} in {array.usm_type} memory on {describe_queue(array.sycl_queue)}: leave copy out"
        )
    if isinstance(array, UsmArray):
        copied = new_usm_array(array.shape, wanted[0], wanted[1], target)
        copied[...] = array
        return copied
    wait_for(array.sycl_queue)  # dpnp copies between queues without waiting for the one that it copies from
    return _dpnp().asarray(array, dtype=wanted[0], usm_type=wanted[1], sycl_queue=target, copy=True)


def asnumpy(array: Any) -> np.ndarray[Any, Any]:
    """Return a copy of an array in the host's memory; waits for the work that fills it."""
    source = _on_device(array)
    if source is None:
        return np.array(host_values(array))
    if isinstance(source, UsmArray):
        return source.asnumpy()
    if not source.flags.c_contiguous:
        source = source.copy(order="C")
    host = np.empty(source.shape, source.dtype)
    copy_array(host, source, "device to host")
    return host


def _dpnp() -> ModuleType:
    try:
        import dpnp
    except ImportError as error:
        raise DriverError(
            f"dpnp is installed and cannot be imported, though kapi_runtime.memory returns its arrays: {error}; "
            '`pip install "kapi-runtime[dpnp]"` mends it, and `pip uninstall dpnp` leaves the arrays to kapi',
            code="dpnp-broken",
        ) from error
    return dpnp  # type: ignore[no-any-return]  # dpnp is Any for mypy


def new(shape: tuple[int, ...], dtype: np.dtype[Any], kind: UsmType, queue: Any, fill: Any) -> Any:
    """Return a new array; see `Platform.new_array`."""
    queue = default_queue() if queue is None else queue
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > np.iinfo(np.intp).max:  # dpnp would compute with what is left of it in 64 bits
        raise _too_large(nbytes, shape, kind, queue)
    make = _new_of_dpnp if has_dpnp() and dtype.names is None else _new_of_ours  # dpnp has no records
    try:
        return make(shape, dtype, kind, queue, fill)
    except (MemoryError, USMAllocationError) as error:
        raise _too_large(nbytes, shape, kind, queue) from error


def _new_of_dpnp(shape: Any, dtype: np.dtype[Any], kind: UsmType, queue: Any, fill: Any) -> Any:
    dpnp = _dpnp()
    if fill is None:
        return dpnp.empty(shape, dtype=dtype, usm_type=kind, sycl_queue=queue)
    return dpnp.full(shape, fill, dtype=dtype, usm_type=kind, sycl_queue=queue)


def _new_of_ours(shape: Any, dtype: np.dtype[Any], kind: UsmType, queue: Any, fill: Any) -> UsmArray:
    array = new_usm_array(shape, dtype, kind, queue)
    if fill is not None:
        array[...] = np.full(shape, fill, dtype)
    return array


def _too_large(nbytes: int, shape: Any, kind: str, queue: Any) -> UsmAllocationError:
    return UsmAllocationError(
        f"an array must fit into the memory of its device, got {nbytes} bytes of {kind} memory for {shape} on "
        f"{describe_queue(queue)}, which holds {queue.sycl_device.global_mem_size} bytes, "
        f"{queue.sycl_device.max_mem_alloc_size} in one allocation",
        code="device-memory-short",
    )


def _on_device(values: Any) -> Any:
    """The values as an array that shares their memory, or None if they are not in USM."""
    if not has_dpnp() or (isinstance(values, UsmArray) and values.dtype.names is not None):
        if isinstance(values, UsmArray):
            return values
        if hasattr(values, "__sycl_usm_array_interface__"):
            return usm_array_of(values)
        return shared_array_of(values)
    dpnp = _dpnp()
    if isinstance(values, dpnp.ndarray):
        return values
    if isinstance(values, dpnp.tensor.usm_ndarray):
        return dpnp.asarray(values)
    if hasattr(values, "__sycl_usm_array_interface__"):
        return dpnp_array_of(values if isinstance(values, UsmArray) else usm_array_of(values))
    return shared_array_of(values)


def dpnp_array_of(array: UsmArray) -> Any:
    """A dpnp array of the same memory; `dpnp.asarray` would copy it, and takes no negative strides by the protocol."""
    dpnp = _dpnp()
    if array.size == 0:
        return dpnp.empty(array.shape, dtype=array.dtype, usm_type=array.usm_type, sycl_queue=array.sycl_queue)
    memory, offset = memory_of(array)
    strides = tuple(stride // array.itemsize for stride in array.strides)
    inner = dpnp.tensor.usm_ndarray(array.shape, dtype=array.dtype, buffer=memory, strides=strides, offset=offset)
    if not array.flags.writable:
        inner.flags["W"] = False
    return dpnp.asarray(inner)


def submit_copy(queue: Any, target: ArrayFields, source: ArrayFields, nbytes: int, before: Sequence[Any]) -> Any:
    """Submit a copy between two contiguous arrays, of USM or of the host, after these events; returns its event."""
    to, of = (_host_bytes(each) if each.owner is None else memory_at(each) for each in (target, source))
    if queue.is_in_order and None in (target.owner, source.owner):
        wait_for(queue)  # the driver would wait there, with memory that is not USM, and Ctrl-C not be heard
    return queue.memcpy_async(to, of, nbytes, list(before))


def _host_bytes(fields: ArrayFields) -> Any:
    low, high = fields.span
    return memoryview((ctypes.c_char * (high - low)).from_address(low)).cast("B")
