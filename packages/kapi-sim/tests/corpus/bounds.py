"""Indices outside of their axis."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

SPACE = kapi.Range(8)


def one():
    return (np.arange(6.0),)


def matrix():
    return (np.zeros((4, 3)),)


class launch_is_larger_than_the_array:
    error, space, arguments = kapi.OutOfBoundsError, SPACE, one
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a):
        a[item.get_id(0)] = 1  # named, wrong
        if item.get_id(0) < a.shape[0]:  # right
            a[item.get_id(0)] = 1  # right


class guard_is_off_by_one:
    error, space, arguments = kapi.OutOfBoundsError, SPACE, one
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a):
        i = item.get_id(0)
        if i <= a.shape[0]:  # right: if i < a.shape[0]:
            a[i] = 1  # named


class left_neighbour_of_the_first:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(6), lambda: (np.arange(6.0), np.zeros(6))
    code = "negative-index"

    def kernel(item: kapi.Item, a, b):
        i = item.get_id(0)
        b[i] = a[i - 1]  # named, wrong
        b[i] = a[i - 1] if i > 0 else 0.0  # right


class constant_index_beyond_the_start:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(1), one
    code = "negative-index"

    def kernel(item: kapi.Item, a):
        a[0] = a[-9]  # named, wrong
        a[0] = a[-1]  # right


class right_neighbour_of_the_last:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(6), lambda: (np.arange(6.0), np.zeros(6))
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a, b):
        i = item.get_id(0)
        b[i] = a[i + 1]  # named, wrong
        b[i] = a[i + 1] if i + 1 < a.shape[0] else 0.0  # right


class axes_are_swapped:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(4, 3), matrix
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a):
        a[item.get_id(1), item.get_id(0)] = 1  # named, wrong
        a[item.get_id(0), item.get_id(1)] = 1  # right


class row_runs_into_the_next:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(3), matrix
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a):
        a[item.get_id(0), item.get_id(0) + 1] = 1  # named, wrong
        a[item.get_id(0) + 1, item.get_id(0)] = 1  # right


class tile_is_too_small:
    error, space = kapi.OutOfBoundsError, kapi.NdRange(8, 4)
    code = "index-out-of-bounds"

    def arguments():
        return np.arange(8.0), kapi.LocalAccessor(4, np.float64)

    def kernel(nd_item: kapi.NdItem, a, tile):
        tile[nd_item.get_global_id(0)] = a[nd_item.get_global_id(0)]  # named, wrong
        tile[nd_item.get_local_id(0)] = a[nd_item.get_global_id(0)]  # right


class tree_sum_reads_beyond_the_tile:
    error, space = kapi.OutOfBoundsError, kapi.NdRange(4, 4)
    code = "index-out-of-bounds"

    def arguments():
        return (kapi.LocalAccessor(4, np.float64),)

    def kernel(nd_item: kapi.NdItem, tile):
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


class index_from_data:
    error, space = kapi.OutOfBoundsError, kapi.Range(3)
    code = "index-out-of-bounds"

    def arguments():
        return np.array([0, 2, 3], np.int32), np.zeros(3)

    def kernel(item: kapi.Item, index, out):
        out[index[item.get_id(0)]] = 1  # named, wrong
        if index[item.get_id(0)] < out.shape[0]:  # right
            out[index[item.get_id(0)]] = 1  # right


class too_many_indices:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(1), one
    code = "too-many-indices"

    def kernel(item: kapi.Item, a):
        a[0, 0] = 1  # named, wrong
        a[0] = 1  # right


class dimension_that_the_launch_lacks:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(2), one
    code = "dim-out-of-range"

    def kernel(item: kapi.Item, a):
        a[item.get_id(1)] = 1  # named, wrong
        a[item.get_id(0)] = 1  # right


class element_of_an_empty_array:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(1), lambda: (np.zeros(0),)
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a):
        a[0] = 1  # named, wrong
        if a.shape[0] > 0:  # right
            a[0] = 1  # right


class element_of_a_view_of_a_row:
    error, space, arguments = kapi.OutOfBoundsError, kapi.Range(4), matrix
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, a):
        row = a[2]
        row[item.get_id(0)] = 1  # named, wrong
        if item.get_id(0) < row.shape[0]:  # right
            row[item.get_id(0)] = 1  # right
