"""kapi's kernel language on devices, of SYCL and CUDA: kernels compile, and run where their arrays live.

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
    DivisionByZeroError,
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
    LimitWarning,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    ModuleFileError,
    NdItem,
    NdRange,
    OperandError,
    OutOfBoundsError,
    PrivateArray,
    Range,
    SimulatorOnlyWarning,
    SubGroup,
    Tuning,
    UninitializedReadError,
    UsmAllocationError,
    all_of_group,
    all_of_part,
    any_of_group,
    any_of_part,
    atomic_fence,
    binary_partition,
    bit_and,
    bit_or,
    bit_xor,
    chunked_partition,
    clz,
    ctz,
    device_func,
    exclusive_scan_over_group,
    exclusive_scan_over_part,
    group_barrier,
    group_broadcast,
    inclusive_scan_over_group,
    inclusive_scan_over_part,
    joint_all_of,
    joint_any_of,
    joint_exclusive_scan,
    joint_inclusive_scan,
    joint_none_of,
    joint_reduce,
    logical_and,
    logical_or,
    maximum,
    minimum,
    mul_hi,
    multiplies,
    none_of_group,
    part_local_id,
    part_size,
    permute_group_by_xor,
    plus,
    popcount,
    random,
    reduce_over_group,
    reduce_over_part,
    rotate,
    select_from_group,
    select_from_part,
    shift_group_left,
    shift_group_right,
)

if TYPE_CHECKING:
    from kapi_runtime import algorithms, cache, compat, memory, runtime
    from kapi_runtime.diagnosis.report import Diagnosis, doctor
    from kapi_runtime.host.contexts import Context, MemoryInfo, close, current_context
    from kapi_runtime.host.devices import default_device, devices, select_device
    from kapi_runtime.host.events import Event
    from kapi_runtime.host.queues import default_queue, external_queue, queue
    from kapi_runtime.kernels.graphs import Graph, graph
    from kapi_runtime.kernels.kernel import Kernel, call_kernel, call_kernel_async, kernel
    from kapi_runtime.kernels.kernel_information import Statistics
    from kapi_runtime.kernels.precompiled import PrecompiledKernel, load_opencl, load_ptx, load_spirv
    from kapi_runtime.kernels.simulator_controls import Profile, debug, simulation, trace
    from kapi_runtime.launch.device_context import device_context
    from kapi_runtime.platform.handles import Device, DeviceSummary, EventStatus, HostEvent, Queue
    from kapi_runtime.platform.interface import KernelInformation
    from kapi_runtime.recording.profile import Recording, profiling
    from kapi_runtime.recording.trace_format import Entry

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
    "DivisionByZeroError",
    "DeviceSummary",
    "Diagnosis",
    "DriverError",
    "DtypeError",
    "Entry",
    "Event",
    "EventStatus",
    "ExecutionPlacementError",
    "ForkError",
    "Graph",
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
    "LimitWarning",
    "ModuleFileError",
    "LocalAccessor",
    "MemoryInfo",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "OperandError",
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
    "Tuning",
    "UninitializedReadError",
    "UsmAllocationError",
    "Vec",
    "algorithms",
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
    "compat",
    "cross",
    "ctz",
    "current_context",
    "debug",
    "default_device",
    "default_queue",
    "device_context",
    "device_func",
    "devices",
    "distance",
    "doctor",
    "dot",
    "exclusive_scan_over_group",
    "external_queue",
    "graph",
    "group_barrier",
    "group_broadcast",
    "inclusive_scan_over_group",
    "joint_all_of",
    "joint_any_of",
    "joint_exclusive_scan",
    "joint_inclusive_scan",
    "joint_none_of",
    "joint_reduce",
    "all_of_part",
    "any_of_part",
    "binary_partition",
    "chunked_partition",
    "exclusive_scan_over_part",
    "inclusive_scan_over_part",
    "part_local_id",
    "part_size",
    "reduce_over_part",
    "select_from_part",
    "kernel",
    "length",
    "load_opencl",
    "load_ptx",
    "load_spirv",
    "logical_and",
    "logical_or",
    "maximum",
    "memory",
    "minimum",
    "mul_hi",
    "multiplies",
    "none_of_group",
    "normalize",
    "permute_group_by_xor",
    "plus",
    "popcount",
    "profiling",
    "queue",
    "random",
    "reduce_over_group",
    "rotate",
    "runtime",
    "select_device",
    "select_from_group",
    "shift_group_left",
    "shift_group_right",
    "simulation",
    "trace",
]

# The names that need dpctl or Numba, by the module that is imported when one is first used.
_LAZY = {
    name: module
    for module, names in {
        "diagnosis.report": "Diagnosis doctor",
        "host.contexts": "Context MemoryInfo close current_context",
        "host.devices": "default_device devices select_device",
        "host.events": "Event",
        "host.queues": "default_queue external_queue queue",
        "kernels.simulator_controls": "Profile debug simulation trace",
        "kernels.graphs": "Graph graph",
        "kernels.kernel": "Kernel call_kernel call_kernel_async kernel",
        "kernels.kernel_information": "Statistics",
        "kernels.precompiled": "PrecompiledKernel load_opencl load_ptx load_spirv",
        "kapi_sim.numbers.vectors": "Vec cross distance dot length normalize",
        "launch.device_context": "device_context",
        "platform.handles": "Device DeviceSummary EventStatus HostEvent Queue",
        "platform.interface": "KernelInformation",
        "recording.profile": "Recording profiling",
        "recording.trace_format": "Entry",
    }.items()
    for name in names.split()
}

_installed.activate()


# Modules that are names of the interface themselves.
_MODULES = ("algorithms", "cache", "compat", "memory", "runtime")


def __getattr__(name: str) -> Any:
    from kapi_sim.forks import block_forks

    if name in _MODULES:
        with block_forks():
            return import_module(f"{__name__}.{name}")
    module = _LAZY.get(name)
    if module is None:
        # The words of other systems are read by those who look for one.
        from kapi_sim.language.other_systems import missing_name

        raise missing_name(__name__, name)
    with block_forks():  # a child of a fork has no half of a module
        path = module if module.startswith("kapi_sim.") else f"{__name__}.{module}"
        value = getattr(import_module(path), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
