# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of atomics and fences: every operation and dtype, orders, scopes and spaces."""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel, output_case

__all__ = ["CASES"]


@kernel
def _of_own(item: kapi.Item, a, b, before):
    i = item.get_id(0)
    ref = kapi.AtomicRef(a, (0, i))
    before[0, i] = ref.load()
    kapi.AtomicRef(a, (1, i)).store(b[i])
    before[2, i] = kapi.AtomicRef(a, (2, i)).exchange(b[i])
    before[3, i] = kapi.AtomicRef(a, (3, i)).fetch_add(b[i])
    before[4, i] = kapi.AtomicRef(a, (4, i)).fetch_sub(b[i])
    before[5, i] = kapi.AtomicRef(a, (5, i)).fetch_min(b[i])
    before[6, i] = kapi.AtomicRef(a, (6, i)).fetch_max(b[i])
    before[7, i] = kapi.AtomicRef(a, (7, i)).fetch_mul(b[i])


@kernel
def _bits_of_own(item: kapi.Item, a, b, before):
    i = item.get_id(0)
    before[0, i] = kapi.AtomicRef(a, (0, i)).fetch_and(b[i])
    before[1, i] = kapi.AtomicRef(a, (1, i)).fetch_or(b[i])
    before[2, i] = kapi.AtomicRef(a, (2, i)).fetch_xor(b[i])
    before[3, i] = kapi.AtomicRef(a, (3, i)).fetch_inc(b[i])
    before[4, i] = kapi.AtomicRef(a, (4, i)).fetch_dec(b[i])


@kernel
def _compare_exchange(item: kapi.Item, a, seen, swapped):
    i = item.get_id(0)
    expected = kapi.PrivateArray(2, a.dtype)
    expected[0] = 3
    expected[1] = 5
    swapped[0, i] = kapi.AtomicRef(a, i).compare_exchange(expected, 70)
    seen[0, i] = expected[0]
    swapped[1, i] = kapi.AtomicRef(a, i).compare_exchange(expected, 90, 1)
    seen[1, i] = expected[1]


@kernel
def _compare_exchange_all(item: kapi.Item, a, wanted, swapped):
    i = item.get_id(0)
    expected = kapi.PrivateArray(1, a.dtype)
    expected[0] = wanted[i]
    swapped[i] = kapi.AtomicRef(a, i).compare_exchange(expected, 8)


@kernel
def _nearest_of_nan(item: kapi.NdItem, a, b, scratch):
    i = item.get_local_id(0)
    for row in range(2):
        scratch[row, i] = a[row, i]
    kapi.group_barrier(item.get_group())
    kapi.AtomicRef(a, (0, i)).fetch_min(b[i])
    kapi.AtomicRef(a, (1, i)).fetch_max(b[i])
    kapi.AtomicRef(scratch, (0, i)).fetch_min(b[i])
    kapi.AtomicRef(scratch, (1, i)).fetch_max(b[i])
    kapi.group_barrier(item.get_group())
    for row in range(2):
        a[row + 2, i] = scratch[row, i]


def _nearest_of_nan_case(dtype: str) -> Case:
    a = np.array([np.nan, 1.5, np.nan, -2, np.inf, 0], dtype)
    b = np.array([2, np.nan, np.nan, 5, np.nan, -1], dtype)
    judged = np.array([np.fmin(a, b), np.fmax(a, b)] * 2)
    return Case(
        f"atomics/nearest-of-nan-{dtype}",
        _nearest_of_nan,
        ((6,), (6,)),
        lambda: [np.array([a, a, a + 9, a + 9]), b, Local((2, 6), dtype)],
        lambda given: {0: judged},
    )


@kernel
def _histogram(item: kapi.Item, values, bins):
    kapi.AtomicRef(bins, values[item.get_id(0)]).fetch_add(1)


@kernel
def _cycles(item: kapi.NdItem, out, tile):
    k = item.get_local_id(0)
    kapi.AtomicRef(out, 0).fetch_inc(6)
    kapi.AtomicRef(out, 1, kapi.MemoryOrder.ACQ_REL).fetch_dec(5)
    if k < 2:
        tile[k] = 2 * k
    kapi.group_barrier(item.get_group())
    kapi.AtomicRef(tile, 0, memory_scope=kapi.MemoryScope.WORK_GROUP).fetch_inc(4)
    kapi.AtomicRef(tile, 1, memory_scope=kapi.MemoryScope.WORK_GROUP).fetch_mul(2 + k % 2)
    kapi.group_barrier(item.get_group())
    if item.get_global_id(0) < 2:
        out[2 + k] = tile[k]


@kernel
def _extremes(item: kapi.Item, values, out):
    x = values[item.get_id(0)]
    kapi.AtomicRef(out, 0, kapi.MemoryOrder.SEQ_CST, kapi.MemoryScope.SYSTEM).fetch_min(x)
    kapi.AtomicRef(out, index=1, memory_order=kapi.MemoryOrder.ACQ_REL).fetch_max(x)
    kapi.AtomicRef(out, 2, address_space=kapi.AddressSpace.GENERIC).fetch_sub(x)


@kernel
def _no_number(item: kapi.Item, values, out):
    i = item.get_id(0)
    kapi.AtomicRef(out, (0, i)).fetch_min(values[i])
    kapi.AtomicRef(out, (1, i)).fetch_max(values[i])


@kernel
def _raise_to_the_largest(item: kapi.Item, values, largest):
    x = values[item.get_id(0)]
    ref = kapi.AtomicRef(largest, 0)
    seen = kapi.PrivateArray(1, largest.dtype)
    seen[0] = ref.load()
    while seen[0] < x and not ref.compare_exchange(seen, x):
        pass


@kernel
def _local_bins(nd_item: kapi.NdItem, values, bins, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    if k < tile.shape[0]:
        tile[k] = 0
    kapi.group_barrier(group)
    value = values[nd_item.get_global_id(0)]
    kapi.AtomicRef(
        tile,
        value,
        memory_scope=kapi.MemoryScope.WORK_GROUP,
        address_space=kapi.AddressSpace.LOCAL,
    ).fetch_add(1)
    kapi.group_barrier(group)
    if k < tile.shape[0]:
        kapi.AtomicRef(bins, k).fetch_add(tile[k])


def _last_group(kapi: Any) -> Any:
    @kapi.device_func
    def arrive(counter, group):
        # Only the last group to come sees that all others were there.
        return kapi.AtomicRef(counter, 0, kapi.MemoryOrder.ACQ_REL).fetch_add(1) == group.get_group_range(0) - 1

    @kapi.kernel
    def last_group(nd_item: kapi.NdItem, a, partial, counter, out):
        group = nd_item.get_group()
        total = kapi.reduce_over_group(group, a[nd_item.get_global_id(0)], kapi.plus)
        if group.leader:
            partial[group.get_group_id(0)] = total
            if arrive(counter, group):
                grid_total = a.dtype.type(0)
                for g in range(group.get_group_range(0)):
                    grid_total += partial[g]
                out[0] = grid_total

    return last_group


@kernel
def _fenced(item: kapi.Item, a, partial, counter, out):
    i = item.get_id(0)
    partial[i] = a[i] * 2
    kapi.atomic_fence(kapi.MemoryOrder.RELEASE, kapi.MemoryScope.DEVICE)
    if kapi.AtomicRef(counter, 0).fetch_add(1) == item.get_range(0) - 1:
        kapi.atomic_fence(memory_order=kapi.MemoryOrder.ACQUIRE, memory_scope=kapi.MemoryScope.DEVICE)
        total = a.dtype.type(0)
        for k in range(item.get_range(0)):
            total += partial[k]
        out[0] = total


@kernel
def _last_of_the_group(nd_item: kapi.NdItem, out, tile, counter):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    n = nd_item.get_local_range(0)
    if k == 0:
        counter[0] = 0
    kapi.group_barrier(group)
    tile[k] = k
    count = kapi.AtomicRef(
        counter, 0, kapi.MemoryOrder.SEQ_CST, kapi.MemoryScope.WORK_GROUP, kapi.AddressSpace.LOCAL
    ).fetch_add(1)
    if count == n - 1:
        total = 0
        for j in range(n):
            total += tile[j]
        out[group.get_group_id(0)] = total


@kernel
def _three_dimensions(item: kapi.Item, counts):
    kapi.AtomicRef(counts, (item.get_id(0), item.get_id(2))).fetch_add(item.get_id(1))


_A = 40
_INTEGERS = (np.arange(_A) * 7919) % 101
_NARROW = ("int8", "int16", "uint8", "uint16")
_DTYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
_OPERATIONS = tuple(
    f"AtomicRef.{name}"
    for name in ("load", "store", "exchange", "fetch_add", "fetch_sub", "fetch_min", "fetch_max", "fetch_mul")
)


def _pair(dtype: str, rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    a = np.tile(_INTEGERS, (rows, 1)).astype(dtype)
    b = ((_INTEGERS * 31 + 5) % 97).astype(dtype)
    if dtype.startswith("float"):
        a *= a.dtype.type(0.5)
        b *= b.dtype.type(0.25)
    elif dtype.startswith("int"):
        b = (b - b.dtype.type(50)).astype(dtype)
    return a, b


def _own_case(dtype: str) -> Case:
    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        a, b = _pair(dtype, 8)
        after = np.array([a[0], b, b, a[3] + b, a[4] - b, np.minimum(a[5], b), np.maximum(a[6], b), a[7] * b])
        before = a.copy()
        before[1] = 0
        return {0: after, 2: before}

    return Case(
        f"atomics/own-elements-{dtype}",
        _of_own,
        ((_A,),),
        lambda: [*_pair(dtype, 8), np.zeros((8, _A), dtype)],
        expected,
        covers=("AtomicRef", *_OPERATIONS),
        starts=(2,),
    )


def _bits_case(dtype: str) -> Case:
    def expected(given: list[Any]) -> dict[int, np.ndarray[Any, Any]]:
        a, b = _pair(dtype, 5)
        raised = np.where(a[3] >= b, 0, a[3] + 1).astype(dtype)
        lowered = np.where((a[4] <= 0) | (a[4] > b), b, a[4] - 1).astype(dtype)
        return {0: np.array([a[0] & b, a[1] | b, a[2] ^ b, raised, lowered]), 2: a}

    return Case(
        f"atomics/bits-{dtype}",
        _bits_of_own,
        ((_A,),),
        lambda: [*_pair(dtype, 5), np.zeros((5, _A), dtype)],
        expected,
        covers=tuple(f"AtomicRef.fetch_{name}" for name in ("and", "or", "xor", "inc", "dec")),
    )


def _compare_case(dtype: str) -> Case:
    a = np.array([3, 5, 7, 3, 5, 70], dtype)
    return Case(
        f"atomics/compare-exchange-{dtype}",
        _compare_exchange,
        ((6,),),
        lambda: [a, np.zeros((2, 6), dtype), np.zeros((2, 6), np.bool_)],
        lambda given: {
            0: np.array([70, 90, 7, 70, 90, 70], dtype),
            1: np.array([[3, 5, 7, 3, 5, 70], [70, 5, 7, 70, 5, 70]], dtype),
            2: np.array([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]], np.bool_),
        },
        covers=("AtomicRef.compare_exchange", "PrivateArray"),
    )


def _compare_bits_case(dtype: str) -> Case:
    a = np.array([0, -0.0, np.nan, np.nan, np.inf, -0.0, 1], dtype)
    wanted = np.array([-0.0, 0, np.nan, 1, np.inf, -0.0, np.nan], dtype)
    has_same_bits = np.array([x.tobytes() == y.tobytes() for x, y in zip(a, wanted, strict=True)])
    return Case(
        f"atomics/compare-exchange-bits-{dtype}",
        _compare_exchange_all,
        ((7,),),
        lambda: [a, wanted, np.zeros(7, np.bool_)],
        lambda given: {0: np.where(has_same_bits, 8, a).astype(dtype), 2: has_same_bits},
        covers=("AtomicRef.compare_exchange",),
    )


def _histogram_case(dtype: str) -> Case:
    return output_case(
        f"atomics/histogram-{dtype}",
        _histogram,
        ((_A,),),
        [_INTEGERS % 7],
        np.bincount(_INTEGERS % 7, minlength=7).astype(dtype),
        dtype,
        starts=True,
    )


def _cycles_case(dtype: str) -> Case:
    return Case(
        f"atomics/cycles-{dtype}",
        _cycles,
        ((_A,), (8,)),
        lambda: [np.array([0, 3, 1, 2], dtype), Local(2, dtype)],
        lambda given: {0: np.array([_A % 7, (3 - _A) % 6, 8 % 5, 2 * 2**4 * 3**4]).astype(dtype)},
    )


def _extremes_case(dtype: str) -> Case:
    values = _pair(dtype, 1)[1]
    start = np.array([96, 0, 0], dtype)
    return Case(
        f"atomics/extremes-{dtype}",
        _extremes,
        ((_A,),),
        lambda: [values, start],
        lambda given: {
            1: np.array([values.min(), values.max(), np.zeros((), dtype) - values.sum(dtype=dtype)], dtype),
        },
    )


def _no_number_case(dtype: str) -> Case:
    values = np.array([np.nan, 3, -np.inf, np.nan, np.inf], dtype)
    start = np.array([[5, 5, 5, -np.inf, 5], [5, 5, 5, np.inf, 5]], dtype)
    return Case(
        f"atomics/no-number-{dtype}",
        _no_number,
        ((5,),),
        lambda: [values, start],
        lambda given: {1: np.array([[5, 3, -np.inf, -np.inf, 5], [5, 5, 5, np.inf, np.inf]], dtype)},
    )


_NUMBERS = (np.arange(48, dtype=np.float32) * 5) % 19

CASES: tuple[Case, ...] = (
    *(_nearest_of_nan_case(dtype) for dtype in ("float32", "float64")),
    *(_own_case(dtype) for dtype in (*_NARROW, *_DTYPES)),
    *(_bits_case(dtype) for dtype in (*_NARROW, *_DTYPES[:4])),
    *(_compare_case(dtype) for dtype in (*_NARROW, *_DTYPES)),
    *(_compare_bits_case(dtype) for dtype in ("float32", "float64")),
    *(_histogram_case(dtype) for dtype in (*_NARROW, "int32", "uint64", "float32", "float64")),
    *(_cycles_case(dtype) for dtype in ("uint8", "int16", "uint32", "uint64")),
    *(_extremes_case(dtype) for dtype in _DTYPES),
    *(_no_number_case(dtype) for dtype in ("float32", "float64")),
    output_case(
        "atomics/compare-exchange-until-done",
        _raise_to_the_largest,
        ((_A,),),
        [_INTEGERS],
        [_INTEGERS.max()],
        np.int64,
        starts=True,
    ),
    Case(
        "atomics/local-bins",
        _local_bins,
        ((_A,), (20,)),
        lambda: [_INTEGERS % 7, np.zeros(7, np.int32), Local(7, np.int32)],
        lambda given: {1: np.bincount(_INTEGERS % 7, minlength=7).astype(np.int32)},
        starts=(1,),
    ),
    output_case(
        "atomics/last-group",
        _last_group,
        ((48,), (8,)),
        [_NUMBERS, np.zeros(6, np.float32), np.zeros(1, np.int32)],
        [_NUMBERS.sum()],
        np.float32,
    ),
    output_case(
        "atomics/fences",
        _fenced,
        ((48,),),
        [_NUMBERS, np.zeros(48, np.float32), np.zeros(1, np.int32)],
        [_NUMBERS.sum() * 2],
        np.float32,
        covers=("atomic_fence",),
    ),
    Case(
        "atomics/last-of-the-group",
        _last_of_the_group,
        ((24,), (8,)),
        lambda: [np.zeros(3, np.int64), Local(8, np.int64), Local(1, np.int32)],
        lambda given: {0: np.full(3, 28)},
    ),
    output_case(
        "atomics/three-dimensions",
        _three_dimensions,
        ((2, 4, 3),),
        [],
        np.full((2, 3), 6, np.int32),
        np.int32,
        starts=True,
    ),
)
