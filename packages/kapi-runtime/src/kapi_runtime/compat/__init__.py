"""numba.cuda's names for what the host does: a program that is ported keeps its lines.

>>> import kapi_runtime.compat as cuda

It has every name of numba.cuda's host API with its parameters, on every platform.  What a platform lacks is refused by
name when it is called.  Each name does what kapi's own does, which the table has.  At the top of `kapi_runtime` each
thing has one name.

==========================================  =============================================================
numba.cuda's                                kapi's
==========================================  =============================================================
``gpus``, ``list_devices()``                `kapi_runtime.devices`
``get_current_device()``                    ``devices.current``
``is_available()``                          ``len(devices) > 0``
``is_float16_supported()``                  ``devices.current.has_aspect_fp16``
``detect()``                                `kapi_runtime.doctor`
``select_device``, ``current_context``      the same
``close``, ``profiling``                    the same
``require_context``                         ``with devices.current:``
``synchronize()``                           ``current_context().synchronize()``
``defer_cleanup()``                         ``current_context().defer_cleanup()``
``runtime.get_version()``                   `kapi_runtime.runtime.get_version`, which tells more
``stream()``, ``default_stream()``          ``queue(in_order=True)``, `kapi_runtime.default_queue`
``external_stream(ptr)``                    `kapi_runtime.external_queue`
``event()``, ``event_elapsed_time``         `kapi_runtime.Event`, `Event.elapsed_time`
``profile_start``, ``profile_stop``         `kapi_runtime.profiling`
``to_device``                               `kapi_runtime.memory.asarray`
``device_array``, ``device_array_like``     `kapi_runtime.memory.device_array`, `kapi_runtime.memory.like`
``pinned_array``, ``mapped_array``          `kapi_runtime.memory.view` of a ``memory.host_array``
``managed_array``                           `kapi_runtime.memory.view` of a ``memory.shared_array``
``as_cuda_array``                           `kapi_runtime.memory.asarray`
``compile``, ``compile_ptx``                ``kapi_ptx.compile_ptx``
``compile_for_current_device``              ``kapi_spirv.compile_spirv``, ``kapi_ptx.compile_ptx``
==========================================  =============================================================

Kernels are written in kapi's language: the documentation's pages on coming from numba.cuda have it row by row.
The names and parameters are those of numba.cuda's reference, "CUDA Host API" and "Memory Management".
"""

from __future__ import annotations

from kapi_runtime.compat.compilation import (
    compile,  # numba.cuda's name
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
)
from kapi_runtime.compat.device_arrays import (
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    open_ipc_array,
    to_device,
)
from kapi_runtime.compat.devices import (
    close,
    cuda_error,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_float16_supported,
    is_supported_version,
    list_devices,
    require_context,
    runtime,
    select_device,
    synchronize,
)
from kapi_runtime.compat.host_arrays import (
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
)
from kapi_runtime.compat.streams import (
    Event,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)
from kapi_runtime.recording.profile import profile_start, profile_stop, profiling

__all__ = [
    "Event",
    "as_cuda_array",
    "close",
    "compile",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "cuda_error",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "from_cuda_array_interface",
    "get_current_device",
    "gpus",
    "is_available",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "legacy_default_stream",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "open_ipc_array",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
    "runtime",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]
