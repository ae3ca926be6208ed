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

from kapi_runtime.platform import installed as _installed
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
    clz,
    ctz,
    device_func,
    exclusive_scan_over_group,
    group_barrier,
    group_broadcast,
    inclusive_scan_over_group,
    logical_and,
    logical_or,
    maximum,
    minimum,
    mul_hi,
    multiplies,
    none_of_group,
    permute_group_by_xor,
    plus,
    popcount,
    random,
    reduce_over_group,
    rotate,
    select_from_group,
    shift_group_left,
    shift_group_right,
)

if TYPE_CHECKING:
    from kapi_runtime import cache, memory, runtime
    from kapi_runtime.diagnosis.report import Diagnosis, detect, doctor
    from kapi_runtime.kernels.controls import Profile, debug, simulation, trace
    from kapi_runtime.kernels.kernel import Kernel, call_kernel, call_kernel_async, kernel
    from kapi_runtime.kernels.kernel_information import Statistics
    from kapi_runtime.kernels.precompiled import PrecompiledKernel, load_opencl, load_spirv
    from kapi_runtime.launch.host_arrays import device_context
    from kapi_runtime.platform.contexts import (
        Context,
        MemoryInfo,
        close,
        current_context,
        get_memory_info,
        require_context,
    )
    from kapi_runtime.platform.devices import (
        default_device,
        devices,
        get_current_device,
        is_available,
        list_devices,
        select_device,
    )
    from kapi_runtime.platform.interface import KernelInformation
    from kapi_runtime.platform.queues import default_queue, external_queue, queue
    from kapi_runtime.recording.record import Recording, profile_start, profile_stop, profiling
    from kapi_runtime.recording.trace_format import Entry
    from kapi_runtime.sycl.compilation import compile_spirv, compile_spirv_for_current_device
    from kapi_runtime.sycl.device import Device
    from kapi_runtime.sycl.device_summary import DeviceSummary
    from kapi_runtime.sycl.events import Event, HostEvent, event_elapsed_time
    from kapi_runtime.sycl.queues import Queue

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
    "clz",
    "compile_spirv",
    "compile_spirv_for_current_device",
    "ctz",
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
    "mul_hi",
    "multiplies",
    "none_of_group",
    "permute_group_by_xor",
    "plus",
    "popcount",
    "profile_start",
    "profile_stop",
    "profiling",
    "queue",
    "random",
    "reduce_over_group",
    "require_context",
    "rotate",
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
    "Context": "platform.contexts",
    "Device": "sycl.device",
    "DeviceSummary": "sycl.device_summary",
    "Diagnosis": "diagnosis.report",
    "Entry": "recording.trace_format",
    "Event": "sycl.events",
    "HostEvent": "sycl.events",
    "Kernel": "kernels.kernel",
    "KernelInformation": "platform.interface",
    "MemoryInfo": "platform.contexts",
    "PrecompiledKernel": "kernels.precompiled",
    "Profile": "kernels.controls",
    "Queue": "sycl.queues",
    "Recording": "recording.record",
    "Statistics": "kernels.kernel_information",
    "call_kernel": "kernels.kernel",
    "call_kernel_async": "kernels.kernel",
    "close": "platform.contexts",
    "compile_spirv": "sycl.compilation",
    "compile_spirv_for_current_device": "sycl.compilation",
    "current_context": "platform.contexts",
    "debug": "kernels.controls",
    "default_device": "platform.devices",
    "default_queue": "platform.queues",
    "detect": "diagnosis.report",
    "device_context": "launch.host_arrays",
    "devices": "platform.devices",
    "doctor": "diagnosis.report",
    "event_elapsed_time": "sycl.events",
    "external_queue": "platform.queues",
    "get_current_device": "platform.devices",
    "get_memory_info": "platform.contexts",
    "is_available": "platform.devices",
    "kernel": "kernels.kernel",
    "list_devices": "platform.devices",
    "load_opencl": "kernels.precompiled",
    "load_spirv": "kernels.precompiled",
    "profile_start": "recording.record",
    "profile_stop": "recording.record",
    "profiling": "recording.record",
    "queue": "platform.queues",
    "require_context": "platform.contexts",
    "select_device": "platform.devices",
    "simulation": "kernels.controls",
    "trace": "kernels.controls",
}

_installed.activate()


# Modules that are names of the interface themselves.
_MODULES = ("cache", "memory", "runtime")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module.startswith("sycl.") and not _installed.is_installed("sycl"):
        # No KapiError: what looks through a module's names, such as `hasattr`, takes this class for "not there".
        raise AttributeError(f'{__name__}.{name} is of SYCL, which is not installed: pip install "kapi-runtime[sycl]"')
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
