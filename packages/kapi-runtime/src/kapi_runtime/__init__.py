"""kapi's kernel language on SYCL devices: kernels compile, and run where their arrays live.

>>> import kapi_runtime as kapi

gives the names that ``import kapi_sim as kapi`` gives as well, and the host API: devices and queues.

Importing it does one thing to the process: it points the OpenCL loader to the driver that comes as a wheel,
where the environment names none (``KAPI_FIND_DRIVER=0`` turns that off).  It imports neither dpctl nor Numba;
what needs them is imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kapi_runtime import _drivers
from kapi_sim import (
    DEFAULT_LOCAL_SIZE,
    AddressSpace,
    AtomicRef,
    BarrierDivergenceError,
    BenignRaceWarning,
    CollectiveMismatchError,
    DataRaceError,
    DeadlockError,
    DeviceFunction,
    DeviceNotFoundError,
    DriverError,
    DtypeError,
    ExecutionPlacementError,
    ForkError,
    Group,
    ImplicitCopyWarning,
    Item,
    KapiError,
    KapiWarning,
    KernelAssertionError,
    KernelCompilationError,
    KernelLaunchError,
    LimitError,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    ModuleFileError,
    NdItem,
    NdRange,
    OutOfBoundsError,
    PrivateArray,
    Range,
    SimulatorOnlyWarning,
    SubGroup,
    UninitializedReadError,
    UsmAllocationError,
    all_of_group,
    any_of_group,
    atomic_fence,
    bit_and,
    bit_or,
    bit_xor,
    device_func,
    exclusive_scan_over_group,
    group_barrier,
    group_broadcast,
    inclusive_scan_over_group,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiplies,
    none_of_group,
    permute_group_by_xor,
    plus,
    reduce_over_group,
    select_from_group,
    shift_group_left,
    shift_group_right,
)

if TYPE_CHECKING:
    from kapi_runtime import cache, memory, runtime
    from kapi_runtime.compilation import compile_spirv, compile_spirv_for_current_device
    from kapi_runtime.contexts import (
        Context,
        MemoryInfo,
        close,
        current_context,
        get_memory_info,
        require_context,
    )
    from kapi_runtime.controls import Profile, debug, simulation, trace
    from kapi_runtime.device import Device
    from kapi_runtime.device_summary import DeviceSummary
    from kapi_runtime.diagnosis import Diagnosis, detect, doctor
    from kapi_runtime.discovery import (
        default_device,
        devices,
        get_current_device,
        is_available,
        list_devices,
        select_device,
    )
    from kapi_runtime.events import Event, HostEvent, event_elapsed_time
    from kapi_runtime.host_arrays import device_context
    from kapi_runtime.kernel_information import KernelInformation, Statistics
    from kapi_runtime.kernels import Kernel, call_kernel, call_kernel_async, kernel
    from kapi_runtime.precompiled import PrecompiledKernel, load_opencl, load_spirv
    from kapi_runtime.queues import Queue, default_queue, external_queue, queue
    from kapi_runtime.recording import Recording, profile_start, profile_stop, profiling
    from kapi_runtime.trace_format import Entry

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "AddressSpace",
    "AtomicRef",
    "BarrierDivergenceError",
    "BenignRaceWarning",
    "CollectiveMismatchError",
    "Context",
    "DataRaceError",
    "DeadlockError",
    "Device",
    "DeviceFunction",
    "DeviceNotFoundError",
    "DeviceSummary",
    "Diagnosis",
    "DriverError",
    "DtypeError",
    "Entry",
    "Event",
    "ExecutionPlacementError",
    "ForkError",
    "Group",
    "ImplicitCopyWarning",
    "HostEvent",
    "Item",
    "KapiError",
    "KapiWarning",
    "Kernel",
    "KernelAssertionError",
    "KernelCompilationError",
    "KernelInformation",
    "KernelLaunchError",
    "LimitError",
    "ModuleFileError",
    "LocalAccessor",
    "MemoryInfo",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "OutOfBoundsError",
    "PrecompiledKernel",
    "PrivateArray",
    "Profile",
    "Queue",
    "Range",
    "Recording",
    "SimulatorOnlyWarning",
    "Statistics",
    "SubGroup",
    "UninitializedReadError",
    "UsmAllocationError",
    "all_of_group",
    "any_of_group",
    "atomic_fence",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cache",
    "call_kernel",
    "call_kernel_async",
    "close",
    "compile_spirv",
    "compile_spirv_for_current_device",
    "current_context",
    "debug",
    "default_device",
    "default_queue",
    "detect",
    "device_context",
    "device_func",
    "devices",
    "doctor",
    "event_elapsed_time",
    "exclusive_scan_over_group",
    "external_queue",
    "get_current_device",
    "get_memory_info",
    "group_barrier",
    "group_broadcast",
    "inclusive_scan_over_group",
    "is_available",
    "kernel",
    "list_devices",
    "load_opencl",
    "load_spirv",
    "logical_and",
    "logical_or",
    "maximum",
    "memory",
    "minimum",
    "multiplies",
    "none_of_group",
    "permute_group_by_xor",
    "plus",
    "profile_start",
    "profile_stop",
    "profiling",
    "queue",
    "reduce_over_group",
    "require_context",
    "runtime",
    "select_device",
    "select_from_group",
    "shift_group_left",
    "shift_group_right",
    "simulation",
    "trace",
]

# Each name that needs dpctl or Numba, and the module that is imported when the name is first used.
_LAZY = {
    "Context": "contexts",
    "Device": "device",
    "DeviceSummary": "device_summary",
    "Diagnosis": "diagnosis",
    "Entry": "trace_format",
    "Event": "events",
    "HostEvent": "events",
    "Kernel": "kernels",
    "KernelInformation": "kernel_information",
    "MemoryInfo": "contexts",
    "PrecompiledKernel": "precompiled",
    "Profile": "controls",
    "Queue": "queues",
    "Recording": "recording",
    "Statistics": "kernel_information",
    "call_kernel": "kernels",
    "call_kernel_async": "kernels",
    "close": "contexts",
    "compile_spirv": "compilation",
    "compile_spirv_for_current_device": "compilation",
    "current_context": "contexts",
    "debug": "controls",
    "default_device": "discovery",
    "default_queue": "queues",
    "detect": "diagnosis",
    "device_context": "host_arrays",
    "devices": "discovery",
    "doctor": "diagnosis",
    "event_elapsed_time": "events",
    "external_queue": "queues",
    "get_current_device": "discovery",
    "get_memory_info": "contexts",
    "is_available": "discovery",
    "kernel": "kernels",
    "list_devices": "discovery",
    "load_opencl": "precompiled",
    "load_spirv": "precompiled",
    "profile_start": "recording",
    "profile_stop": "recording",
    "profiling": "recording",
    "queue": "queues",
    "require_context": "contexts",
    "select_device": "discovery",
    "simulation": "controls",
    "trace": "controls",
}

_drivers.activate()


# Modules that are names of the interface themselves.
_MODULES = ("cache", "memory", "runtime")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
