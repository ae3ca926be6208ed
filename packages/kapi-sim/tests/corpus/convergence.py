"""Barriers that a part of a group reaches, and loops that no schedule ends."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

SPACE = kapi.NdRange(8, 4)
SHORT = {"spin_limit": 1000}


def one():
    return (np.zeros(8),)


@pair(kapi.BarrierDivergenceError, "meeting-missed", SPACE, one)
def barrier_in_a_branch(nd_item: kapi.NdItem, a):
    if nd_item.get_local_id(0) < 2:  # right: if nd_item.get_group().get_group_id(0) < 1:
        kapi.group_barrier(nd_item.get_group())  # named


@pair(kapi.BarrierDivergenceError, "meeting-missed", SPACE, lambda: (np.zeros(6),))
def early_return(nd_item: kapi.NdItem, a):
    i = nd_item.get_global_id(0)
    if i >= a.shape[0]:  # wrong
        return  # wrong
    a[i] = 1  # wrong
    if i < a.shape[0]:  # right
        a[i] = 1  # right
    kapi.group_barrier(nd_item.get_group())  # named


@pair(kapi.BarrierDivergenceError, "meetings-differ", SPACE, one)
def barrier_in_each_branch(nd_item: kapi.NdItem, a):
    if nd_item.get_local_id(0) % 2:
        a[nd_item.get_global_id(0)] = 1
        kapi.group_barrier(nd_item.get_group())  # named, wrong
    else:  # wrong
        kapi.group_barrier(nd_item.get_group())  # named, wrong
    kapi.group_barrier(nd_item.get_group())  # right


@pair(kapi.BarrierDivergenceError, "meeting-missed", SPACE, one)
def loop_of_different_lengths(nd_item: kapi.NdItem, a):
    for _ in range(nd_item.get_local_id(0)):  # right: for _ in range(nd_item.get_group().get_group_id(0)):
        kapi.group_barrier(nd_item.get_group())  # named


@pair(kapi.BarrierDivergenceError, "meeting-missed", SPACE, lambda: (np.array([2, 2, 2, 3, 1, 1, 1, 1]),))
def loop_that_data_ends(nd_item: kapi.NdItem, n):
    k = 0
    while k < n[nd_item.get_global_id(0)]:  # right: while k < n[nd_item.get_group().get_group_id(0)]:
        kapi.group_barrier(nd_item.get_group())  # named
        k += 1


def synchronize(group):
    kapi.group_barrier(group)  # named


@pair(kapi.BarrierDivergenceError, "meetings-in-calls-differ", SPACE, one, calls=(synchronize,))
def two_calls_of_one_function(nd_item: kapi.NdItem, a):
    if nd_item.get_group().leader:  # wrong
        synchronize(nd_item.get_group())  # named, wrong
    else:  # wrong
        synchronize(nd_item.get_group())  # named, wrong
    synchronize(nd_item.get_group())  # right


@pair(kapi.BarrierDivergenceError, "meeting-missed", SPACE, one)
def one_item_breaks_off(nd_item: kapi.NdItem, a):
    for t in range(3):
        if t == 1 and nd_item.get_local_id(0) == 3:  # right: if t == 1:
            break
        kapi.group_barrier(nd_item.get_group())  # named


@pair(kapi.BarrierDivergenceError, "fence-scopes-differ", SPACE, one)
def scopes_differ(nd_item: kapi.NdItem, a):
    scope = kapi.MemoryScope.DEVICE if nd_item.get_local_id(0) else kapi.MemoryScope.WORK_GROUP  # wrong
    kapi.group_barrier(nd_item.get_group(), scope)  # named, wrong
    kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.DEVICE)  # right


@pair(kapi.DeadlockError, "loop-without-change", SPACE, one, **SHORT)
def waits_for_another_group(nd_item: kapi.NdItem, a):
    if nd_item.get_global_id(0) == 0:  # wrong
        while a[7] == 0:  # named, wrong
            pass  # wrong
    if nd_item.get_global_id(0) == 7:
        a[7] = 1


@pair(kapi.DeadlockError, "loop-without-change", kapi.Range(1), one, **SHORT)
def loop_that_forgets_to_count(item: kapi.Item, a):
    k = 0
    while k < a.shape[0]:  # named
        a[k] = k
        k += 1  # right


@pair(kapi.DeadlockError, "loop-without-change", kapi.NdRange(4, 4), one, **SHORT)
def lock_that_nobody_gives_back(nd_item: kapi.NdItem, a):
    a[nd_item.get_local_id(0)] = 1  # right
    while a[nd_item.get_local_id(0)] == 0:  # named
        pass
    kapi.group_barrier(nd_item.get_group())
