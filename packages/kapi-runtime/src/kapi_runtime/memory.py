"""Arrays in unified shared memory (USM), of the kind that is wanted, and copies.

The arrays are dpnp's where dpnp is installed.  Without it they are of kapi's own class `UsmArray`, which kernels take
as well, and which can be sliced, copied and handed on by DLPack, but does not compute.

=========  =================================  ======================  =============================
kind       lives                              host reads it           use
=========  =================================  ======================  =============================
"device"   on the device                      after a copy            what kernels work on
"shared"   where it was used last             yes, once work is done  what both use alternately
"host"     in the host's memory, pinned       yes, once work is done  what the device reads once
=========  =================================  ======================  =============================

References
----------
SYCL 2020, section 4.8 (unified shared memory); the array API standard, DLPack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from kapi_runtime.host import copies
from kapi_runtime.host.devices import current_device, platform_of_device
from kapi_runtime.host.queues import require_queue
from kapi_runtime.platform import recorder
from kapi_runtime.platform.current import device_array_target
from kapi_runtime.platform.dlpack import host_values
from kapi_runtime.platform.handles import HostEvent
from kapi_runtime.platform.installed import platform_of_array, platform_of_host_array
from kapi_runtime.platform.interface import MemoryKind, Platform
from kapi_runtime.platform.numpy_views import fields_of_numpy
from kapi_sim.errors import DtypeError, ExecutionPlacementError
from kapi_sim.language.array_memory import ArrayFields, extents_of
from kapi_sim.short_repr import short_repr

__all__ = ["asarray", "asnumpy", "copy", "device_array", "host_array", "like", "shared_array", "view"]


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
    *arrays : array
        At least one; all on one queue, or all of them NumPy's.
    shape : int or tuple of int, optional
        By default that to which they broadcast.
    dtype : dtype, optional
        By default that to which they promote.

    Returns
    -------
    dpnp.ndarray or UsmArray
        Of NumPy arrays a NumPy array, which the CPU uses in place.

    Raises
    ------
    ExecutionPlacementError
        If there is none, or they do not share one queue; of NumPy arrays, in the context of a device that copies them.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> host, shared = kapi.memory.host_array(3, "int32"), kapi.memory.shared_array((2, 1), "float32")
    >>> result = kapi.memory.like(host, shared)
    >>> result.usm_type, result.shape, result.dtype
    ('shared', (2, 3), dtype('float64'))
    """
    platform = _host_platform(arrays[0]) if arrays and all(isinstance(each, np.ndarray) for each in arrays) else None
    for array in arrays if platform is None else ():
        if isinstance(array, np.ndarray) or _platform_of(array) is None:
            raise ExecutionPlacementError(
                f"arrays must be USM arrays, got {type(array).__name__}: copy it to the device by `asarray(array)`",
                code="array-on-host",
            )
    platform = platform or _common(arrays)
    if platform is None:
        raise ExecutionPlacementError(
            "arrays must be on one queue, got none: copy them to one by `asarray(array, queue=queue)`",
            code="different-queues",
        )
    if shape is None:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    if dtype is None:
        dtype = np.result_type(*(array.dtype for array in arrays))
    return platform.array_like(arrays, extents_of(shape), np.dtype(dtype))


def asarray(
    values: Any, dtype: Any = None, *, usm_type: MemoryKind | None = None, queue: Any = None, copy: bool | None = None
) -> Any:
    """Return values of any kind as an array on a queue; an array that is there already is not copied.

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
    theirs = _platform_of(values)
    platform = _platform_for(queue) if queue is not None or theirs is None else theirs
    if theirs is not None and theirs is not platform:
        if copy is False:
            raise ValueError(
                f"values must be on the platform of the queue if copy=False, got a {type(values).__name__}: leave copy "
                "out"
            )
        values, usm_type = theirs.to_host(values), usm_type or "device"
    return platform.array_of(values, dtype, usm_type, queue, copy)


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
    recorder.require_no_graph("asnumpy")
    platform = _platform_of(array)
    if platform is not None:
        return platform.to_host(array)
    return np.array(host_values(array))


@overload
def copy(source: Any, target: Any) -> None: ...


@overload
def copy(source: Any, target: Any, *, depends: Iterable[Any]) -> HostEvent: ...


def copy(source: Any, target: Any, *, depends: Iterable[Any] | None = None) -> HostEvent | None:
    """Copy the elements of one array to another of the same shape and type, either of them on the host.

    Without `depends` the host waits for it.  With it, an empty list included, the copy is only submitted.  It is
    ordered as a launch: after all earlier work on the queues of both arrays, and before all later work there.  What it
    uses is kept alive until it is done.

    Parameters
    ----------
    source, target : array of a device or numpy.ndarray
        C-contiguous; may be on different devices.
    depends : iterable of events, optional
        What it waits for besides: events of launches and of copies, `Event` marks.

    Returns
    -------
    HostEvent or None
        With `depends`: done when the elements are there; launches take it among their events.

    Raises
    ------
    DtypeError
        If shapes or types differ, one is not contiguous, or the target is read-only.
    KernelLaunchError
        With `depends`: if the arrays overlap, or it holds something else than events.
    ExecutionPlacementError
        With `depends`: if both are on the host, or in two SYCL contexts.

    Notes
    -----
    Until the event is done, a NumPy array is the device's: leave the target unread, and the source unchanged.  A driver
    copies while other work runs only from and to pinned memory: `view` of a `host_array` is such a NumPy array.  For
    other memory the host may wait in here.

    Examples
    --------
    >>> import numpy as np
    >>> import kapi_runtime as kapi
    >>> target = kapi.memory.device_array(3, "int32")
    >>> kapi.memory.copy(np.array([1, 2, 3], "int32"), target)
    >>> target
    array([1, 2, 3], dtype=int32)
    >>> back = np.empty(3, "int32")
    >>> copied = kapi.memory.copy(target, back, depends=[])
    >>> copied.wait()
    >>> back
    array([1, 2, 3], dtype=int32)
    """
    one, other = _fields(source), _fields(target)
    are_dense = [_is_dense(source, one), _is_dense(target, other)]
    if (one.shape, one.dtype) != (other.shape, other.dtype) or not all(are_dense):
        of_source, of_target = _form(one, are_dense[0]), _form(other, are_dense[1])
        raise DtypeError(
            "source and target of a copy must be C-contiguous, of one shape and one type, got "
            f"{of_source} and {of_target}: write `target[...] = source`",
            code="copy-unlike",
        )
    if other.readonly:
        raise DtypeError(
            "target of a copy must be writable, got a read-only array: copy to another one", code="copy-to-read-only"
        )
    on_devices = [each for each in (source, target) if not isinstance(each, np.ndarray)]
    is_recorded = recorder.graph() is not None
    if not on_devices:
        host = _host_platform(source)
        if host is not None and (is_recorded or depends is not None):
            event = copies.submit_copy(host, source, target, depends or ())
            return None if depends is None else event
        if depends is not None:
            raise ExecutionPlacementError(
                "source or target of a copy with `depends` must be on a device, got two arrays of the host: leave "
                "`depends` out",
                code="array-on-host",
            )
        target[...] = source
        return None
    platform = _common(on_devices)
    assert platform is not None  # there are some
    if depends is not None or is_recorded:
        event = copies.submit_copy(platform, source, target, depends or ())
        return None if depends is None else event
    if copies.is_overlapping(platform, source, target):
        source = asnumpy(source)
    if isinstance(source, np.ndarray) and isinstance(target, np.ndarray):  # a view of memory that both share
        target[...] = source
    else:
        platform.copy_array(source, target)
    return None


def view(array: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array of the memory of an array that the host reads, without a copy.

    It waits for the work of the array's queue first.  The memory lives as long as the view.

    Parameters
    ----------
    array : array of a device
        In shared or host memory.

    Returns
    -------
    numpy.ndarray
        Of the same shape, strides and type; read-only where the array is.

    Raises
    ------
    ExecutionPlacementError
        If it is in the device's own memory.

    Notes
    -----
    Nothing orders what you do with it after work that is submitted later.  Wait for that work, and call `view` anew or
    `synchronize()` the queue, before you read or write again.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> shared = kapi.memory.shared_array(3, "int32", fill=1)
    >>> seen = kapi.memory.view(shared)
    >>> seen[1] = 5
    >>> shared
    array([1, 5, 1], dtype=int32)
    """
    if isinstance(array, np.ndarray):
        return array
    platform = _platform_of(array)
    if platform is None:
        raise ExecutionPlacementError(
            f"array must be one of a device, got {short_repr(array)}: NumPy's own `asarray` makes an array of "
            "other values",
            code="array-on-host",
        )
    return copies.view_of(platform, array)


def _new(shape: Any, dtype: Any, kind: MemoryKind, queue: Any, fill: Any) -> Any:
    return _platform_for(queue).new_array(extents_of(shape), np.dtype(dtype), kind, queue, fill)


def _fields(array: Any) -> ArrayFields:
    """Read an array of the host or of a device, for a copy."""
    if isinstance(array, np.ndarray):
        return fields_of_numpy(array)
    platform = _platform_of(array)
    fields = None if platform is None else platform.fields(array)
    if fields is None:
        raise DtypeError(
            f"source and target of a copy must be arrays, got {type(array).__name__}: `asarray(values)` makes one",
            code="copy-without-array",
        )
    return fields


def _is_dense(array: Any, fields: ArrayFields) -> bool:
    # NumPy's strides may be no multiple of the item size.
    return array.flags.c_contiguous if isinstance(array, np.ndarray) else fields.layout == "C"


def _form(fields: ArrayFields, is_dense: bool) -> str:
    return f"{fields.dtype} {fields.shape}" + ("" if is_dense else " that is not contiguous")


def _platform_of(values: Any) -> Platform | None:
    return platform_of_array(values, "an array of kapi_runtime.memory")


def _platform_for(queue: Any) -> Platform:
    """The platform of a queue, or of the current device."""
    if queue is None:
        return platform_of_device(current_device())
    return require_queue(queue)[0]


def _host_platform(array: np.ndarray[Any, Any]) -> Platform | None:
    """The platform whose kernels use NumPy arrays in place; None in the context of a device that has copies of them."""
    return platform_of_host_array(array) if device_array_target() is None else None


def _common(arrays: Iterable[Any]) -> Platform | None:
    """The one platform of arrays, None if there are none."""
    found: Platform | None = None
    for array in arrays:
        platform = _platform_of(array)
        if platform is None or found not in (None, platform):
            raise ExecutionPlacementError(
                f"arrays must be of one platform, got a {type(array).__name__} beside another: copy one by way of the "
                "host, `asarray(asnumpy(array))`",
                code="different-platforms",
            )
        found = platform
    return found


def __getattr__(name: str) -> Any:
    # SYCL's own array class, where SYCL is installed.
    if name != "UsmArray":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("kapi_runtime.sycl.memory.usm_array").UsmArray
