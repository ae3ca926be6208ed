"""Indices outside of their axis."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

SPACE = kapi.Range(8)


def one():
    return (np.arange(6.0),)


def matrix():
    return (np.zeros((4, 3)),)


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", SPACE, one)
def launch_is_larger_than_the_array(item: kapi.Item, a):
    a[item.get_id(0)] = 1  # named, wrong
    if item.get_id(0) < a.shape[0]:  # right
        a[item.get_id(0)] = 1  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", SPACE, one)
def guard_is_off_by_one(item: kapi.Item, a):
    i = item.get_id(0)
    if i <= a.shape[0]:  # right: if i < a.shape[0]:
        a[i] = 1  # named


@pair(kapi.OutOfBoundsError, "negative-index", kapi.Range(6), lambda: (np.arange(6.0), np.zeros(6)))
def left_neighbour_of_the_first(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = a[i - 1]  # named, wrong
    b[i] = a[i - 1] if i > 0 else 0.0  # right


@pair(kapi.OutOfBoundsError, "negative-index", kapi.Range(1), one)
def constant_index_beyond_the_start(item: kapi.Item, a):
    a[0] = a[-9]  # named, wrong
    a[0] = a[-1]  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.Range(6), lambda: (np.arange(6.0), np.zeros(6)))
def right_neighbour_of_the_last(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = a[i + 1]  # named, wrong
    b[i] = a[i + 1] if i + 1 < a.shape[0] else 0.0  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.Range(4, 3), matrix)
def axes_are_swapped(item: kapi.Item, a):
    a[item.get_id(1), item.get_id(0)] = 1  # named, wrong
    a[item.get_id(0), item.get_id(1)] = 1  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.Range(3), matrix)
def row_runs_into_the_next(item: kapi.Item, a):
    a[item.get_id(0), item.get_id(0) + 1] = 1  # named, wrong
    a[item.get_id(0) + 1, item.get_id(0)] = 1  # right


@pair(
    kapi.OutOfBoundsError,
    "index-out-of-bounds",
    kapi.NdRange(8, 4),
    lambda: (np.arange(8.0), kapi.LocalAccessor(4, np.float64)),
)
def tile_is_too_small(nd_item: kapi.NdItem, a, tile):
    tile[nd_item.get_global_id(0)] = a[nd_item.get_global_id(0)]  # named, wrong
    tile[nd_item.get_local_id(0)] = a[nd_item.get_global_id(0)]  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.NdRange(4, 4), lambda: (kapi.LocalAccessor(4, np.float64),))
def tree_sum_reads_beyond_the_tile(nd_item: kapi.NdItem, tile):
    k = nd_item.get_local_id(0)
    tile[k] = k
    kapi.group_barrier(nd_item.get_group())
    s = 4  # wrong
    s = 2  # right
    while s > 0:
        if k < s:
            tile[k] += tile[k + s]  # named
        kapi.group_barrier(nd_item.get_group())
        s //= 2


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.Range(3), lambda: (np.array([0, 2, 3], np.int32), np.zeros(3)))
def index_from_data(item: kapi.Item, index, out):
    out[index[item.get_id(0)]] = 1  # named, wrong
    if index[item.get_id(0)] < out.shape[0]:  # right
        out[index[item.get_id(0)]] = 1  # right


@pair(kapi.OutOfBoundsError, "too-many-indices", kapi.Range(1), one)
def too_many_indices(item: kapi.Item, a):
    a[0, 0] = 1  # named, wrong
    a[0] = 1  # right


@pair(kapi.OutOfBoundsError, "dim-out-of-range", kapi.Range(2), one)
def dimension_that_the_launch_lacks(item: kapi.Item, a):
    a[item.get_id(1)] = 1  # named, wrong
    a[item.get_id(0)] = 1  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.Range(1), lambda: (np.zeros(0),))
def element_of_an_empty_array(item: kapi.Item, a):
    a[0] = 1  # named, wrong
    if a.shape[0] > 0:  # right
        a[0] = 1  # right


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", kapi.Range(4), matrix)
def element_of_a_view_of_a_row(item: kapi.Item, a):
    row = a[2]
    row[item.get_id(0)] = 1  # named, wrong
    if item.get_id(0) < row.shape[0]:  # right
        row[item.get_id(0)] = 1  # right
