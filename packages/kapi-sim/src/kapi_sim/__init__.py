"""kapi's kernel language in plain Python, and a simulator that checks kernels as it runs them.

>>> import kapi_sim as kapi

gives the names that ``import kapi_runtime as kapi`` gives as well: the kernels, with their launches,
run unchanged on a device.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kapi_sim import random
from kapi_sim.errors import (
    BarrierDivergenceError,
    BenignRaceWarning,
    CollectiveMismatchError,
    DataRaceError,
    DeadlockError,
    DeviceNotFoundError,
    DivisionByZeroError,
    DriverError,
    DtypeError,
    ExecutionPlacementError,
    ForkError,
    ImplicitCopyWarning,
    KapiError,
    KapiWarning,
    KernelAssertionError,
    KernelCompilationError,
    KernelLaunchError,
    LimitError,
    LimitWarning,
    MixedTypesWarning,
    ModuleFileError,
    OperandError,
    OutOfBoundsError,
    PartialRunWarning,
    ScheduleDependenceWarning,
    SimulatorOnlyWarning,
    UninitializedReadError,
    UsmAllocationError,
)
from kapi_sim.language import (
    AddressSpace,
    AtomicRef,
    Group,
    Item,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    NdItem,
    NdRange,
    PrivateArray,
    Range,
    SubGroup,
    all_of_group,
    any_of_group,
    atomic_fence,
    bit_and,
    bit_or,
    bit_xor,
    clz,
    ctz,
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
    reduce_over_group,
    rotate,
    select_from_group,
    shift_group_left,
    shift_group_right,
)
from kapi_sim.language.launchables.device_function import DeviceFunction, device_func
from kapi_sim.language.launchables.joint_algorithms import (
    joint_all_of,
    joint_any_of,
    joint_exclusive_scan,
    joint_inclusive_scan,
    joint_none_of,
    joint_reduce,
)
from kapi_sim.language.launchables.launchable import DEFAULT_LOCAL_SIZE
from kapi_sim.language.launchables.sub_group_parts import (
    all_of_part,
    any_of_part,
    binary_partition,
    chunked_partition,
    exclusive_scan_over_part,
    inclusive_scan_over_part,
    part_local_id,
    part_size,
    reduce_over_part,
    select_from_part,
)
from kapi_sim.language.launchables.tuning import Tuning

if TYPE_CHECKING:
    from kapi_sim import algorithms
    from kapi_sim.items.profile import PROFILES, Profile
    from kapi_sim.kernels import Graph, Kernel, call_kernel, call_kernel_async, graph, kernel
    from kapi_sim.numbers.vectors import Vec, cross, distance, dot, length, normalize
    from kapi_sim.settings.breakpoints import debug
    from kapi_sim.settings.simulation_settings import device_context, simulation
    from kapi_sim.tracing import trace

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "PROFILES",
    "AddressSpace",
    "AtomicRef",
    "BarrierDivergenceError",
    "BenignRaceWarning",
    "CollectiveMismatchError",
    "DataRaceError",
    "DeadlockError",
    "DeviceFunction",
    "DeviceNotFoundError",
    "DivisionByZeroError",
    "DriverError",
    "DtypeError",
    "ExecutionPlacementError",
    "ForkError",
    "Graph",
    "Group",
    "ImplicitCopyWarning",
    "Item",
    "KapiError",
    "KapiWarning",
    "Kernel",
    "KernelAssertionError",
    "KernelCompilationError",
    "KernelLaunchError",
    "LimitError",
    "LimitWarning",
    "ModuleFileError",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "OperandError",
    "OutOfBoundsError",
    "PrivateArray",
    "Profile",
    "Range",
    "MixedTypesWarning",
    "PartialRunWarning",
    "ScheduleDependenceWarning",
    "SimulatorOnlyWarning",
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
    "call_kernel",
    "call_kernel_async",
    "clz",
    "cross",
    "ctz",
    "debug",
    "device_context",
    "device_func",
    "distance",
    "dot",
    "exclusive_scan_over_group",
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
    "logical_and",
    "logical_or",
    "maximum",
    "minimum",
    "mul_hi",
    "multiplies",
    "none_of_group",
    "normalize",
    "permute_group_by_xor",
    "plus",
    "popcount",
    "random",
    "reduce_over_group",
    "rotate",
    "select_from_group",
    "shift_group_left",
    "shift_group_right",
    "simulation",
    "trace",
]

# Each name of the simulator, and the module that is imported when the name is first used.  The layers above take the
# language from here, and do without the simulator.
_LAZY = {
    "PROFILES": "items.profile",
    "Kernel": "kernels",
    "Graph": "kernels",
    "Profile": "items.profile",
    "Vec": "numbers.vectors",
    "call_kernel": "kernels",
    "call_kernel_async": "kernels",
    "cross": "numbers.vectors",
    "debug": "settings.breakpoints",
    "device_context": "settings.simulation_settings",
    "distance": "numbers.vectors",
    "dot": "numbers.vectors",
    "graph": "kernels",
    "kernel": "kernels",
    "length": "numbers.vectors",
    "normalize": "numbers.vectors",
    "simulation": "settings.simulation_settings",
    "trace": "tracing",
}

if not TYPE_CHECKING:  # type checkers know all names, and report those that are missing

    def __getattr__(name: str) -> Any:
        module = _LAZY.get(name)
        if name == "algorithms":
            return import_module(f"{__name__}.{name}")
        if module is None:
            # The words of other systems are read by those who look for one.
            from kapi_sim.language.other_systems import missing_name

            raise missing_name(__name__, name)
        from kapi_sim.forks import block_forks

        with block_forks():  # a child of a fork has no half of a module
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
