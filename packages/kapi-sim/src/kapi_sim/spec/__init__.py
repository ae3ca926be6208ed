"""The kernel language: its vocabulary and what each word means, without an implementation."""

from __future__ import annotations

from kapi_sim.spec.atomics import ATOMIC_DTYPES, ATOMIC_KINDS, AtomicRef, atomic_fence
from kapi_sim.spec.convergence import group_barrier
from kapi_sim.spec.group_algorithms import (
    all_of_group,
    any_of_group,
    exclusive_scan_over_group,
    group_broadcast,
    inclusive_scan_over_group,
    none_of_group,
    permute_group_by_xor,
    reduce_over_group,
    select_from_group,
    shift_group_left,
    shift_group_right,
)
from kapi_sim.spec.index_space import MAX_DIMENSIONS, Group, Item, NdItem, NdRange, Range, SubGroup, as_range
from kapi_sim.spec.intrinsics import INTRINSICS, Intrinsic, rows
from kapi_sim.spec.memory import (
    MAX_RANK,
    AddressSpace,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    PrivateArray,
    is_kernel_dtype,
)
from kapi_sim.spec.names import COMMON_NAMES
from kapi_sim.spec.operators import (
    OPERATORS,
    Operator,
    bit_and,
    bit_or,
    bit_xor,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiplies,
    operator_row,
    plus,
)
from kapi_sim.spec.options import FAST_MATH_FLAGS, KernelOptions

__all__ = [
    "ATOMIC_DTYPES",
    "ATOMIC_KINDS",
    "COMMON_NAMES",
    "FAST_MATH_FLAGS",
    "INTRINSICS",
    "MAX_DIMENSIONS",
    "MAX_RANK",
    "OPERATORS",
    "AddressSpace",
    "AtomicRef",
    "Group",
    "Intrinsic",
    "Item",
    "KernelOptions",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "Operator",
    "PrivateArray",
    "Range",
    "SubGroup",
    "all_of_group",
    "any_of_group",
    "as_range",
    "atomic_fence",
    "bit_and",
    "bit_or",
    "bit_xor",
    "exclusive_scan_over_group",
    "group_barrier",
    "group_broadcast",
    "inclusive_scan_over_group",
    "is_kernel_dtype",
    "logical_and",
    "logical_or",
    "maximum",
    "minimum",
    "multiplies",
    "none_of_group",
    "operator_row",
    "permute_group_by_xor",
    "plus",
    "reduce_over_group",
    "rows",
    "select_from_group",
    "shift_group_left",
    "shift_group_right",
]
