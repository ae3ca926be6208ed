"""Work-items that store equal values: forgiven among themselves, and a race with who reads or stores another one."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

MO, MS = kapi.MemoryOrder, kapi.MemoryScope
i4 = np.int32
TWO_GROUPS = kapi.NdRange(8, 4)
ONE_GROUP = kapi.NdRange(4, 4)


@pair(kapi.DataRaceError, "data-race", TWO_GROUPS, lambda: (np.arange(8), np.zeros(2, i4), np.zeros(8, i4)))
def flag_of_all_groups_read_after_a_barrier(nd_item: kapi.NdItem, a, found, out):
    if a[nd_item.get_global_id(0)] >= 0:  # wrong
        found[0] = 1  # named, wrong
    g = nd_item.get_group().get_group_id(0)  # right
    if nd_item.get_local_id(0) == 0:  # right
        found[g] = 1  # right
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_global_id(0)] = found[0]  # named, wrong
    out[nd_item.get_global_id(0)] = found[g]  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(6, 2), lambda: (np.zeros(3, i4), np.zeros(3, i4)))
def flag_of_three_groups_read_by_the_last(nd_item: kapi.NdItem, found, out):
    found[0] = 1  # wrong
    g = nd_item.get_group().get_group_id(0)  # right
    if nd_item.get_local_id(0) == 1:  # right
        found[g] = 1  # right
    kapi.group_barrier(nd_item.get_group())
    found[0] = 1  # named, wrong
    if nd_item.get_local_id(0) == 1:  # right
        found[g] = 1  # right
    kapi.group_barrier(nd_item.get_group())
    if nd_item.get_global_id(0) == 5:
        out[0] = found[0]  # named, wrong
        out[0] = found[g]  # right


@pair(kapi.DataRaceError, "data-race", TWO_GROUPS, lambda: (np.zeros(1, i4),))
def status_that_was_another_before(nd_item: kapi.NdItem, status):
    if nd_item.get_global_id(0) == 0:
        status[0] = 1  # named
    kapi.group_barrier(nd_item.get_group())
    if nd_item.get_global_id(0) == 0:
        status[0] = 2
    kapi.group_barrier(nd_item.get_group())  # wrong
    if nd_item.get_global_id(0) == 4:  # wrong
        status[0] = 2  # named, wrong


@pair(kapi.DataRaceError, "data-race", ONE_GROUP, lambda: (kapi.LocalAccessor(1, i4), np.zeros(4, i4)))
def cleared_and_set_in_one_phase(nd_item: kapi.NdItem, any_of, out):
    if nd_item.get_local_id(0) == 0:
        any_of[0] = 0  # named
        any_of[0] = 1  # wrong
    kapi.group_barrier(nd_item.get_group())  # right
    if nd_item.get_local_id(0) == 2:
        any_of[0] = 1  # named
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_local_id(0)] = any_of[0]


@pair(kapi.DataRaceError, "data-race", ONE_GROUP, lambda: (np.zeros(1, i4), np.zeros(4, i4), np.zeros(1, i4)))
def looked_at_before_all_set_it(nd_item: kapi.NdItem, done, seen, count):
    k = nd_item.get_local_id(0)
    if k == 0:  # wrong
        seen[k] = done[0]  # named, wrong
    done[0] = 1  # named, wrong
    if k == 0:  # right
        seen[k] = done[0]  # right
        done[0] = 1  # right
    kapi.AtomicRef(count, 0).fetch_add(1)


@pair(kapi.DataRaceError, "data-race", ONE_GROUP, lambda: (np.zeros(1, i4),))
def set_atomically_before_all_set_it(nd_item: kapi.NdItem, done):
    if nd_item.get_local_id(0) == 0:  # wrong
        kapi.AtomicRef(done, 0).fetch_max(1)  # named, wrong
        done[0] = 1  # wrong
    else:  # wrong
        done[0] = 1  # named, wrong
    kapi.AtomicRef(done, 0).fetch_max(1)  # right


@pair(kapi.DataRaceError, "data-race", ONE_GROUP, lambda: (np.zeros(1, i4), np.zeros(1, i4), np.zeros(1, i4)))
def message_of_two_from_three_writers(nd_item: kapi.NdItem, ready, arrived, out):
    k = nd_item.get_local_id(0)
    if k == 0:  # right
        ready[0] = 1  # right
    if k < 3:
        ready[0] = 1  # named, wrong
        if k != 1:  # wrong
            kapi.AtomicRef(arrived, 0, MO.ACQ_REL).fetch_add(1)  # wrong
    elif kapi.AtomicRef(arrived, 0, MO.ACQUIRE).load() == 2:  # wrong
        kapi.AtomicRef(arrived, 0, MO.ACQ_REL).fetch_add(1)  # right
    elif kapi.AtomicRef(arrived, 0, MO.ACQUIRE).load() == 3:  # right
        out[0] = ready[0]  # named


@pair(kapi.DataRaceError, "data-race", ONE_GROUP, lambda: (np.zeros(1, i4), np.zeros(1, i4), np.zeros(4, i4)))
def stored_anew_after_the_message(nd_item: kapi.NdItem, best, ready, out):
    k = nd_item.get_local_id(0)
    if k == 0:
        kapi.AtomicRef(best, 0).store(9)
        kapi.AtomicRef(ready, 0, MO.RELEASE).store(1)
        out[k] = kapi.AtomicRef(best, 0).fetch_max(3)  # named, wrong
        out[k] = kapi.AtomicRef(best, 0).load()  # right
    elif kapi.AtomicRef(ready, 0, MO.ACQUIRE).load() == 1:
        out[k] = best[0]  # named


@pair(kapi.DataRaceError, "data-race", TWO_GROUPS, lambda: (np.zeros(1, i4), np.zeros(1, i4), np.zeros(8, i4)))
def sum_looked_at_by_all_and_read_by_the_last(nd_item: kapi.NdItem, total, came, out):
    i = nd_item.get_global_id(0)
    kapi.AtomicRef(total, 0).fetch_add(i)
    if kapi.AtomicRef(came, 0, MO.ACQ_REL).fetch_add(1) < 7:
        out[i] = kapi.AtomicRef(total, 0).fetch_add(0)  # named, wrong
        out[i] = kapi.AtomicRef(total, 0).load()  # right
    else:
        out[i] = total[0]  # named


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 2), lambda: (np.zeros(1, i4), np.zeros(1, i4)))
def narrow_after_the_message(nd_item: kapi.NdItem, n, ready):
    if nd_item.get_global_id(0) == 0:
        kapi.AtomicRef(n, 0).store(5)  # wrong
        kapi.AtomicRef(n, 0, MO.RELAXED, MS.WORK_GROUP).store(5)  # right
        kapi.AtomicRef(ready, 0, MO.RELEASE).store(1)
        kapi.AtomicRef(n, 0, MO.RELAXED, MS.WORK_GROUP).fetch_add(1)  # named, wrong
        kapi.AtomicRef(n, 0).fetch_add(1)  # right
    elif kapi.AtomicRef(ready, 0, MO.ACQUIRE).load() == 1:
        kapi.AtomicRef(n, 0).fetch_add(1)  # named
