"""Races on global memory: within groups, between groups, and in launches without groups."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

ITEMS = kapi.Range(8)
GROUPS = kapi.NdRange(8, 4)


def one():
    return (np.arange(8.0),)


def two():
    return np.arange(8.0), np.zeros(8)


@pair(kapi.DataRaceError, "data-race", ITEMS, one)
def shift_in_place(item: kapi.Item, a):
    i = item.get_id(0)
    if i > 0:  # wrong
        a[i] = a[i - 1]  # named, wrong
    a[i] = a[i] + 1  # right


@pair(kapi.DataRaceError, "data-race", ITEMS, two)
def sum_in_one_element(item: kapi.Item, a, out):
    out[0] += a[item.get_id(0)]  # named, wrong
    if item.get_id(0) == 0:  # right
        for k in range(a.shape[0]):  # right
            out[0] += a[k]  # right


@pair(kapi.DataRaceError, "data-race", ITEMS, lambda: (np.array([0, 1, 0, 1, 2, 2, 3, 3]), np.zeros(4, np.int32)))
def histogram_without_atomics(item: kapi.Item, values, counts):
    counts[values[item.get_id(0)]] += 1  # named, wrong
    b = item.get_id(0)  # right
    if b < counts.shape[0]:  # right
        for k in range(values.shape[0]):  # right
            counts[b] += values[k] == b  # right


@pair(kapi.DataRaceError, "data-race", kapi.Range(3, 3), lambda: (np.arange(9.0).reshape(3, 3),))
def transpose_in_place(item: kapi.Item, a):
    i, j = item.get_id(0), item.get_id(1)
    t = a[i, j]  # named, wrong
    a[j, i] = t  # named, wrong
    if i < j:  # right
        t = a[i, j]  # right
        a[i, j] = a[j, i]  # right
        a[j, i] = t  # right


@pair(kapi.DataRaceError, "data-race", kapi.Range(3, 3), lambda: (np.zeros((3, 3)),))
def dimension_is_forgotten(item: kapi.Item, a):
    a[item.get_id(0), 0] = item.get_id(1)  # named, wrong
    a[item.get_id(0), item.get_id(1)] = item.get_id(1)  # right


@pair(kapi.DataRaceError, "data-race", GROUPS, two)
def local_id_in_place_of_global_id(nd_item: kapi.NdItem, a, out):
    out[nd_item.get_local_id(0)] = a[nd_item.get_global_id(0)]  # named, wrong
    out[nd_item.get_global_id(0)] = a[nd_item.get_global_id(0)]  # right


@pair(kapi.DataRaceError, "data-race", GROUPS, two)
def groups_share_a_result(nd_item: kapi.NdItem, a, out):
    if nd_item.get_group().leader:
        out[0] += a[nd_item.get_global_id(0)]  # named, wrong
        out[nd_item.get_group().get_group_id(0)] += a[nd_item.get_global_id(0)]  # right


@pair(kapi.DataRaceError, "data-race", GROUPS, two)
def barrier_between_groups(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)  # right
    out[i] = 1  # named
    kapi.group_barrier(nd_item.get_group())
    a[i] = out[7 - i]  # named, wrong
    a[i] = out[i - k + 3 - k]  # right


@pair(kapi.DataRaceError, "data-race", GROUPS, one)
def halo_of_the_neighbouring_group(nd_item: kapi.NdItem, a):
    i = nd_item.get_global_id(0)
    left = a[i - 1] if i > 0 else 0.0  # named, wrong
    left = a[i - 1] if nd_item.get_local_id(0) > 0 else 0.0  # right
    kapi.group_barrier(nd_item.get_group())
    a[i] = left  # named


def arrays_of_two_names_for_one_buffer():
    base = np.arange(16.0)
    return base[:8], base[1:9], base[8:]


@pair(kapi.DataRaceError, "data-race", ITEMS, arrays_of_two_names_for_one_buffer)
def two_names_for_one_buffer(item: kapi.Item, a, b, c):
    b[item.get_id(0)] = a[item.get_id(0)]  # named, wrong
    if item.get_id(0) > 0:  # right
        c[item.get_id(0)] = a[item.get_id(0)]  # right


def arrays_of_reversed_view_of_one_buffer():
    base = np.arange(8.0)
    return base, base[::-1]


@pair(kapi.DataRaceError, "data-race", ITEMS, arrays_of_reversed_view_of_one_buffer)
def reversed_view_of_one_buffer(item: kapi.Item, a, b):
    b[item.get_id(0)] = a[item.get_id(0)]  # named, wrong
    a[item.get_id(0)] = a[item.get_id(0)] * 2  # right


def arrays_of_partial_overlap_of_two_types():
    base = np.zeros(4, np.int32)
    return base, base.view(np.int64)


@pair(kapi.DataRaceError, "data-race", kapi.Range(2), arrays_of_partial_overlap_of_two_types)
def partial_overlap_of_two_types(item: kapi.Item, narrow, wide):
    if item.get_id(0) == 0:
        narrow[3] = 7  # named, wrong
        narrow[1] = 7  # right
    else:
        wide[1] = 8  # named


@pair(kapi.DataRaceError, "data-race", ITEMS, two)
def index_wraps_with_modulo(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i % 4] = a[i]  # named, wrong
    if i < 4:  # right
        out[i % 4] = a[i]  # right


@pair(kapi.BenignRaceWarning, None, ITEMS, one)
def equal_values_are_a_note(item: kapi.Item, a):
    a[0] = 1  # named, wrong
    if item.get_id(0) == 0:  # right
        a[0] = 1  # right
