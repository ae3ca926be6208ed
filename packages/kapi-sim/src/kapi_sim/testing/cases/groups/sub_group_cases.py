# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of sub-groups.  Their size is the device's choice, so the kernels compare with what they ask it."""

from __future__ import annotations

from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, Local, kernel, output_case

__all__ = ["CASES"]


@kernel
def _queries(nd_item: kapi.NdItem, out):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_linear_id()
    n = nd_item.get_local_linear_range()
    most = sub_group.get_max_local_range()
    start = sub_group.get_group_id() * most
    here = most
    if n - start < most:
        here = n - start
    out[0, i] = start + sub_group.get_local_id() - nd_item.get_local_linear_id()
    out[1, i] = sub_group.get_group_range() - (n + most - 1) // most
    out[2, i] = sub_group.get_local_range() - here
    out[3, i] = sub_group.leader == (sub_group.get_local_id() == 0)


@kernel
def _combined(nd_item: kapi.NdItem, a, out):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    k = sub_group.get_local_id()
    n = sub_group.get_local_range()
    one = a.dtype.type(1)
    # a[i] is i: the sum of the sub-group is that of neighbours.
    first = a[i] - a.dtype.type(k)
    out[0, i] = kapi.reduce_over_group(sub_group, one, kapi.plus) - a.dtype.type(n)
    out[1, i] = kapi.inclusive_scan_over_group(sub_group, one, kapi.plus) - a.dtype.type(k + 1)
    out[2, i] = kapi.exclusive_scan_over_group(sub_group, one, kapi.plus) - a.dtype.type(k)
    out[3, i] = kapi.reduce_over_group(sub_group, a[i], kapi.minimum) - first
    out[4, i] = kapi.reduce_over_group(sub_group, a[i], kapi.maximum) - first - a.dtype.type(n - 1)
    out[5, i] = kapi.group_broadcast(sub_group, a[i], n - 1) - first - a.dtype.type(n - 1)
    out[6, i] = kapi.select_from_group(sub_group, a[i], n - 1 - k) - first - a.dtype.type(n - 1 - k)
    left = kapi.shift_group_left(sub_group, a[i], 1)
    if k + 1 < n:
        out[7, i] = left - a[i] - one
    else:
        out[7, i] = 0
    right = kapi.shift_group_right(sub_group, a[i], 1)
    if k > 0:
        out[8, i] = right + one - a[i]
    else:
        out[8, i] = 0
    other = k ^ 1
    swapped = kapi.permute_group_by_xor(sub_group, a[i], 1)
    if other < n:
        out[9, i] = swapped - first - a.dtype.type(other)
    else:
        out[9, i] = 0


@kernel
def _predicates(nd_item: kapi.NdItem, out):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    k = sub_group.get_local_id()
    out[0, i] = kapi.any_of_group(sub_group, k == 0)
    out[1, i] = kapi.all_of_group(sub_group, k == 0) == (sub_group.get_local_range() == 1)
    out[2, i] = kapi.none_of_group(sub_group, k < 0)


@kernel
def _barrier(nd_item: kapi.NdItem, out, tile):
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    k = sub_group.get_local_id()
    n = sub_group.get_local_range()
    here = nd_item.get_local_id(0)
    tile[here] = k
    kapi.group_barrier(sub_group)
    after = (k + 1) % n
    out[i] = tile[here - k + after] - after


@kernel
def _of_one_sub_group(nd_item: kapi.NdItem, out):
    group = nd_item.get_group()
    sub_group = nd_item.get_sub_group()
    value = nd_item.get_local_id(0) - nd_item.get_local_id(0)
    if sub_group.get_group_id() == 0:
        value = kapi.reduce_over_group(sub_group, 1, kapi.plus) - sub_group.get_local_range()
    out[nd_item.get_global_id(0)] = kapi.reduce_over_group(group, value, kapi.plus)


def _two_steps(kapi: Any) -> Any:
    @kapi.device_func
    def sum_of_sub_group(sub_group, x):
        return kapi.reduce_over_group(sub_group, x, kapi.plus)

    @kapi.kernel
    def two_steps(nd_item: kapi.NdItem, a, out, partial):
        group = nd_item.get_group()
        sub_group = nd_item.get_sub_group()
        i = nd_item.get_global_id(0)
        k = nd_item.get_local_id(0)
        partial[k] = 0
        kapi.group_barrier(group)
        total = sum_of_sub_group(sub_group, a[i])
        if sub_group.leader:
            partial[sub_group.get_group_id()] = total
        kapi.group_barrier(group)
        if k == 0:
            group_total = a.dtype.type(0)
            for s in range(sub_group.get_group_range()):
                group_total += partial[s]
            out[group.get_group_id(0)] = group_total

    return two_steps


def _combined_case(dtype: str) -> Case:
    return output_case(
        f"sub-groups/combined-{dtype}",
        _combined,
        ((48,), (24,)),
        [np.arange(48).astype(dtype)],
        np.zeros((10, 48), dtype),
        dtype,
        covers=(
            "shift_group_left",
            "shift_group_right",
            "permute_group_by_xor",
            "select_from_group",
            "reduce_over_group",
        ),
    )


_QUERIES = tuple(
    f"SubGroup.{name}"
    for name in ("get_group_id", "get_group_range", "get_local_id", "get_local_range", "get_max_local_range", "leader")
)
_EXPECTED_QUERIES = np.array([[0], [0], [0], [1]])
_NUMBERS = (np.arange(64, dtype=np.float32) * 7) % 13

CASES: tuple[Case, ...] = (
    Case(
        "sub-groups/queries",
        _queries,
        ((80,), (40,)),
        lambda: [np.full((4, 80), 9, np.int64)],
        lambda given: {0: np.repeat(_EXPECTED_QUERIES, 80, axis=1)},
        covers=("NdItem.get_sub_group", *_QUERIES),
    ),
    Case(
        "sub-groups/queries-in-two-dimensions",
        _queries,
        ((4, 32), (2, 32)),
        lambda: [np.full((4, 128), 9, np.int64)],
        lambda given: {0: np.repeat(_EXPECTED_QUERIES, 128, axis=1)},
    ),
    *(_combined_case(dtype) for dtype in ("int32", "int64", "uint32", "uint64", "float32", "float64")),
    output_case(
        "sub-groups/predicates",
        _predicates,
        ((24,), (12,)),
        [],
        np.ones((3, 24), np.bool_),
        np.bool_,
        covers=("any_of_group", "all_of_group", "none_of_group"),
    ),
    Case(
        "sub-groups/barrier",
        _barrier,
        ((48,), (24,)),
        lambda: [np.full(48, 9, np.int64), Local(24, np.int64)],
        lambda given: {0: np.zeros(48, np.int64)},
        covers=("group_barrier",),
    ),
    Case(
        "sub-groups/one-alone",
        _of_one_sub_group,
        ((160,), (80,)),
        lambda: [np.full(160, 9, np.int64)],
        lambda given: {0: np.zeros(160, np.int64)},
    ),
    Case(
        "sub-groups/reduction-in-two-steps",
        _two_steps,
        ((64,), (32,)),
        lambda: [_NUMBERS, np.zeros(2, np.float32), Local(32, np.float32)],
        lambda given: {1: _NUMBERS.reshape(2, 32).sum(axis=1)},
    ),
)
