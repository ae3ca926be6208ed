"""The kernel language: its vocabulary and what each word means, without an implementation."""

from __future__ import annotations

from kapi_sim.spec.convergence import group_barrier
from kapi_sim.spec.index_space import MAX_DIMENSIONS, Group, Item, NdItem, NdRange, Range, as_range
from kapi_sim.spec.intrinsics import INTRINSICS, Intrinsic, rows
from kapi_sim.spec.memory import (
    MAX_RANK,
    AddressSpace,
    LocalAccessor,
    MemoryOrder,
    MemoryScope,
    is_kernel_dtype,
)
from kapi_sim.spec.names import COMMON_NAMES
from kapi_sim.spec.options import FAST_MATH_FLAGS, KernelOptions

__all__ = [
    "COMMON_NAMES",
    "FAST_MATH_FLAGS",
    "INTRINSICS",
    "MAX_DIMENSIONS",
    "MAX_RANK",
    "AddressSpace",
    "Group",
    "Intrinsic",
    "Item",
    "KernelOptions",
    "LocalAccessor",
    "MemoryOrder",
    "MemoryScope",
    "NdItem",
    "NdRange",
    "Range",
    "as_range",
    "group_barrier",
    "is_kernel_dtype",
    "rows",
]
