"""The kernel language: its vocabulary and what each word means, without an implementation.

It imports nothing of the simulator, so that the compiler and the runtime load the language alone.
"""

from __future__ import annotations

from kapi_sim.language.intrinsics.atomics import ATOMIC_DTYPES, ATOMIC_KINDS, AtomicRef, atomic_fence
from kapi_sim.language.intrinsics.bits import clz, ctz, mul_hi, popcount, rotate
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.group_algorithms import (
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
from kapi_sim.language.intrinsics.index_space import (
    MAX_DIMENSIONS,
    Group,
    Item,
    NdItem,
    NdRange,
    Range,
    SubGroup,
    as_range,
)
from kapi_sim.language.intrinsics.memory import (
    MAX_CONSTANT_BYTES,
    MAX_PRIVATE_BYTES,
    MAX_RANK,
    AddressSpace,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    PrivateArray,
    is_kernel_dtype,
)
from kapi_sim.language.intrinsics.operators import (
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
from kapi_sim.language.launchables.options import FAST_MATH_FLAGS, KernelOptions
from kapi_sim.language.public_names import COMMON_NAMES
from kapi_sim.language.table.intrinsics import INTRINSICS, Intrinsic, rows

__all__ = [
    "ATOMIC_DTYPES",
    "ATOMIC_KINDS",
    "COMMON_NAMES",
    "FAST_MATH_FLAGS",
    "INTRINSICS",
    "MAX_CONSTANT_BYTES",
    "MAX_DIMENSIONS",
    "MAX_PRIVATE_BYTES",
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
    "clz",
    "ctz",
    "exclusive_scan_over_group",
    "group_barrier",
    "group_broadcast",
    "inclusive_scan_over_group",
    "is_kernel_dtype",
    "logical_and",
    "logical_or",
    "maximum",
    "minimum",
    "mul_hi",
    "multiplies",
    "none_of_group",
    "operator_row",
    "permute_group_by_xor",
    "plus",
    "popcount",
    "reduce_over_group",
    "rotate",
    "rows",
    "select_from_group",
    "shift_group_left",
    "shift_group_right",
]
