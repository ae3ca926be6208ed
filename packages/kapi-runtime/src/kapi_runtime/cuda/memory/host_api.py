"""Arrays of CUDA devices for `kapi_runtime.memory`, and copies between them and the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kapi_runtime.cuda.memory.allocations import Kind
from kapi_runtime.cuda.memory.arrays import library_of
from kapi_runtime.cuda.memory.cuda_array import CudaArray, array_of_fields, new_cuda_array
from kapi_runtime.cuda.queues.queue import CudaQueue, describe_queue, queue_of_stream
from kapi_runtime.platform import dlpack, recorder
from kapi_runtime.platform.dlpack import host_values
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.errors import DtypeError, ExecutionPlacementError, LimitError
from kapi_sim.short_repr import short_repr

__all__ = ["asarray", "copy_array", "kind_of", "like", "new", "to_host"]


def new(
    shape: tuple[int, ...], dtype: np.dtype[Any], kind: Kind, queue: CudaQueue, is_on_queue: bool, fill: Any
) -> CudaArray:
    """Return a new array, as `new_cuda_array` does, with the value `fill` unless that is None.

    Raises `LimitError` if managed memory is asked for, and the device has none.
    """
    if kind == "shared" and not queue.device.has_managed_memory:
        raise LimitError(
            f"{describe_queue(queue)} has no managed memory for shared arrays: make a device array", code="device-lacks"
        )
    array = new_cuda_array(shape, dtype, kind, queue, is_on_queue)
    if fill is not None:
        array[...] = np.full(shape, fill, dtype)
    return array


def asarray(
    platform: Platform,
    values: Any,
    dtype: Any,
    kind: Kind | None,
    queue: CudaQueue | None,
    otherwise: CudaQueue,
    copy: bool | None,
) -> Any:
    """Return values of any kind as an array; see `MemoryManager.array_of`.  Values of no queue get `otherwise`."""
    source = _on_device(values)
    if source is None:
        host = np.asarray(host_values(values), dtype, order="C")
        host = host.astype(host.dtype.newbyteorder("="), copy=False)
        if copy is False:
            raise ValueError(
                f"values must be in memory of a CUDA device if copy=False, got {type(values).__name__}: leave copy out"
            )
        target = queue if queue is not None else otherwise
        made = new(host.shape, host.dtype, kind or "device", target, queue is not None, None)
        _recorded(platform, target, "host to device", host.nbytes, lambda: made.__setitem__(..., host))
        return made
    wanted = np.dtype(dtype or source.dtype), kind or source.usm_type
    target = source.queue if queue is None else queue
    is_there = wanted == (source.dtype, source.usm_type) and target.device == source.device
    if copy is not True and is_there and (queue is None or queue == source.queue):
        return values if library_of(values) == "kapi_runtime" else source
    if copy is False:
        raise ValueError(
            f"values must be {wanted[0]} in {wanted[1]} memory on {describe_queue(target)} if copy=False, got "
            f"{source.dtype} in {source.usm_type} memory on {describe_queue(source.queue)}: leave copy out"
        )
    made = new(source.shape, wanted[0], wanted[1], target, queue is not None, None)
    _recorded(platform, target, "device to device", source.nbytes, lambda: made.__setitem__(..., source))
    return made


def to_host(platform: Platform, array: Any) -> np.ndarray[Any, Any]:
    """Return a copy of an array in the host's memory, after the work that fills it."""
    source = array_of_fields(array)
    found: list[np.ndarray[Any, Any]] = []
    _recorded(platform, source.queue, "device to host", source.nbytes, lambda: found.append(source.asnumpy()))
    return found[0]


def copy_array(platform: Platform, source: Any, target: Any) -> None:
    """Copy one array to another of the same shape and type, one of them at least on a CUDA device, and wait."""
    if isinstance(target, np.ndarray):
        target[...] = to_host(platform, source)
        return
    into = array_of_fields(target)
    where = "host to device" if isinstance(source, np.ndarray) else "device to device"
    _recorded(platform, into.queue, where, into.nbytes, lambda: into.__setitem__(..., source))


def like(arrays: Sequence[Any], shape: Any, dtype: Any) -> CudaArray:
    """Return a new array for the result of an operation on arrays, on the queue of the first.

    Raises `ExecutionPlacementError` if there is none, or they are on different devices.
    """
    found = [array_of_fields(array) for array in arrays]
    devices = {array.device for array in found}
    if len(devices) != 1:
        found_on = ", ".join(describe_queue(array.queue) for array in found) or "none"
        raise placement_error(
            f"arrays must be on one device, got {found_on}: copy them to one by `asarray(array, queue=queue)`",
            "different-queues",
        )
    kinds = [array.usm_type for array in found]
    kind: Kind = "device" if "device" in kinds else "shared" if "shared" in kinds else "host"
    return new(shape, dtype, kind, found[0].queue, found[0]._kapi_is_on_queue, None)


def kind_of(array: Any) -> Kind:
    """Return where the memory of an array is; another library's tells it by DLPack."""
    if isinstance(array, CudaArray):
        return array.usm_type
    if not hasattr(type(array), "__dlpack_device__"):
        return "device"
    kinds: dict[int | None, Kind] = {dlpack.CUDA_HOST: "host", dlpack.CUDA_MANAGED: "shared"}
    return kinds.get(dlpack.device_kind(array), "device")


def queue_named(queue: Any) -> CudaQueue | None:
    """Return the queue that a program names for an array, or None if it names none.

    Raises `ExecutionPlacementError` if it is none of CUDA's.
    """
    if queue is None:
        return None
    found = queue_of_stream(queue)
    if found is None:
        raise ExecutionPlacementError(
            f"queue of an array of a CUDA device must be a stream, got {short_repr(queue)}: "
            "`kapi.queue('cuda:0')` makes one",
            code="no-queue",
        )
    return found


def _recorded(platform: Platform, queue: CudaQueue, name: str, nbytes: int, run: Any) -> None:
    """Copy, between two marks if a record is kept."""

    def submitted(on: Any, after: Sequence[Any]) -> Any:
        barrier = on.submit_barrier(after)
        run()
        return barrier

    if recorder.active is None:
        run()
    else:
        recorder.submit(platform, queue, [], submitted, kind="copy", name=name, nbytes=nbytes)


def _on_device(values: Any) -> CudaArray | None:
    """The values as an array that shares their memory, or None if they are on no CUDA device."""
    if isinstance(values, CudaArray):
        return values
    if isinstance(values, (np.ndarray, np.generic, int, float, complex, list, tuple)):
        return None
    try:
        return array_of_fields(values)
    except DtypeError:
        if hasattr(type(values), "__cuda_array_interface__"):
            raise
        return None
