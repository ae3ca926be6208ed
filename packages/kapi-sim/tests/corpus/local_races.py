"""Races on local memory: what a barrier would order."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

SPACE = kapi.NdRange(8, 4)


def one_tile():
    return np.arange(8.0), kapi.LocalAccessor(4, np.float64)


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def neighbour_is_read_without_a_barrier(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[nd_item.get_global_id(0)]  # named
    kapi.group_barrier(nd_item.get_group())  # right
    a[nd_item.get_global_id(0)] = tile[3 - k]  # named


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def tree_sum_without_a_barrier_in_the_loop(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(nd_item.get_group())
    s = 2
    while s > 0:
        if k < s:
            tile[k] += tile[k + s]  # named
        kapi.group_barrier(nd_item.get_group())  # right
        s //= 2


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def scan_that_reads_and_writes_in_one_phase(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[nd_item.get_global_id(0)]
    s = 1
    while s < 4:
        kapi.group_barrier(nd_item.get_group())
        if k >= s:  # wrong
            tile[k] += tile[k - s]  # named, wrong
        t = tile[k - s] if k >= s else 0.0  # right
        kapi.group_barrier(nd_item.get_group())  # right
        tile[k] += t  # right
        s *= 2


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def result_is_read_before_the_leader_wrote_it(nd_item: kapi.NdItem, a, tile):
    if nd_item.get_group().leader:
        tile[0] = 5.0  # named
    kapi.group_barrier(nd_item.get_group())  # right
    a[nd_item.get_global_id(0)] = tile[0]  # named


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def all_write_one_cell(nd_item: kapi.NdItem, a, tile):
    tile[0] = nd_item.get_local_id(0)  # named, wrong
    tile[nd_item.get_local_id(0)] = nd_item.get_local_id(0)  # right


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def counter_without_an_atomic(nd_item: kapi.NdItem, a, tile):
    if nd_item.get_local_id(0) == 0:  # wrong
        tile[0] = 0  # wrong
    kapi.group_barrier(nd_item.get_group())  # wrong
    tile[0] += 1  # named, wrong
    if nd_item.get_local_id(0) == 0:  # right
        tile[0] = 0  # right
        for _ in range(nd_item.get_local_range(0)):  # right
            tile[0] += 1  # right


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def tile_is_refilled_while_others_read_it(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    s = 0.0
    for t in range(2):
        tile[k] = a[t * 4 + k]  # named
        kapi.group_barrier(nd_item.get_group())
        s += tile[(k + 1) % 4]  # named
        kapi.group_barrier(nd_item.get_group())  # right


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile)
def barrier_with_a_scope_that_orders_nothing(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = 1  # named
    kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.WORK_ITEM)  # wrong
    kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.DEVICE)  # right
    a[nd_item.get_global_id(0)] = tile[3 - k]  # named


def put(tile, k, value):
    tile[k] = value  # named


@pair(kapi.DataRaceError, "data-race", SPACE, one_tile, calls=(put,))
def write_in_a_function(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    put(tile, k, 1.0)
    kapi.group_barrier(nd_item.get_group())  # right
    a[nd_item.get_global_id(0)] = tile[3 - k]  # named


@pair(kapi.DataRaceError, "data-race", SPACE, lambda: (np.zeros(8), kapi.LocalAccessor((4, 2), np.float64)))
def overlapping_rows(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k % 2, 0] = k  # named, wrong
    tile[k % 2, k // 2] = k  # right


@pair(kapi.DataRaceError, "data-race", SPACE, lambda: (np.arange(8.0), kapi.LocalAccessor(5, np.float64)))
def halo_is_written_by_two(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[k]  # named
    tile[k + 1] = a[k + 1] / 2  # named, wrong
    if k == 3:  # right
        tile[k + 1] = a[k + 1]  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(2, 2), one_tile)
def flag_guards_nothing(nd_item: kapi.NdItem, a, tile):
    if nd_item.get_local_id(0) == 0:  # wrong
        tile[1] = 1.0  # named, wrong
    elif tile[1] == 1.0:  # named, wrong
        a[0] = 1  # wrong
    if nd_item.get_local_id(0) == 0:  # right
        tile[1] = 1.0  # right
    kapi.group_barrier(nd_item.get_group())  # right
    if nd_item.get_local_id(0) == 1 and tile[1] == 1.0:  # right
        a[0] = 1  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), one_tile)
def swap_in_place(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[k]
    kapi.group_barrier(nd_item.get_group())
    t = tile[3 - k]  # named
    kapi.group_barrier(nd_item.get_group())  # right
    tile[k] = t  # named
