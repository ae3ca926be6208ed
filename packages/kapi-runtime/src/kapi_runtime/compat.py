"""numba.cuda's names for what the host does: a program that is ported keeps its lines.

>>> import kapi_runtime.compat as cuda

Each name does what kapi's own does, which the table has.  At the top of `kapi_runtime` each thing has one name.

==========================================  =============================================================
numba.cuda's                                kapi's
==========================================  =============================================================
``gpus``, ``list_devices()``                `kapi_runtime.devices`
``get_current_device()``                    ``devices.current``
``is_available()``                          ``len(devices) > 0``
``detect()``                                `kapi_runtime.doctor`
``select_device``, ``current_context``      the same
``close``, ``profiling``                    the same
``require_context``                         ``with devices.current:``
``synchronize()``                           ``current_context().synchronize()``
``stream()``, ``default_stream()``          ``queue(in_order=True)``, `kapi_runtime.default_queue`
``external_stream(source)``                 `kapi_runtime.external_queue`
``event()``, ``event_elapsed_time``         `kapi_runtime.Event`, `Event.elapsed_time`
``profile_start``, ``profile_stop``         `kapi_runtime.profiling`
``to_device``                               `kapi_runtime.memory.asarray`
``device_array``, ``device_array_like``     `kapi_runtime.memory.device_array`, `kapi_runtime.memory.like`
``pinned_array``                            `kapi_runtime.memory.view` of a ``memory.host_array``
``mapped_array``                            `kapi_runtime.memory.host_array`
``managed_array``                           `kapi_runtime.memory.shared_array`
``compile_for_current_device``              ``kapi_spirv.compile_spirv``, ``kapi_ptx.compile_ptx``
==========================================  =============================================================

Kernels are written in kapi's language: the documentation's pages on coming from numba.cuda have it row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_runtime import memory
from kapi_runtime.diagnosis.report import detect
from kapi_runtime.host.contexts import close, current_context, require_context
from kapi_runtime.host.devices import (
    current_device,
    devices,
    get_current_device,
    is_available,
    list_devices,
    platform_of_device,
    select_device,
)
from kapi_runtime.host.events import Event, event_elapsed_time
from kapi_runtime.host.queues import default_queue, external_queue, queue
from kapi_runtime.recording.record import profile_start, profile_stop, profiling

__all__ = [
    "close",
    "compile_for_current_device",
    "current_context",
    "default_stream",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "get_current_device",
    "gpus",
    "is_available",
    "list_devices",
    "managed_array",
    "mapped_array",
    "pinned_array",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]

gpus = devices
"""The devices that kernels can run on; CPUs are among them."""


def stream() -> Any:
    """Return a new queue of the current device, whose work runs in the order of submission.

    Returns
    -------
    Queue

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    return queue(in_order=True)


def default_stream() -> Any:
    """Return the default queue of the current device.

    Returns
    -------
    Queue

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    return default_queue()


external_stream = external_queue


def event(timing: bool = True) -> Event:
    """Return a new mark for the work of queues.

    Parameters
    ----------
    timing : bool
        Whether the device takes the time when the mark is passed.

    Returns
    -------
    Event
    """
    return Event(timing)


def synchronize() -> None:
    """Wait for all launches of kapi on the current device, and for its default queue.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    current_context().synchronize()


def to_device(values: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copy values to the current device.

    Parameters
    ----------
    values : array or nested sequence or number
        What is copied.
    stream : Queue or 0
        The queue of the new array; 0 is the default queue.
    copy : bool
        With False, `to` is left as it is.
    to : array, optional
        An array of a device that is written in place of a new one.

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
    >>> cuda.to_device(np.arange(3, dtype="int32"))
    array([0, 1, 2], dtype=int32)
    """
    if to is None:
        return memory.asarray(values, usm_type="device", queue=_queue(stream), copy=True)
    if copy:
        memory.copy(values, to)
    return to


def device_array(shape: int | tuple[int, ...], dtype: Any = "float64", *, stream: Any = 0) -> Any:
    """Return a new array in the device's memory, in C's order.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Type of its elements.
    stream : Queue or 0
        Its queue; 0 is the default queue.

    Returns
    -------
    array

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    return memory.device_array(shape, dtype, queue=_queue(stream))


def device_array_like(array: Any, stream: Any = 0) -> Any:
    """Return a new array in the device's memory, of an array's shape and type.

    Parameters
    ----------
    array : array
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
    return device_array(tuple(array.shape), array.dtype, stream=stream)


def pinned_array(shape: int | tuple[int, ...], dtype: Any = "float64") -> np.ndarray[Any, Any]:
    """Return a new NumPy array in pinned memory of the host, from and to which copies run beside other work.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Type of its elements.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    return memory.view(memory.host_array(shape, dtype))


def mapped_array(shape: int | tuple[int, ...], dtype: Any = "float64") -> Any:
    """Return a new array in pinned memory of the host, which kernels use.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Type of its elements.

    Returns
    -------
    array

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    return memory.host_array(shape, dtype)


def managed_array(shape: int | tuple[int, ...], dtype: Any = "float64") -> Any:
    """Return a new array in memory that moves between host and device.

    Parameters
    ----------
    shape : int or tuple of int
        Its shape.
    dtype : dtype
        Type of its elements.

    Returns
    -------
    array

    Raises
    ------
    UsmAllocationError
        If there is not so much memory.
    """
    return memory.shared_array(shape, dtype)


def compile_for_current_device(
    function: Callable[..., Any],
    signature: Any,
    debug: bool = False,
    device: bool = False,
    fastmath: Any = False,
    opt: bool = True,
) -> tuple[bytes, Any]:
    """Compile a Python function for the abilities of the current device: to SPIR-V, or on CUDA to PTX.

    Parameters
    ----------
    function : function
        A plain Python function in the kernel language.
    signature : sequence of numba.types.Type
        The type of each parameter.
    debug : bool
        Whether to compile asserts, raises and index checks in.
    device : bool
        Whether to export it as a function that other code calls, in place of a kernel.
    fastmath : bool or iterable of str
        As for `kernel`.
    opt : bool
        Whether LLVM's optimisation passes run.

    Returns
    -------
    code : bytes
        The code.
    return_type : numba.types.Type
        Type of the result.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    KernelCompilationError
        If the function cannot be compiled, or needs what the device has not.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> from numba import float32
    >>> def square(x):
    ...     return x * x
    >>> code, returns = cuda.compile_for_current_device(square, (float32,), device=True)
    >>> code[:4].hex(), returns
    ('03022307', float32)
    """
    chosen = current_device()
    platform = platform_of_device(chosen)
    return platform.compile_function(
        function, signature, device, platform.target_of(chosen), debug=debug, fastmath=fastmath, opt=opt
    )


def _queue(stream: Any) -> Any:
    """The queue of a stream argument; numba.cuda's default is 0."""
    return None if isinstance(stream, int) and stream == 0 else stream
