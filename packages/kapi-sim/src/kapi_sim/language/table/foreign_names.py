"""Names of other kernel languages, each with kapi's words in its place: the one table behind every such hint."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["SYSTEMS", "System", "hint", "missing_name"]


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


_LAST = "; in several dimensions x is the last one"
_ID = "`item.get_id(0)`, or `nd_item.get_global_id(0)` with work-groups"
_GLOBAL_ID = "`nd_item.get_global_id(0)`, or `item.get_id(0)` without work-groups; OpenCL's dimension 0 is the last one"
_LOCAL_ID = "`nd_item.get_local_id(0)`"
_LOCAL_RANGE = "`nd_item.get_local_range(0)`"
_GROUP_ID = "`nd_item.get_group().get_group_id(0)`"
_GROUP_RANGE = "`nd_item.get_group().get_group_range(0)`"
_BARRIER = "`kapi.group_barrier(nd_item.get_group())`"
_SUB_BARRIER = "`kapi.group_barrier(nd_item.get_sub_group())`"
_LANE = "`nd_item.get_sub_group().get_local_id()`"
_WARP_SIZE = "`nd_item.get_sub_group().get_max_local_range()`"
_LOCAL_MEMORY = "a `kapi.LocalAccessor(shape, dtype)` that the launch passes as an argument"
_PRIVATE_MEMORY = "`kapi.PrivateArray(shape, dtype)`"
_FENCE = "`kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE)`"
_GROUP_FENCE = "`kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.WORK_GROUP)`"
_EXCHANGE = "`kapi.AtomicRef(array, index).compare_exchange(expected, desired)`"
_ELEMENT = "`array[i]`: a work-item reads and writes elements"
_GUARD = "`if i < n:` around the access"
_GROUP_SUM = "`kapi.reduce_over_group(group, value, kapi.plus)`"
_SCAN = "`kapi.inclusive_scan_over_group(group, value, kapi.plus)`"


def _fetch(operation: str) -> str:
    return f"`kapi.AtomicRef(array, index).fetch_{operation}(value)`"


def _sub_group(function: str, arguments: str) -> str:
    return f"`kapi.{function}(nd_item.get_sub_group(), {arguments})`"


_UPDATES = ("add", "sub", "and", "or", "xor", "min", "max")
_ATOMIC_EXCHANGE = "`kapi.AtomicRef(array, index).exchange(value)`"
_SHUFFLES = {
    "shfl_sync": _sub_group("select_from_group", "value, lane"),
    "shfl_up_sync": _sub_group("shift_group_right", "value, delta"),
    "shfl_down_sync": _sub_group("shift_group_left", "value, delta"),
    "shfl_xor_sync": _sub_group("permute_group_by_xor", "value, mask"),
}
_VOTES = {
    "any_sync": _sub_group("any_of_group", "predicate"),
    "all_sync": _sub_group("all_of_group", "predicate"),
    "ballot_sync": _sub_group("reduce_over_group", "np.uint64(predicate) << np.uint64(lane), kapi.bit_or"),
}
_BLOCKS = {
    "threadIdx": _LOCAL_ID + _LAST,
    "blockIdx": _GROUP_ID + _LAST,
    "blockDim": _LOCAL_RANGE + _LAST,
    "gridDim": _GROUP_RANGE + _LAST,
}

_NUMBA_CUDA = System(
    "numba.cuda",
    ("numba.cuda", "kapi_sim.numba_cuda", "cuda"),
    {
        "grid": _ID + _LAST,
        **_BLOCKS,
        "gridsize": "`nd_item.get_global_range(0)`",
        "laneid": _LANE,
        "warpsize": _WARP_SIZE,
        "shared.array": _LOCAL_MEMORY,
        "local.array": _PRIVATE_MEMORY,
        "const.array_like": "a NumPy array among the globals, or an array argument",
        "syncthreads": _BARRIER,
        "syncthreads_count": "`kapi.reduce_over_group(group, np.int32(predicate), kapi.plus)`",
        "syncthreads_and": "`kapi.all_of_group(group, predicate)`",
        "syncthreads_or": "`kapi.any_of_group(group, predicate)`",
        "syncwarp": _SUB_BARRIER,
        **_SHUFFLES,
        **_VOTES,
        **{f"atomic.{each}": _fetch(each) for each in _UPDATES},
        "atomic.and_": _fetch("and"),
        "atomic.or_": _fetch("or"),
        "atomic.nanmax": f"{_fetch('max')}, where the value is a number",
        "atomic.nanmin": f"{_fetch('min')}, where the value is a number",
        "atomic.inc": "a loop around `kapi.AtomicRef(array, index).compare_exchange(expected, desired)`",
        "atomic.dec": "a loop around `kapi.AtomicRef(array, index).compare_exchange(expected, desired)`",
        "atomic.exch": _ATOMIC_EXCHANGE,
        "atomic.cas": _EXCHANGE,
        "atomic.compare_and_swap": _EXCHANGE,
        "threadfence": _FENCE,
        "threadfence_block": _GROUP_FENCE,
        "threadfence_system": "`kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.SYSTEM)`",
        "libdevice": "functions of `math` and NumPy",
        "fp16": "operators and functions of `math` on values of `np.float16`",
        "cbrt": "`np.cbrt(x)`",
        "clz": "`kapi.clz(n)`",
        "brev": "a device function of shifts",
        "ffs": "`kapi.ctz(n) + 1`, but 0 of 0",
        "popc": "`kapi.popcount(n)`",
        "selp": "`a if condition else b`",
        "cg.this_grid": "two launches: nothing orders the work-groups of one",
    },
    {
        "fma": "`math.fma`",
        "jit": "`@kapi.kernel`, or `@kapi.device_func` for a function that kernels call",
        "random": "`kapi.random`, which needs no array of states",
    },
)

_CUDA = System(
    "CUDA",
    (),
    {
        "__syncthreads": _BARRIER,
        "__syncwarp": _SUB_BARRIER,
        "__shared__": _LOCAL_MEMORY,
        "__constant__": "a NumPy array among the globals, or an array argument",
        "__global__": "`@kapi.kernel`",
        "__device__": "`@kapi.device_func`",
        **{f"__{each}": ours for each, ours in (*_SHUFFLES.items(), *_VOTES.items())},
        "__threadfence": _FENCE,
        "__threadfence_block": _GROUP_FENCE,
        "__popc": "`n.bit_count()`",
        "warpSize": _WARP_SIZE,
        **{f"atomic{each.title()}": _fetch(each) for each in _UPDATES},
        "atomicExch": _ATOMIC_EXCHANGE,
        "atomicCAS": _EXCHANGE,
        "cudaMalloc": "an array of dpnp, or of `kapi_runtime.memory`",
    },
)

_TRITON = System(
    "Triton",
    ("triton.language", "triton", "tl"),
    {
        "program_id": f"{_GROUP_ID} for the block, `item.get_id(0)` for each of its elements",
        "num_programs": _GROUP_RANGE,
        "constexpr": "a number among the globals, or an argument",
        "debug_barrier": _BARRIER,
    },
    {
        "load": f"{_ELEMENT}; in place of a mask write {_GUARD}",
        "store": f"{_ELEMENT}; in place of a mask write {_GUARD}",
        "arange": "the index of the work-item, `item.get_id(0)`: a kernel is written for one element of the block",
        "zeros": _PRIVATE_MEMORY,
        "sum": _GROUP_SUM,
        "max": "`kapi.reduce_over_group(group, value, kapi.maximum)`",
        "min": "`kapi.reduce_over_group(group, value, kapi.minimum)`",
        "cumsum": _SCAN,
        "where": "`a if condition else b`",
        "dot": "a loop over the inner axis",
        "cdiv": "`-(-n // size)`",
        "jit": "`@kapi.kernel`",
        **{f"atomic_{each}": _fetch(each) for each in _UPDATES},
        "atomic_xchg": _ATOMIC_EXCHANGE,
        "atomic_cas": _EXCHANGE,
    },
)

_OPENCL = System(
    "OpenCL",
    ("numba_dpex", "numba_dppy", "dpex", "dppy", "pyopencl", "cl"),
    {
        "get_global_id": _GLOBAL_ID,
        "get_local_id": _LOCAL_ID,
        "get_group_id": _GROUP_ID,
        "get_global_size": "`nd_item.get_global_range(0)`, or `item.get_range(0)` without work-groups",
        "get_local_size": _LOCAL_RANGE,
        "get_num_groups": _GROUP_RANGE,
        "get_sub_group_local_id": _LANE,
        "get_sub_group_size": "`nd_item.get_sub_group().get_local_range()`",
        "barrier": _BARRIER,
        "work_group_barrier": _BARRIER,
        "sub_group_barrier": _SUB_BARRIER,
        "local_barrier": _BARRIER,
        "global_barrier": "two launches: nothing orders the work-groups of one",
        "mem_fence": _GROUP_FENCE,
        "atomic_work_item_fence": _GROUP_FENCE,
        "CLK_LOCAL_MEM_FENCE": _BARRIER,
        "CLK_GLOBAL_MEM_FENCE": f"{_BARRIER}, which orders local and global memory",
        "__local": _LOCAL_MEMORY,
        "__global": "an array argument",
        "__kernel": "`@kapi.kernel`",
        **{f"atomic_{each}": _fetch(each) for each in _UPDATES},
        "atomic_inc": "`kapi.AtomicRef(array, index).fetch_add(1)`",
        "atomic_dec": "`kapi.AtomicRef(array, index).fetch_sub(1)`",
        "atomic_xchg": _ATOMIC_EXCHANGE,
        "atomic_cmpxchg": _EXCHANGE,
        "work_group_all": "`kapi.all_of_group(group, predicate)`",
        "work_group_any": "`kapi.any_of_group(group, predicate)`",
        "work_group_broadcast": "`kapi.group_broadcast(group, value)`",
        "work_group_reduce_add": _GROUP_SUM,
        "work_group_scan_inclusive_add": _SCAN,
        "work_group_scan_inclusive_max": "`kapi.inclusive_scan_over_group(group, value, kapi.maximum)`",
        "sub_group_shuffle": _sub_group("select_from_group", "value, lane"),
    },
    {"local.array": _LOCAL_MEMORY, "private.array": _PRIVATE_MEMORY, "atomic.add": _fetch("add")},
)

_WARP = System(
    "Warp",
    ("warp", "wp"),
    {},
    {
        "tid": _ID,
        **{f"atomic_{each}": _fetch(each) for each in _UPDATES},
        "atomic_cas": _EXCHANGE,
        "atomic_exch": _ATOMIC_EXCHANGE,
        "launch": "`kapi.call_kernel(kernel, kapi.Range(n), ...)`",
        "kernel": "`@kapi.kernel`",
        "func": "`@kapi.device_func`",
        "constant": "a number among the globals",
        "tile_load": "a `kapi.LocalAccessor` that the work-items of a group fill",
        "tile_sum": _GROUP_SUM,
        "zeros": "an array of dpnp, or `kapi.PrivateArray(shape, dtype)` in a kernel",
    },
)

_SYCL = System(
    "SYCL's C++",
    ("sycl",),
    {
        "nd_range": "`kapi.NdRange(global_range, local_range)`",
        "local_accessor": _LOCAL_MEMORY,
        "atomic_ref": "`kapi.AtomicRef(array, index)`",
        "private_memory": _PRIVATE_MEMORY,
        "joint_reduce": "a loop, and `kapi.reduce_over_group(group, value, kapi.plus)`",
        "parallel_for": "`kapi.call_kernel(kernel, kapi.Range(n), ...)`",
        "nd_item": "`kapi.NdItem`, the type of a kernel's first parameter",
        "sub_group": "`kapi.SubGroup`, which `nd_item.get_sub_group()` gives",
        "memory_order": "`kapi.MemoryOrder`",
        "memory_scope": "`kapi.MemoryScope`",
    },
    {"range": "`kapi.Range`", "item": "`kapi.Item`", "group": "`kapi.Group`"},
)

SYSTEMS = (_NUMBA_CUDA, _CUDA, _TRITON, _OPENCL, _WARP, _SYCL)
"""The other languages; a word that two of them have is the first one's."""

_OURS = ("kapi_sim", "kapi_runtime", "kapi")
"""Where all their words are looked for: kapi's own modules."""


def hint(path: Sequence[str]) -> str:
    """Return the end of a message about a name that kapi does not have: what kapi has in its place.

    Parameters
    ----------
    path : sequence of str
        The parts of a dotted name, such as ``("cuda", "atomic", "add")``.  Attributes of a word may follow it, and the
        end of a word may lack: ``("atomic",)`` is answered by the first word that begins so.

    Returns
    -------
    str
        Empty for a name that no other language has.

    Examples
    --------
    >>> hint(("tl", "num_programs"))
    ": in place of Triton's `num_programs` use `nd_item.get_group().get_group_range(0)`"
    >>> hint(("my_function",))
    ''
    """
    for system in SYSTEMS:
        rest = _within((*system.modules, *_OURS), path)
        known = system.words if rest is None else {**system.words, **system.common_words}
        word = _word(known, path if rest is None else rest)
        if word:
            return f": in place of {system.name}'s `{word}` use {known[word]}"
    return ""


def missing_name(module: str, name: str) -> AttributeError:
    """Return the error for a name that one of kapi's modules does not have.

    Parameters
    ----------
    module : str
        Such as ``"kapi_sim"``.
    name : str
        The attribute that was looked up.
    """
    # No KapiError: `hasattr` and what walks through a module's names take this class for "not there".
    text = f"module {module!r} has no attribute {name!r}{hint((module, name))}"
    return AttributeError(text, name=name, obj=sys.modules.get(module))


def _within(modules: Sequence[str], path: Sequence[str]) -> Sequence[str] | None:
    """Return what follows a module in a path; None if the path begins with none of these."""
    for module in modules:
        parts = module.split(".")
        if list(path[: len(parts)]) == parts:
            return path[len(parts) :]
    return None


def _word(words: dict[str, str], path: Sequence[str]) -> str:
    """Return the word that a path is, goes on from, or begins; none if there is none."""
    for length in range(len(path), 0, -1):
        if ".".join(path[:length]) in words:
            return ".".join(path[:length])
    start = f"{'.'.join(path)}." if path else "\0"
    return next((word for word in words if word.startswith(start)), "")
