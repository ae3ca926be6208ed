"""Classes of the driver's objects; what asks the driver itself for something is refused when it is called."""

from __future__ import annotations

from typing import Any

from kapi_sim.numba_cuda.cudadrv.error import (
    CudaAPIError,
    CudaDriverError,
    CudaSupportError,
    DeadMemoryError,
    LinkerError,
)
from kapi_sim.numba_cuda.host.allocation import MappedArray
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray
from kapi_sim.numba_cuda.host.devices import (
    Context,
    Device,
    MemoryInfo,
    get_current_device,
    profile_start,
    profile_stop,
    profiling,
)
from kapi_sim.numba_cuda.host.streams import Event, Stream, event_elapsed_time
from kapi_sim.numba_cuda.support import REFUSED_CLASSES, Refused, refused

__all__ = [
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "CudaSupportError",
    "DeadMemoryError",
    "Device",
    "Event",
    "LinkerError",
    "MemoryInfo",
    "Stream",
    "device_memory_size",
    "driver",
    "event_elapsed_time",
    "is_device_memory",
    "profile_start",
    "profile_stop",
    "profiling",
]

_REASON = "the simulator has no driver below it"
_OF_DRIVER = (
    *("Function", "Linker", "Module", "device_ctypes_pointer", "device_extents", "device_memset", "device_pointer"),
    *("device_to_device", "device_to_host", "get_devptr_for_active_ctx", "get_version", "host_memory_extents"),
    *("host_memory_size", "host_pointer", "host_to_device", "launch_kernel", "load_module_image", "OwnedPointer"),
    *("NumbaCUDAMemoryManager", "require_device_memory", "set_memory_manager"),
)


class Driver:
    """A driver that knows one device."""

    is_initialized = True
    initialization_error = None

    def get_device_count(self) -> int:
        """Return how many devices there are: one."""
        return 1

    def get_device(self, devnum: int = 0) -> Device:
        """Return the device."""
        return get_current_device()

    def __getattr__(self, name: str) -> Refused:
        if name.startswith("__"):
            raise AttributeError(name)
        return Refused(f"driver.driver.{name}", _REASON)


driver = Driver()


def is_device_memory(obj: object) -> bool:
    """Return whether an object is memory of the device."""
    return isinstance(obj, (DeviceArray, MappedArray))


def device_memory_size(devmem: Any) -> int:
    """Return how many bytes an array on the device has."""
    return int(devmem.nbytes)


def __getattr__(name: str) -> Any:
    if name in REFUSED_CLASSES:
        return refused(name)
    if name in _OF_DRIVER:
        return Refused(f"driver.{name}", _REASON)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
