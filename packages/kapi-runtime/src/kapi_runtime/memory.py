"""Arrays in unified shared memory (USM), of the kind that is wanted, and copies.

The arrays are dpnp's where dpnp is installed.  Without it they are of kapi's own class `UsmArray`, which kernels take
as well, and which can be sliced, copied and handed on by DLPack, but does not compute.

=========  =================================  ======================  =============================
kind       lives                              host reads it           use
=========  =================================  ======================  =============================
"device"   on the device                      after a copy            what kernels work on
"shared"   where it was used last             yes, once work is done  what both use in turns
"host"     in the host's memory, pinned       yes, once work is done  what the device reads once
=========  =================================  ======================  =============================

References
----------
SYCL 2020, section 4.8 (unified shared memory); the array API standard, DLPack.
"""

from __future__ import annotations

import math
import operator
from types import ModuleType
from typing import Any

import numpy as np
from dpctl.memory import USMAllocationError

from kapi_runtime.sycl.copying import copy_array
from kapi_runtime.sycl.dlpack import is_on_sycl_device
from kapi_runtime.sycl.queues import default_queue, describe_queue
from kapi_runtime.sycl.usm_array import (
    UsmArray,
    UsmType,
    coerced_kind,
    has_dpnp,
    memory_of,
    new_usm_array,
    shared_array_of,
    usm_array_of,
)
from kapi_runtime.sycl.waiting import wait_for
from kapi_sim.errors import DriverError, DtypeError, ExecutionPlacementError, LimitError, UsmAllocationError
from kapi_sim.shown import shown

__all__ = ["UsmArray", "asarray", "asnumpy", "copy", "device_array", "host_array", "like", "shared_array"]


def device_array(shape: int | tuple[int, ...], dtype: Any = "float64", *, queue: Any = None, fill: Any = None) -> Any:
    """Return a new array in the device's own memory, which the host cannot read.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Type of its elements.
    queue : dpctl.SyclQueue, optional
        The queue that it belongs to; by default the default queue of the current device.
    fill : number, optional
        Value of all elements; without it they are what happens to be there.

    Returns
    -------
    dpnp.ndarray or UsmArray

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    LimitError
        If `shape` is none.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.memory.device_array((2, 3), "float32", fill=1)  # a dpnp array, where dpnp is installed
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    return _new(shape, dtype, "device", queue, fill)


def shared_array(shape: int | tuple[int, ...], dtype: Any = "float64", *, queue: Any = None, fill: Any = None) -> Any:
    """Return a new array in memory that moves between host and device, as each uses it.

    Parameters and errors are those of `device_array`.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.memory.shared_array(3, "int32", fill=7).usm_type
    'shared'
    """
    return _new(shape, dtype, "shared", queue, fill)


def host_array(shape: int | tuple[int, ...], dtype: Any = "float64", *, queue: Any = None, fill: Any = None) -> Any:
    """Return a new array in pinned memory of the host, which the device reads over the bus.

    Parameters and errors are those of `device_array`.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.memory.host_array(3, "int32", fill=7).usm_type
    'host'
    """
    return _new(shape, dtype, "host", queue, fill)


def like(*arrays: Any, shape: int | tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Return a new array for the result of an operation on `arrays`, on their queue, of the kind that dpnp gives it.

    Device memory among them makes it device memory, otherwise shared memory shared; only of host arrays it is host
    memory.

    Parameters
    ----------
    *arrays : USM array
        At least one; all on one queue.
    shape : int or tuple of int, optional
        By default that to which they broadcast.
    dtype : dtype, optional
        By default that to which they promote.

    Returns
    -------
    dpnp.ndarray or UsmArray

    Raises
    ------
    ExecutionPlacementError
        If there is none, or they do not share one queue.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> host, shared = kapi.memory.host_array(3, "int32"), kapi.memory.shared_array((2, 1), "float32")
    >>> result = kapi.memory.like(host, shared)
    >>> result.usm_type, result.shape, result.dtype
    ('shared', (2, 3), dtype('float64'))
    """
    for array in arrays:
        if not hasattr(array, "sycl_queue"):
            raise ExecutionPlacementError(
                f"arrays must be USM arrays, got {type(array).__name__}: copy it to the device by `asarray(array)`",
                code="array-on-host",
            )
    queues = [array.sycl_queue for array in arrays]
    if not queues or any(queue != queues[0] for queue in queues):
        places = ", ".join(map(describe_queue, queues)) or "none"
        raise ExecutionPlacementError(
            f"arrays must be on one queue, got {places}: copy them to one by `asarray(array, queue=queue)`",
            code="different-queues",
        )
    kind = coerced_kind([array.usm_type for array in arrays])
    if shape is None:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    if dtype is None:
        dtype = np.result_type(*(array.dtype for array in arrays))
    return _new(shape, dtype, kind, queues[0], None)


def asarray(
    values: Any, dtype: Any = None, *, usm_type: UsmType | None = None, queue: Any = None, copy: bool | None = None
) -> Any:
    """Return values of any kind as an array on a queue; what is there already is not copied.

    Parameters
    ----------
    values : array or nested sequence or number
        A USM array; an array of any library that offers DLPack (what `__array_namespace__` gives does): memory of a
        SYCL device is shared, not copied; what NumPy takes is copied to the device.
    dtype : dtype, optional
        By default that of the values.
    usm_type : {"device", "shared", "host"}, optional
        Kind of memory; by default that of the values, or device memory.
    queue : dpctl.SyclQueue, optional
        By default that of the values, or the default queue of the current device.
    copy : bool, optional
        True copies always; False raises where a copy is needed.

    Returns
    -------
    dpnp.ndarray or UsmArray

    Raises
    ------
    ValueError
        If a copy is needed, and `copy` is False.
    UsmAllocationError
        If there is not so much memory.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> kapi.memory.asarray(np.arange(3), usm_type="shared")
    array([0, 1, 2])
    """
    array = _on_device(values)
    if array is None:
        host = np.asarray(_on_host(values), dtype, order="C")
        host = host.astype(host.dtype.newbyteorder("="), copy=False)
        if copy is False:
            raise ValueError(
                f"values must be in unified shared memory if copy=False, got {type(values).__name__}: leave copy out"
            )
        array = _new(host.shape, host.dtype, usm_type or "device", queue, None)
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
    """Return a copy of an array in the host's memory; waits for the work that fills it.

    Parameters
    ----------
    array : USM array or anything that NumPy takes

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.memory.asnumpy(kapi.memory.device_array(3, "int8", fill=2))
    array([2, 2, 2], dtype=int8)
    """
    source = _on_device(array)
    if source is None:
        return np.array(_on_host(array))
    if isinstance(source, UsmArray):
        return source.asnumpy()
    if not source.flags.c_contiguous:
        source = source.copy(order="C")
    host = np.empty(source.shape, source.dtype)
    copy_array(host, source, "device to host")
    return host


def copy(source: Any, target: Any) -> None:
    """Copy the elements of one array to another of the same shape and type, either of them on the host; waits.

    Parameters
    ----------
    source, target : USM array or numpy.ndarray
        C-contiguous; may be on different devices.

    Raises
    ------
    DtypeError
        If shapes or types differ, one is not contiguous, or the target is read-only.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> target = kapi.memory.device_array(3, "int32")
    >>> kapi.memory.copy(np.array([1, 2, 3], "int32"), target)
    >>> target
    array([1, 2, 3], dtype=int32)
    """
    for array in (source, target):
        if not hasattr(array, "flags"):
            raise DtypeError(
                f"source and target of a copy must be arrays, got {type(array).__name__}: `asarray(values)` makes one",
                code="copy-without-array",
            )
        if (array.shape, array.dtype) != (source.shape, source.dtype) or not array.flags.c_contiguous:
            raise DtypeError(
                "source and target of a copy must be C-contiguous, of one shape and one type, got "
                f"{source.dtype} {source.shape} and {target.dtype} {target.shape}: write `target[...] = source`",
                code="copy-unlike",
            )
    if not target.flags["W"]:
        raise DtypeError(
            "target of a copy must be writable, got a read-only array: copy to another one", code="copy-to-read-only"
        )
    if isinstance(source, np.ndarray) and isinstance(target, np.ndarray):
        target[...] = source
        return
    places = ["host" if isinstance(each, np.ndarray) else "device" for each in (source, target)]
    copy_array(target, source, " to ".join(places))


def _dpnp() -> ModuleType:
    try:
        import dpnp
    except ImportError as error:
        raise DriverError(
            f"dpnp must be importable where it is installed, whose arrays kapi_runtime.memory returns, got: {error}; "
            '`pip install "kapi-runtime[cpu,dpnp]"` mends it, and `pip uninstall dpnp` leaves the arrays to kapi',
            code="dpnp-broken",
        ) from error
    return dpnp  # type: ignore[no-any-return]  # dpnp is Any for mypy


def _new(shape: Any, dtype: Any, kind: UsmType, queue: Any, fill: Any) -> Any:
    queue = default_queue() if queue is None else queue
    nbytes = _nbytes(shape, dtype)
    if nbytes > np.iinfo(np.intp).max:  # dpnp would compute with what is left of it in 64 bits
        raise _too_large(nbytes, shape, kind, queue)
    make = _new_of_dpnp if has_dpnp() else _new_of_ours
    try:
        return make(shape, np.dtype(dtype), kind, queue, fill)
    except (MemoryError, USMAllocationError) as error:
        raise _too_large(nbytes, shape, kind, queue) from error


def _new_of_dpnp(shape: Any, dtype: np.dtype[Any], kind: UsmType, queue: Any, fill: Any) -> Any:
    dpnp = _dpnp()
    if fill is None:
        return dpnp.empty(shape, dtype=dtype, usm_type=kind, sycl_queue=queue)
    return dpnp.full(shape, fill, dtype=dtype, usm_type=kind, sycl_queue=queue)


def _new_of_ours(shape: Any, dtype: np.dtype[Any], kind: UsmType, queue: Any, fill: Any) -> UsmArray:
    extents = tuple(map(operator.index, shape if isinstance(shape, (tuple, list)) else (shape,)))
    array = new_usm_array(extents, dtype, kind, queue)
    if fill is not None:
        array[...] = np.full(extents, fill, dtype)
    return array


def _nbytes(shape: Any, dtype: Any) -> int:
    try:
        extents = [operator.index(extent) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,))]
        if min(extents, default=0) < 0:
            raise TypeError
    except TypeError:
        raise LimitError(
            f"shape must be an integer of at least 0, or a tuple of such, got {shown(shape)}", code="memory-shape"
        ) from None
    return math.prod(extents) * int(np.dtype(dtype).itemsize)


def _too_large(nbytes: int, shape: Any, kind: str, queue: Any) -> UsmAllocationError:
    return UsmAllocationError(
        f"an array must fit into the memory of its device, got {nbytes} bytes of {kind} memory for {shape} on "
        f"{describe_queue(queue)}, which holds {queue.sycl_device.global_mem_size} bytes, "
        f"{queue.sycl_device.max_mem_alloc_size} in one allocation",
        code="device-memory-short",
    )


def _on_device(values: Any) -> Any:
    """The values as an array that shares their memory, or None if they are not in USM."""
    if not has_dpnp():
        if isinstance(values, UsmArray):
            return values
        if hasattr(values, "__sycl_usm_array_interface__"):
            return usm_array_of(values)
        return shared_array_of(values) if is_on_sycl_device(values) else None
    dpnp = _dpnp()
    if isinstance(values, dpnp.ndarray):
        return values
    if isinstance(values, dpnp.tensor.usm_ndarray):
        return dpnp.asarray(values)
    if hasattr(values, "__sycl_usm_array_interface__"):
        return _dpnp_array_of(values if isinstance(values, UsmArray) else usm_array_of(values))
    return shared_array_of(values) if is_on_sycl_device(values) else None


def _dpnp_array_of(array: UsmArray) -> Any:
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


def _on_host(values: Any) -> Any:
    if hasattr(values, "__dlpack__") and not isinstance(values, (np.ndarray, np.generic)):
        return np.from_dlpack(values)
    return values
