"""Locks of which one work-item, the first or the last in program order, leaves out what orders its part."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

MO, MS = kapi.MemoryOrder, kapi.MemoryScope
i4 = np.int32
BACKWARDS = "total[0]"


def lock_and_total():
    return np.zeros(1, i4), np.zeros(1)


@pair(kapi.DataRaceError, "data-race", kapi.Range(3), lock_and_total)
def taken_without_acquire_by_the_first(item: kapi.Item, lock, total):
    if item.get_id(0) == 0:  # wrong
        while kapi.AtomicRef(lock, 0).exchange(1) == 1:  # wrong
            pass  # wrong
    else:  # wrong
        while kapi.AtomicRef(lock, 0, MO.ACQUIRE).exchange(1) == 1:  # wrong
            pass  # wrong
    while kapi.AtomicRef(lock, 0, MO.ACQUIRE).exchange(1) == 1:  # right
        pass  # right
    total[0] += 1.0  # named
    kapi.AtomicRef(lock, 0, MO.RELEASE).store(0)


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(6, 2), lock_and_total)
def given_back_without_release_by_the_last(nd_item: kapi.NdItem, lock, total):
    free = kapi.PrivateArray(1, np.int32, fill_zeros=True)
    while not kapi.AtomicRef(lock, 0, MO.ACQUIRE).compare_exchange(free, 1):
        free[0] = 0
    total[0] += 1.0  # named
    if nd_item.get_global_id(0) < 5:  # wrong
        kapi.AtomicRef(lock, 0, MO.RELEASE).store(0)  # wrong
    else:  # wrong
        kapi.AtomicRef(lock, 0).store(0)  # wrong
    kapi.AtomicRef(lock, 0, MO.RELEASE).store(0)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 2), lock_and_total)
def fence_of_the_first_too_narrow(nd_item: kapi.NdItem, lock, total):
    if nd_item.get_local_id(0) == 0:
        while kapi.AtomicRef(lock, 0).exchange(1) == 1:
            pass
        if nd_item.get_group().get_group_id(0) == 0:  # wrong
            kapi.atomic_fence(MO.ACQUIRE, MS.WORK_GROUP)  # wrong
        else:  # wrong
            kapi.atomic_fence(MO.ACQUIRE, MS.DEVICE)  # wrong
        kapi.atomic_fence(MO.ACQUIRE, MS.DEVICE)  # right
        total[0] += 1.0  # named
        kapi.atomic_fence(MO.RELEASE, MS.DEVICE)
        kapi.AtomicRef(lock, 0).exchange(0)


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 2), lock_and_total)
def scope_of_the_first_too_narrow(nd_item: kapi.NdItem, lock, total):
    if nd_item.get_local_id(0) == 0:
        if nd_item.get_group().get_group_id(0) == 0:  # wrong
            while kapi.AtomicRef(lock, 0, MO.ACQUIRE, MS.WORK_GROUP).exchange(1) == 1:  # named, wrong
                pass  # wrong
        else:  # wrong
            while kapi.AtomicRef(lock, 0, MO.ACQUIRE).exchange(1) == 1:  # wrong
                pass  # wrong
        while kapi.AtomicRef(lock, 0).exchange(1) == 1:  # right
            pass  # right
        kapi.atomic_fence(MO.ACQUIRE, MS.DEVICE)  # right
        total[0] += 1.0
        kapi.AtomicRef(lock, 0, MO.RELEASE).store(0)  # named, wrong
        kapi.atomic_fence(MO.RELEASE, MS.DEVICE)  # right
        kapi.AtomicRef(lock, 0).exchange(0)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), lambda: (np.zeros(1, i4), np.zeros(1, i4), np.zeros(1)))
def ticket_awaited_without_acquire_by_the_first(nd_item: kapi.NdItem, tickets, serving, total):
    mine = kapi.AtomicRef(tickets, 0).fetch_add(1)
    if nd_item.get_local_id(0) == 0:  # wrong
        while kapi.AtomicRef(serving, 0).load() != mine:  # wrong
            pass  # wrong
    else:  # wrong
        while kapi.AtomicRef(serving, 0, MO.ACQUIRE).load() != mine:  # wrong
            pass  # wrong
    while kapi.AtomicRef(serving, 0, MO.ACQUIRE).load() != mine:  # right
        pass  # right
    total[0] += 1.0  # named
    kapi.AtomicRef(serving, 0, MO.RELEASE).store(mine + 1)


@pair(kapi.DataRaceError, "data-race", kapi.Range(2), lock_and_total)
def total_read_before_the_lock_by_the_first(item: kapi.Item, lock, total):
    if item.get_id(0) == 0:  # wrong
        seen = total[0]  # named, wrong
        while kapi.AtomicRef(lock, 0).exchange(1) == 1:  # wrong
            pass  # wrong
    else:  # wrong
        while kapi.AtomicRef(lock, 0, MO.ACQUIRE).exchange(1) == 1:  # wrong
            pass  # wrong
        seen = total[0]  # wrong
    total[0] = seen + 1.0  # named, wrong
    while kapi.AtomicRef(lock, 0, MO.ACQUIRE).exchange(1) == 1:  # right
        pass  # right
    total[0] += 1.0  # right
    kapi.AtomicRef(lock, 0, MO.RELEASE).store(0)
