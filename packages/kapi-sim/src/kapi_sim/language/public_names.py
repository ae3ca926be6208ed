"""The names that every back end exports with one meaning."""

from __future__ import annotations

from kapi_sim.errors import ERRORS
from kapi_sim.language.intrinsics.operators import OPERATORS
from kapi_sim.language.table.intrinsics import rows

__all__ = ["COMMON_NAMES"]

_LANGUAGE = (
    "AddressSpace",
    "AtomicRef",
    "Group",
    "Item",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "PrivateArray",
    "Range",
    "SubGroup",
    "atomic_fence",
    "device_func",
    "group_barrier",
    "kernel",
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
    "algorithms",
    "random",
    *(row.name for row in rows(family="group")),
    *(row.name for row in rows(family="bits")),
    *(row.name for row in OPERATORS),
    *(row.name for row in rows(family="vector") if row.owner is None),
)
_LAUNCH = ("DEFAULT_LOCAL_SIZE", "call_kernel", "call_kernel_async", "device_context", "graph", "Tuning")
_CONTROLS = ("Profile", "debug", "simulation", "trace")
_WARNINGS = ("BenignRaceWarning", "ImplicitCopyWarning", "KapiWarning", "LimitWarning", "SimulatorOnlyWarning")

COMMON_NAMES: tuple[str, ...] = (
    *_LANGUAGE,
    *_LAUNCH,
    *_CONTROLS,
    "KapiError",
    *(row.error.__name__ for row in ERRORS),
    *_WARNINGS,
)
"""Names that ``import kapi_sim as kapi`` and ``import kapi_runtime as kapi`` both give."""
