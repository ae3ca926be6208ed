"""Arrays in a device's memory by numba.cuda's names.

They are those of `kapi_runtime.memory`, with the methods of numba.cuda's: ``copy_to_host`` and the like.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from kapi_runtime import memory
from kapi_runtime.compat.array_forms import form_like, form_of
from kapi_runtime.compat.streams import queue_of_stream
from kapi_runtime.host.devices import current_device
from kapi_runtime.host.queues import require_queue
from kapi_runtime.platform.installed import platform_of_array, platform_of_device
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.interface.numba_cuda import lacking
from kapi_runtime.platform.numba_cuda_arrays import wait_for_stream
from kapi_sim.errors import DtypeError

__all__ = [
    "as_cuda_array",
    "device_array",
    "device_array_like",
    "from_cuda_array_interface",
    "is_cuda_array",
    "open_ipc_array",
    "platform_for",
    "to_device",
]


def platform_for(queue: Any) -> Platform:
    """Return the platform of a queue, or of the current device."""
    return platform_of_device(current_device()) if queue is None else require_queue(queue, "stream")[0]


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copy values to the current device; an array of a device is returned as it is.

    Parameters
    ----------
    obj : array or nested sequence or number
        What is copied.  The new array has the order of a NumPy array without gaps, C's or Fortran's.
    stream : Queue or 0
        The queue of the new array; 0 is the default queue.
    copy : bool
        With False, the new array has any elements, and `to` is left as it is.
    to : array, optional
        An array of a device that is written in place of a new one, after the work of `stream`.

    Returns
    -------
    array
        The array on the device.

    Raises
    ------
    DtypeError
        If `to` has another shape or type.
    UsmAllocationError
        If there is not so much memory.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime.compat as cuda
    >>> values = cuda.to_device(np.arange(3, dtype="int32"))
    >>> values
    array([0, 1, 2], dtype=int32)
    >>> values.copy_to_host()
    array([0, 1, 2], dtype=int32)
    """
    if to is not None:
        if copy:
            wait_for_stream(stream)
            memory.copy(np.ascontiguousarray(obj) if platform_of_array(obj, "obj") is None else obj, to)
        return to
    if is_cuda_array(obj):
        return as_cuda_array(obj)
    values = np.asarray(obj)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    made = device_array_like(values, stream)
    if copy:
        made.copy_to_device(values)
    return made


def device_array(
    shape: int | tuple[int, ...], dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> Any:
    """Return a new array in the device's memory.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Type of its elements.
    strides : tuple of int, optional
        Bytes from element to element along each axis; by default there are no gaps.
    order : {"C", "F"}
        The order of elements where no strides are given.
    stream : Queue or 0
        Its queue; 0 is the default queue.

    Returns
    -------
    array

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.device_array((2, 3), "int32", order="F").is_f_contiguous()
    True
    """
    return _new(form_of(shape, dtype, strides, order), stream)


def device_array_like(ary: Any, stream: Any = 0) -> Any:
    """Return a new array in the device's memory, of an array's shape, type, and order of axes in memory.

    Parameters
    ----------
    ary : array
        An array of the host or a device.
    stream : Queue or 0
        The queue of the new array; 0 is the default queue.

    Returns
    -------
    array

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    return _new(form_like(ary), stream)


def is_cuda_array(obj: Any) -> bool:
    """Return whether an object is an array of a device, which `as_cuda_array` takes.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.is_cuda_array(cuda.device_array(3)), cuda.is_cuda_array([1, 2])
    (True, False)
    """
    return platform_of_array(obj, "obj") is not None


def as_cuda_array(obj: Any, sync: bool = True) -> Any:
    """Return an array of a device, of any library, as one that shares its memory.

    Parameters
    ----------
    obj : array
        An array with ``__cuda_array_interface__`` or ``__sycl_usm_array_interface__``, or on a device by DLPack.
    sync : bool
        Whether to wait for the work that fills the array, where its queue is known.

    Returns
    -------
    array

    Raises
    ------
    TypeError
        If it is no array of a device.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime.compat as cuda
    >>> theirs = dpnp.zeros(3, dtype="int32")
    >>> ours = cuda.as_cuda_array(theirs)
    >>> ours[1] = 5
    >>> theirs
    array([0, 5, 0], dtype=int32)
    """
    platform = platform_of_array(obj, "obj of as_cuda_array")
    if platform is None:
        raise TypeError(
            f"obj of as_cuda_array must be an array of a device, got {type(obj).__name__}: `to_device` copies it there"
        )
    if sync:
        fields = platform.fields(obj)
        if fields is not None:
            platform.wait_for(platform.queue_of("as_cuda_array", [("obj", fields)]))
    return platform.numba_cuda.array(platform.array_of(obj, None, None, None, None))


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> Any:
    """Return an array of the memory that a description of an array names.

    Parameters
    ----------
    desc : dict
        What ``__cuda_array_interface__`` of an array gives, or ``__sycl_usm_array_interface__``, which has a queue.
    owner : object, optional
        What keeps the memory.
    sync : bool
        Whether to wait for the work that fills the array, where its queue is known.

    Returns
    -------
    array

    Raises
    ------
    TypeError
        If `desc` is no description.
    DtypeError
        If it has a mask, or what kernels do not take.
    """
    if not isinstance(desc, dict) or "typestr" not in desc:
        raise TypeError(
            f"desc of from_cuda_array_interface must be what an array's interface gives, got {type(desc).__name__}: "
            "`as_cuda_array` takes the array"
        )
    if desc.get("mask") is not None:
        raise DtypeError(
            "desc of from_cuda_array_interface must have no mask, which kernels would not see, got one with it: leave "
            "the mask out",
            code="argument-array-class",
        )
    name = "__sycl_usm_array_interface__" if "syclobj" in desc else "__cuda_array_interface__"
    described = type("Described", (), {name: desc, "owner": owner, "__module__": "described"})()
    return as_cuda_array(described, sync)


def open_ipc_array(handle: Any, shape: Any, dtype: Any, strides: Any = None, offset: int = 0) -> NoReturn:
    """Raise LimitError: kapi opens no memory of other processes.

    Parameters
    ----------
    handle, shape, dtype, strides, offset
        As numba.cuda has them.
    """
    raise lacking("open_ipc_array", "share memory of the host, `multiprocessing.shared_memory`, and copy it")


def _new(form: Any, stream: Any) -> Any:
    queue = queue_of_stream(stream)
    platform = platform_for(queue)
    if form.is_c_contiguous:
        return platform.numba_cuda.array(memory.device_array(form.shape, form.dtype, queue=queue))
    return platform.numba_cuda.strided_array(form.shape, form.dtype, form.strides, form.nbytes, queue)
