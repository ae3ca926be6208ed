# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of work-groups: barriers, local memory, device functions with and without barriers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel, output_case

__all__ = ["CASES"]


@kernel
def _reversal(nd_item: kapi.NdItem, a, out, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(nd_item.get_group())
    out[i] = tile[nd_item.get_local_range(0) - 1 - k]


@kernel
def _tree(nd_item: kapi.NdItem, a, out, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    tile[k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(group)
    stride = nd_item.get_local_range(0) // 2
    while stride > 0:
        if k < stride:
            tile[k] += tile[k + stride]
        kapi.group_barrier(group, fence_scope=kapi.MemoryScope.WORK_GROUP)
        stride //= 2
    if group.leader:
        out[group.get_group_id(0)] = tile[0]


@kernel
def _scan(nd_item: kapi.NdItem, a, out, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    n = nd_item.get_local_range(0)
    tile[0, k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(group)
    source = 0
    distance = 1
    while distance < n:
        value = tile[source, k]
        if k >= distance:
            value += tile[source, k - distance]
        tile[1 - source, k] = value
        kapi.group_barrier(group)
        source = 1 - source
        distance *= 2
    out[nd_item.get_global_id(0)] = tile[source, k]


@kernel
def _transpose(nd_item: kapi.NdItem, a, out, tile):
    y = nd_item.get_local_id(0)
    x = nd_item.get_local_id(1)
    group = nd_item.get_group()
    n = group.get_local_range(0)
    gy = group.get_group_id(0)
    gx = group.get_group_id(1)
    tile[y, x] = a[gy * n + y, gx * n + x]
    kapi.group_barrier(group)
    out[gx * n + y, gy * n + x] = tile[x, y]


@kernel
def _global_exchange(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    n = nd_item.get_local_range(0)
    base = i - k
    a[i] = a[i] * 2
    kapi.group_barrier(nd_item.get_group())
    out[i] = a[base + (k + 1) % n]


def _device_function(kapi: Any) -> Any:
    @kapi.device_func
    def square(x):
        return x * x

    @kapi.device_func
    def norm(x, y):
        return square(x) + square(y)

    @kapi.kernel
    def norms(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = norm(a[i, 0], a[i, 1])

    return norms


def _device_function_with_barrier(kapi: Any) -> Any:
    @kapi.device_func
    def halve(group, tile, k, stride):
        if k < stride:
            tile[k] += tile[k + stride]
        kapi.group_barrier(group)
        return stride // 2

    @kapi.device_func
    def sum_of(group, tile, k, n):
        stride = n // 2
        while stride > 0:
            stride = halve(group, tile, k, stride)
        return tile[0]

    @kapi.kernel
    def group_sums(nd_item: kapi.NdItem, a, out, tile):
        group = nd_item.get_group()
        k = nd_item.get_local_id(0)
        tile[k] = a[nd_item.get_global_id(0)]
        kapi.group_barrier(group)
        total = sum_of(group, tile, k, nd_item.get_local_range(0))
        out[nd_item.get_global_id(0)] = total

    return group_sums


def _nested_collectives(kapi: Any) -> Any:
    @kapi.device_func
    def shifted(group, tile, k, value):
        tile[k] = value
        kapi.group_barrier(group)
        value = tile[(k + 1) % group.get_local_range(0)]
        kapi.group_barrier(group)
        return value

    @kapi.device_func
    def shifted_twice(group, tile, k, value):
        return shifted(group, tile, k, shifted(group, tile, k, value))

    @kapi.device_func
    def shifted_often(group, tile, k, value, times):
        for _ in range(times):
            value = shifted_twice(group, tile, k, value)
        return value

    @kapi.device_func
    def largest(group, value):
        return kapi.reduce_over_group(group, value, kapi.maximum)

    @kapi.device_func
    def count_below(group, value):
        count = 0
        while kapi.any_of_group(group, largest(group, value) > count):
            count += 1
        return count + kapi.group_broadcast(group, value, 1)

    @kapi.kernel
    def exchange(nd_item: kapi.NdItem, a, out, tile):
        i = nd_item.get_global_id(0)
        k = nd_item.get_local_id(0)
        group = nd_item.get_group()
        out[0, i] = shifted_twice(group, tile, k, a[i])
        out[1, i] = shifted_often(group, tile, k, a[i], 3)
        out[2, i] = count_below(group, a[i] % 7)

    return exchange


def _numbers_and_tile(size: int) -> list[Any]:
    numbers = np.random.default_rng(5).integers(0, 1000, 2 * size)
    return [numbers, np.zeros((3, 2 * size), np.int64), Local(size, np.int64)]


def _after_nested_collectives(given: list[Any]) -> dict[int, Any]:
    groups = given[0].reshape(2, -1)
    below = (groups % 7).max(axis=1, keepdims=True) + groups[:, 1:2] % 7
    rows = [np.roll(groups, -2, axis=1), np.roll(groups, -6, axis=1), below + 0 * groups]
    return {1: np.stack([row.reshape(-1) for row in rows])}


def _array_in_a_device_function(kapi: Any) -> Any:
    @kapi.device_func
    def row_sum(a, i):
        total = a.dtype.type(0)
        for k in range(a.shape[1]):
            total += a[i, k]
        return total

    @kapi.kernel
    def row_sums(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = row_sum(a, i)

    return row_sums


@kernel
def _uniform_branch(nd_item: kapi.NdItem, a, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    n = nd_item.get_local_range(0)
    if group.get_group_id(0) % 2 == 0:
        tile[k] = a[i]
        kapi.group_barrier(group)
        a[i] = tile[n - 1 - k]


@kernel
def _local_range(nd_item: kapi.NdItem, out, tile):
    if nd_item.get_global_id(0) == 0:
        out[0] = tile.shape[0]
        out[1] = tile.shape[1]
        out[2] = len(tile)


@kernel
def _two_accessors(nd_item: kapi.NdItem, a, out, doubles, counts):
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    n = nd_item.get_local_range(0)
    doubles[k] = a[i] * 0.5
    counts[k] = k
    kapi.group_barrier(nd_item.get_group())
    other = n - 1 - k
    out[i] = doubles[other] + counts[other]


def _reversed_in_groups(a: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(a.reshape(-1, n)[:, ::-1]).reshape(-1)


_A = np.arange(24, dtype=np.float32) * np.float32(1.5)
_INTEGERS = (np.arange(32, dtype=np.int64) * 7919) % 101
_SQUARE = np.arange(64, dtype=np.int32).reshape(8, 8)

CASES: tuple[Case, ...] = (
    Case(
        "groups/reversal",
        _reversal,
        ((24,), (8,)),
        lambda: [_A, np.zeros(24, np.float32), Local(8, np.float32)],
        lambda given: {1: _reversed_in_groups(_A, 8)},
        covers=("group_barrier",),
    ),
    Case(
        "groups/tree-reduction",
        _tree,
        ((32,), (16,)),
        lambda: [_INTEGERS, np.zeros(2, np.int64), Local((16,), np.int64)],
        lambda given: {1: _INTEGERS.reshape(2, 16).sum(axis=1)},
        covers=("group_barrier",),
    ),
    Case(
        "groups/inclusive-scan",
        _scan,
        ((32,), (8,)),
        lambda: [_INTEGERS, np.zeros(32, np.int64), Local((2, 8), np.int64)],
        lambda given: {1: np.cumsum(_INTEGERS.reshape(4, 8), axis=1).reshape(-1)},
    ),
    Case(
        "groups/tiled-transpose",
        _transpose,
        ((8, 8), (4, 4)),
        lambda: [_SQUARE, np.zeros((8, 8), np.int32), Local((4, 4), np.int32)],
        lambda given: {1: _SQUARE.T.copy()},
    ),
    output_case(
        "groups/exchange-in-global-memory",
        _global_exchange,
        ((24,), (6,)),
        [_A],
        np.roll(_A.reshape(4, 6) * 2, -1, axis=1).reshape(-1),
        np.float32,
    ),
    output_case(
        "groups/device-function",
        _device_function,
        ((3,),),
        [np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 0.25]])],
        [5.0, 25.0, 0.3125],
    ),
    Case(
        "groups/device-function-with-barrier",
        _device_function_with_barrier,
        ((32,), (8,)),
        lambda: [_INTEGERS, np.zeros(32, np.int64), Local(8, np.int64)],
        lambda given: {1: np.repeat(_INTEGERS.reshape(4, 8).sum(axis=1), 8)},
    ),
    *(
        Case(
            f"groups/collectives-in-nested-functions-of-{size}",
            _nested_collectives,
            ((2 * size,), (size,)),
            partial(_numbers_and_tile, size),
            _after_nested_collectives,
        )
        for size in (8, 64)  # fewer work-items than a vector of Intel's CPU runtime has lanes, and more
    ),
    output_case(
        "groups/array-in-a-device-function",
        _array_in_a_device_function,
        ((8,),),
        [_SQUARE],
        _SQUARE.sum(axis=1).astype(np.int32),
        np.int32,
    ),
    Case(
        "groups/barrier-in-a-uniform-branch",
        _uniform_branch,
        ((24,), (6,)),
        lambda: [_A, Local(6, np.float32)],
        lambda given: {0: np.where((np.arange(24) // 6) % 2 == 0, _reversed_in_groups(_A, 6), _A)},
    ),
    Case(
        "groups/shape-of-local-memory",
        _local_range,
        ((4,), (2,)),
        lambda: [np.zeros(3, np.int64), Local((3, 5), np.float32)],
        lambda given: {0: np.array([3, 5, 3])},
    ),
    Case(
        "groups/two-local-accessors",
        _two_accessors,
        ((8,), (4,)),
        lambda: [np.arange(8.0), np.zeros(8), Local(4, np.float64), Local(4, np.int32)],
        lambda given: {1: np.array([4.5, 3.0, 1.5, 0.0, 6.5, 5.0, 3.5, 2.0])},
    ),
)
