"""Private arrays, and arrays that the host left uninitialised."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

RANGE = kapi.Range(4)
EMPTY = np.empty(4)
MARKED = {"uninitialised": [EMPTY]}
NARROW = {"profile": "no-fp64"}


def two():
    return np.arange(4.0), np.zeros(4)


@pair(kapi.UninitializedReadError, "read-before-write", RANGE, two)
def sum_that_starts_from_nothing(item: kapi.Item, a, out):
    sums = kapi.PrivateArray(2, a.dtype)  # wrong
    sums = kapi.PrivateArray(2, a.dtype, fill_zeros=True)  # right
    for k in range(4):
        sums[k % 2] += a[k]  # named
    out[item.get_id(0)] = sums[0] - sums[1]


@pair(kapi.UninitializedReadError, "read-before-write", RANGE, two)
def element_written_for_some_only(item: kapi.Item, a, out):
    i = item.get_id(0)
    kept = kapi.PrivateArray((1, 2), np.float64)
    kept[0, 0] = a[i]
    kept[0, 1] = 0.0  # right
    if a[i] < 2:
        kept[0, 1] = a[i]
    out[i] = kept[0, 0] + kept[0, 1]  # named


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", RANGE, two)
def private_index_beyond_the_end(item: kapi.Item, a, out):
    window = kapi.PrivateArray(3, np.float64)
    for k in range(4):  # right: for k in range(3):
        window[k] = a[k]  # named


@pair(kapi.OutOfBoundsError, "negative-index", RANGE, two)
def private_index_below_zero(item: kapi.Item, a, out):
    window = kapi.PrivateArray(3, np.float64, True)
    out[item.get_id(0)] = window[item.get_id(0) - 1]  # named, wrong
    if item.get_id(0) > 0:  # right
        out[item.get_id(0)] = window[item.get_id(0) - 1]  # right


@pair(kapi.UninitializedReadError, "read-before-write", RANGE, lambda: (np.zeros(1, np.int32),))
def expected_value_never_given(item: kapi.Item, a):
    expected = kapi.PrivateArray(1, a.dtype)
    expected[0] = 0  # right
    kapi.AtomicRef(a, 0).compare_exchange(expected, 1)  # named


@pair(kapi.KernelCompilationError, "shape-unknown", RANGE, two)
def shape_known_at_run_time_only(item: kapi.Item, a, out):
    copy = kapi.PrivateArray(a.shape[0], a.dtype)  # named, wrong
    copy = kapi.PrivateArray(4, a.dtype)  # right
    copy[0] = a[0]


@pair(kapi.DtypeError, "needs-fp64", RANGE, lambda: (np.zeros(4, np.float32),), **NARROW)
def wide_floats_on_a_device_without_them(item: kapi.Item, a):
    kept = kapi.PrivateArray(1, np.float64)  # named, wrong
    kept = kapi.PrivateArray(1, np.float32)  # right
    kept[0] = a[0]


@pair(kapi.UninitializedReadError, "read-before-write", RANGE, lambda: (np.arange(4.0), EMPTY), **MARKED)
def empty_array_added_to(item: kapi.Item, a, out):
    out[item.get_id(0)] += a[item.get_id(0)]  # named, wrong
    out[item.get_id(0)] = a[item.get_id(0)]  # right


@pair(kapi.UninitializedReadError, "read-before-write", kapi.NdRange(4, 4), lambda: (np.arange(4.0), EMPTY), **MARKED)
def empty_array_read_beyond_what_was_written(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    if i < 3:  # wrong
        out[i] = a[i]  # wrong
    out[i] = a[i]  # right
    kapi.group_barrier(nd_item.get_group())
    a[i] = out[3 - i]  # named
