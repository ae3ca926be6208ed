"""Races on global memory: within groups, between groups, and in launches without groups."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

ITEMS = kapi.Range(8)
GROUPS = kapi.NdRange(8, 4)


def one():
    return (np.arange(8.0),)


def two():
    return np.arange(8.0), np.zeros(8)


class shift_in_place:
    error, space, arguments = kapi.DataRaceError, ITEMS, one
    code = "data-race"

    def kernel(item: kapi.Item, a):
        i = item.get_id(0)
        if i > 0:  # wrong
            a[i] = a[i - 1]  # named, wrong
        a[i] = a[i] + 1  # right


class sum_in_one_element:
    error, space, arguments = kapi.DataRaceError, ITEMS, two
    code = "data-race"

    def kernel(item: kapi.Item, a, out):
        out[0] += a[item.get_id(0)]  # named, wrong
        if item.get_id(0) == 0:  # right
            for k in range(a.shape[0]):  # right
                out[0] += a[k]  # right


class histogram_without_atomics:
    error, space = kapi.DataRaceError, ITEMS
    code = "data-race"

    def arguments():
        return np.array([0, 1, 0, 1, 2, 2, 3, 3]), np.zeros(4, np.int32)

    def kernel(item: kapi.Item, values, counts):
        counts[values[item.get_id(0)]] += 1  # named, wrong
        b = item.get_id(0)  # right
        if b < counts.shape[0]:  # right
            for k in range(values.shape[0]):  # right
                counts[b] += values[k] == b  # right


class transpose_in_place:
    error, space = kapi.DataRaceError, kapi.Range(3, 3)
    code = "data-race"

    def arguments():
        return (np.arange(9.0).reshape(3, 3),)

    def kernel(item: kapi.Item, a):
        i, j = item.get_id(0), item.get_id(1)
        t = a[i, j]  # named, wrong
        a[j, i] = t  # named, wrong
        if i < j:  # right
            t = a[i, j]  # right
            a[i, j] = a[j, i]  # right
            a[j, i] = t  # right


class dimension_is_forgotten:
    error, space = kapi.DataRaceError, kapi.Range(3, 3)
    code = "data-race"

    def arguments():
        return (np.zeros((3, 3)),)

    def kernel(item: kapi.Item, a):
        a[item.get_id(0), 0] = item.get_id(1)  # named, wrong
        a[item.get_id(0), item.get_id(1)] = item.get_id(1)  # right


class local_id_in_place_of_global_id:
    error, space, arguments = kapi.DataRaceError, GROUPS, two
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, a, out):
        out[nd_item.get_local_id(0)] = a[nd_item.get_global_id(0)]  # named, wrong
        out[nd_item.get_global_id(0)] = a[nd_item.get_global_id(0)]  # right


class groups_share_a_result:
    error, space, arguments = kapi.DataRaceError, GROUPS, two
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, a, out):
        if nd_item.get_group().leader:
            out[0] += a[nd_item.get_global_id(0)]  # named, wrong
            out[nd_item.get_group().get_group_id(0)] += a[nd_item.get_global_id(0)]  # right


class barrier_between_groups:
    error, space, arguments = kapi.DataRaceError, GROUPS, two
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        k = nd_item.get_local_id(0)  # right
        out[i] = 1  # named
        kapi.group_barrier(nd_item.get_group())
        a[i] = out[7 - i]  # named, wrong
        a[i] = out[i - k + 3 - k]  # right


class halo_of_the_neighbouring_group:
    error, space, arguments = kapi.DataRaceError, GROUPS, one
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, a):
        i = nd_item.get_global_id(0)
        left = a[i - 1] if i > 0 else 0.0  # named, wrong
        left = a[i - 1] if nd_item.get_local_id(0) > 0 else 0.0  # right
        kapi.group_barrier(nd_item.get_group())
        a[i] = left  # named


class two_names_for_one_buffer:
    error, space = kapi.DataRaceError, ITEMS
    code = "data-race"

    def arguments():
        base = np.arange(16.0)
        return base[:8], base[1:9], base[8:]

    def kernel(item: kapi.Item, a, b, c):
        b[item.get_id(0)] = a[item.get_id(0)]  # named, wrong
        if item.get_id(0) > 0:  # right
            c[item.get_id(0)] = a[item.get_id(0)]  # right


class reversed_view_of_one_buffer:
    error, space = kapi.DataRaceError, ITEMS
    code = "data-race"

    def arguments():
        base = np.arange(8.0)
        return base, base[::-1]

    def kernel(item: kapi.Item, a, b):
        b[item.get_id(0)] = a[item.get_id(0)]  # named, wrong
        a[item.get_id(0)] = a[item.get_id(0)] * 2  # right


class partial_overlap_of_two_types:
    error, space = kapi.DataRaceError, kapi.Range(2)
    code = "data-race"

    def arguments():
        base = np.zeros(4, np.int32)
        return base, base.view(np.int64)

    def kernel(item: kapi.Item, narrow, wide):
        if item.get_id(0) == 0:
            narrow[3] = 7  # named, wrong
            narrow[1] = 7  # right
        else:
            wide[1] = 8  # named


class index_wraps_with_modulo:
    error, space, arguments = kapi.DataRaceError, ITEMS, two
    code = "data-race"

    def kernel(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i % 4] = a[i]  # named, wrong
        if i < 4:  # right
            out[i % 4] = a[i]  # right


class equal_values_are_a_note:
    error, space, arguments = kapi.BenignRaceWarning, ITEMS, one

    def kernel(item: kapi.Item, a):
        a[0] = 1  # named, wrong
        if item.get_id(0) == 0:  # right
            a[0] = 1  # right
