"""A record of another kernel language, and the answers that several of them share."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "ATOMIC_EXCHANGE",
    "ATOMIC_LOOP",
    "BARRIER",
    "BLOCK_FENCE",
    "BROADCAST",
    "CLAMP",
    "DERIVATIVE",
    "ELEMENT",
    "EXCHANGE",
    "FENCE",
    "GRID_BARRIER",
    "GROUP",
    "GROUP_ID",
    "GROUP_RANGE",
    "GUARD",
    "ID",
    "IMAGES",
    "LANE",
    "LAUNCH",
    "LOAD",
    "LOCAL_ID",
    "LOCAL_LINEAR_ID",
    "LOCAL_MEMORY",
    "LOCAL_RANGE",
    "LOOP",
    "MAXIMUM",
    "MINIMUM",
    "NUMBER",
    "PRINT",
    "PRIVATE_MEMORY",
    "REINTERPRET",
    "SCAN",
    "SIZE",
    "STORE",
    "STRUCTURE",
    "SUB_BARRIER",
    "SUB_GROUP_ID",
    "SUB_RANGE",
    "SUM",
    "SYSTEM_FENCE",
    "TUNING",
    "UNIFORM",
    "UPDATES",
    "VECTOR",
    "WARP_SIZE",
    "System",
    "fetch",
    "sub_group",
]


@dataclass(frozen=True, slots=True)
class System:
    """One other kernel language.

    Attributes
    ----------
    name : str
        As a message calls it.
    modules : tuple of str
        Modules, and their usual short names, that hold its words.
    words : dict of str to str
        Words that nobody takes for another language's, each with kapi's own.
    common_words : dict of str to str
        Words that are known by their module alone, such as ``load`` of ``tl.load``.
    """

    name: str
    modules: tuple[str, ...]
    words: dict[str, str]
    common_words: dict[str, str] = field(default_factory=dict)


def fetch(operation: str) -> str:
    """Return the atomic update of that name, such as ``"add"``."""
    return f"`kapi.AtomicRef(array, index).fetch_{operation}(value)`"


def sub_group(function: str, arguments: str) -> str:
    """Return a call of a group algorithm by the sub-group."""
    return f"`kapi.{function}(nd_item.get_sub_group(), {arguments})`"


UPDATES = ("add", "sub", "and", "or", "xor", "min", "max")

ID = "`item.get_id(0)`, or `nd_item.get_global_id(0)` with work-groups"
SIZE = "`item.get_range(0)`, or `nd_item.get_global_range(0)` with work-groups"
LOCAL_ID = "`nd_item.get_local_id(0)`"
LOCAL_LINEAR_ID = "`nd_item.get_local_linear_id()`"
LOCAL_RANGE = "`nd_item.get_local_range(0)`"
GROUP = "`nd_item.get_group()`"
GROUP_ID = "`nd_item.get_group().get_group_id(0)`"
GROUP_RANGE = "`nd_item.get_group().get_group_range(0)`"
SUB_GROUP_ID = "`nd_item.get_sub_group().get_group_id()`"
SUB_RANGE = "`nd_item.get_sub_group().get_group_range()`"
LANE = "`nd_item.get_sub_group().get_local_id()`"
WARP_SIZE = "`nd_item.get_sub_group().get_max_local_range()`"

BARRIER = "`kapi.group_barrier(nd_item.get_group())`"
SUB_BARRIER = "`kapi.group_barrier(nd_item.get_sub_group())`"
GRID_BARRIER = "two launches: nothing orders the work-groups of one"
FENCE = "`kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE)`"
BLOCK_FENCE = "`kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.WORK_GROUP)`"
SYSTEM_FENCE = "`kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.SYSTEM)`"

LOCAL_MEMORY = "a `kapi.LocalAccessor(shape, dtype)` that the launch passes as an argument"
PRIVATE_MEMORY = "`kapi.PrivateArray(shape, dtype)`"
ELEMENT = "`array[i]`: a work-item reads and writes elements"
GUARD = "`if i < n:` around the access"
LOOP = "a loop over the elements, `for i in range(n):`"

EXCHANGE = "`kapi.AtomicRef(array, index).compare_exchange(expected, desired)`"
ATOMIC_EXCHANGE = "`kapi.AtomicRef(array, index).exchange(value)`"
ATOMIC_LOOP = "a loop around `kapi.AtomicRef(array, index).compare_exchange(expected, desired)`"
LOAD = "`kapi.AtomicRef(array, index).load()`"
STORE = "`kapi.AtomicRef(array, index).store(value)`"

SUM = "`kapi.reduce_over_group(group, value, kapi.plus)`"
MAXIMUM = "`kapi.reduce_over_group(group, value, kapi.maximum)`"
MINIMUM = "`kapi.reduce_over_group(group, value, kapi.minimum)`"
SCAN = "`kapi.inclusive_scan_over_group(group, value, kapi.plus)`"
BROADCAST = "`kapi.group_broadcast(group, value)`"

LAUNCH = "`kapi.call_kernel(kernel, kapi.Range(n), ...)`"
CLAMP = "`min(max(x, low), high)`"
NUMBER = "a number among the globals, or an argument"
PRINT = "`print('i', i)`, with texts and numbers one by one"
REINTERPRET = "a second argument, the same array seen by `array.view(dtype)` on the host"
STRUCTURE = "one array for each field, or a named tuple of arguments"
VECTOR = "a tuple, or `kapi.PrivateArray(shape, dtype)`"
UNIFORM = "`kapi.random.uniform(seed, counter, stream)`, which needs no state"
TUNING = "a loop over candidates of `kapi.NdRange(n, size)` on the host, each of them timed"
DERIVATIVE = "a kernel of the derivative, which you write"
IMAGES = "an array: compute the indices, and interpolate"
