"""``numba.cuda.api``: functions of the host."""

from __future__ import annotations

from typing import Any

from kapi_sim.numba_cuda.host.allocation import (
    device_array,
    device_array_like,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from kapi_sim.numba_cuda.host.device_arrays import as_cuda_array, is_cuda_array
from kapi_sim.numba_cuda.host.devices import (
    close,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    is_bfloat16_supported,
    is_float16_supported,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
)
from kapi_sim.numba_cuda.host.streams import (
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from kapi_sim.numba_cuda.support import refused

__all__ = [
    "as_cuda_array",
    "close",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "get_current_device",
    "gpus",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "legacy_default_stream",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]


def __getattr__(name: str) -> Any:
    if name in ("from_cuda_array_interface", "open_ipc_array"):
        return refused(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
