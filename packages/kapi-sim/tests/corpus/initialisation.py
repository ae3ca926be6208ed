"""Local memory that is read before anything was written to it."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

SPACE = kapi.NdRange(8, 4)


def one_tile():
    return np.arange(8.0), kapi.LocalAccessor(4, np.float64)


@pair(kapi.UninitializedReadError, "read-before-write", SPACE, one_tile)
def sum_without_a_start(nd_item: kapi.NdItem, a, tile):
    tile[nd_item.get_local_id(0)] = 0  # right
    tile[nd_item.get_local_id(0)] += a[nd_item.get_global_id(0)]  # named


@pair(kapi.UninitializedReadError, "read-before-write", SPACE, one_tile)
def half_of_the_tile_is_filled(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    if k < 2:  # wrong
        tile[k] = a[k]  # wrong
    tile[k] = nd_item.get_global_id(0)  # right
    kapi.group_barrier(nd_item.get_group())
    a[nd_item.get_global_id(0)] = tile[k]  # named


@pair(
    kapi.UninitializedReadError,
    "read-before-write",
    SPACE,
    lambda: (np.arange(6.0), np.zeros(2), kapi.LocalAccessor(4, np.float64)),
)
def guard_leaves_the_end_unwritten(nd_item: kapi.NdItem, a, out, tile):
    i, k = nd_item.get_global_id(0), nd_item.get_local_id(0)
    if i < a.shape[0]:  # wrong
        tile[k] = a[i]  # wrong
    tile[k] = a[i] if i < a.shape[0] else 0.0  # right
    kapi.group_barrier(nd_item.get_group())
    if k == 0:
        for n in range(4):
            out[nd_item.get_group().get_group_id(0)] += tile[n]  # named


@pair(kapi.UninitializedReadError, "read-before-write", kapi.NdRange(2, 1), one_tile)
def memory_of_the_group_before(nd_item: kapi.NdItem, a, tile):
    if nd_item.get_group().get_group_id(0) == 0:  # wrong
        tile[0] = 1  # wrong
    else:  # wrong
        a[0] = tile[0]  # named, wrong
    tile[0] = 1  # right
    if nd_item.get_group().get_group_id(0) == 1:  # right
        a[0] = tile[0]  # right


@pair(
    kapi.UninitializedReadError,
    "read-before-write",
    kapi.NdRange(1, 1),
    lambda: (np.zeros(4), kapi.LocalAccessor(1, np.int32)),
)
def index_that_nobody_wrote(nd_item: kapi.NdItem, a, where):
    where[0] = 2  # right
    a[where[0]] = 1  # named


@pair(
    kapi.UninitializedReadError,
    "read-before-write",
    kapi.NdRange(1, 1),
    lambda: (np.zeros(4), kapi.LocalAccessor(1, np.bool_)),
)
def condition_that_nobody_wrote(nd_item: kapi.NdItem, a, flag):
    flag[0] = a[1] > 0  # right
    if flag[0]:  # named
        a[0] = 1
