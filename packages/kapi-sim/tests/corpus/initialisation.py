"""Local memory that is read before anything was written to it."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

SPACE = kapi.NdRange(8, 4)


def one_tile():
    return np.arange(8.0), kapi.LocalAccessor(4, np.float64)


class sum_without_a_start:
    error, space, arguments = kapi.UninitializedReadError, SPACE, one_tile
    code = "read-before-write"

    def kernel(nd_item: kapi.NdItem, a, tile):
        tile[nd_item.get_local_id(0)] = 0  # right
        tile[nd_item.get_local_id(0)] += a[nd_item.get_global_id(0)]  # named


class half_of_the_tile_is_filled:
    error, space, arguments = kapi.UninitializedReadError, SPACE, one_tile
    code = "read-before-write"

    def kernel(nd_item: kapi.NdItem, a, tile):
        k = nd_item.get_local_id(0)
        if k < 2:  # wrong
            tile[k] = a[k]  # wrong
        tile[k] = nd_item.get_global_id(0)  # right
        kapi.group_barrier(nd_item.get_group())
        a[nd_item.get_global_id(0)] = tile[k]  # named


class guard_leaves_the_end_unwritten:
    error, space = kapi.UninitializedReadError, SPACE
    code = "read-before-write"

    def arguments():
        return np.arange(6.0), np.zeros(2), kapi.LocalAccessor(4, np.float64)

    def kernel(nd_item: kapi.NdItem, a, out, tile):
        i, k = nd_item.get_global_id(0), nd_item.get_local_id(0)
        if i < a.shape[0]:  # wrong
            tile[k] = a[i]  # wrong
        tile[k] = a[i] if i < a.shape[0] else 0.0  # right
        kapi.group_barrier(nd_item.get_group())
        if k == 0:
            for n in range(4):
                out[nd_item.get_group().get_group_id(0)] += tile[n]  # named


class memory_of_the_group_before:
    error, space, arguments = kapi.UninitializedReadError, kapi.NdRange(2, 1), one_tile
    code = "read-before-write"

    def wrong(nd_item: kapi.NdItem, a, tile):
        if nd_item.get_group().get_group_id(0) == 0:
            tile[0] = 1
        else:
            a[0] = tile[0]  # named

    def right(nd_item: kapi.NdItem, a, tile):
        tile[0] = 1
        if nd_item.get_group().get_group_id(0) == 1:
            a[0] = tile[0]


class index_that_nobody_wrote:
    error, space = kapi.UninitializedReadError, kapi.NdRange(1, 1)
    code = "read-before-write"

    def arguments():
        return np.zeros(4), kapi.LocalAccessor(1, np.int32)

    def kernel(nd_item: kapi.NdItem, a, where):
        where[0] = 2  # right
        a[where[0]] = 1  # named


class condition_that_nobody_wrote:
    error, space = kapi.UninitializedReadError, kapi.NdRange(1, 1)
    code = "read-before-write"

    def arguments():
        return np.zeros(4), kapi.LocalAccessor(1, np.bool_)

    def kernel(nd_item: kapi.NdItem, a, flag):
        flag[0] = a[1] > 0  # right
        if flag[0]:  # named
            a[0] = 1
