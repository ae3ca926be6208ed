"""kapi's kernel language in plain Python, and a simulator that checks kernels as it runs them.

>>> import kapi_sim as kapi

gives the names that ``import kapi_runtime as kapi`` gives as well: the kernels, with their launches,
run unchanged on a device.
"""

from __future__ import annotations

from kapi_sim.control import simulation
from kapi_sim.debugging import debug
from kapi_sim.device_function import DeviceFunction, device_func
from kapi_sim.errors import (
    BarrierDivergenceError,
    BenignRaceWarning,
    CollectiveMismatchError,
    DataRaceError,
    DeadlockError,
    DeviceNotFoundError,
    DriverError,
    DtypeError,
    ExecutionPlacementError,
    ForkError,
    KapiError,
    KapiWarning,
    KernelAssertionError,
    KernelCompilationError,
    KernelLaunchError,
    LimitError,
    OutOfBoundsError,
    ScheduleDependenceWarning,
    SimulatorOnlyWarning,
    UninitializedReadError,
    UsmAllocationError,
)
from kapi_sim.kernel import Kernel, call_kernel, call_kernel_async, kernel
from kapi_sim.launchable import DEFAULT_LOCAL_SIZE
from kapi_sim.profile import PROFILES, Profile
from kapi_sim.spec import (
    AddressSpace,
    Group,
    Item,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    NdItem,
    NdRange,
    Range,
    group_barrier,
)
from kapi_sim.tracing import trace

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "PROFILES",
    "AddressSpace",
    "BarrierDivergenceError",
    "BenignRaceWarning",
    "CollectiveMismatchError",
    "DataRaceError",
    "DeadlockError",
    "DeviceFunction",
    "DeviceNotFoundError",
    "DriverError",
    "DtypeError",
    "ExecutionPlacementError",
    "ForkError",
    "Group",
    "Item",
    "KapiError",
    "KapiWarning",
    "Kernel",
    "KernelAssertionError",
    "KernelCompilationError",
    "KernelLaunchError",
    "LimitError",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "OutOfBoundsError",
    "Profile",
    "Range",
    "ScheduleDependenceWarning",
    "SimulatorOnlyWarning",
    "UninitializedReadError",
    "UsmAllocationError",
    "call_kernel",
    "call_kernel_async",
    "debug",
    "device_func",
    "group_barrier",
    "kernel",
    "simulation",
    "trace",
]
