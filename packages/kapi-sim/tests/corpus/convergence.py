"""Barriers that a part of a group reaches, and loops that no schedule ends."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi

SPACE = kapi.NdRange(8, 4)
SHORT = {"spin_limit": 1000}


def one():
    return (np.zeros(8),)


class barrier_in_a_branch:
    error, space, arguments = kapi.BarrierDivergenceError, SPACE, one
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, a):
        if nd_item.get_local_id(0) < 2:  # right: if nd_item.get_group().get_group_id(0) < 1:
            kapi.group_barrier(nd_item.get_group())  # named


class early_return:
    error, space, arguments = kapi.BarrierDivergenceError, SPACE, lambda: (np.zeros(6),)
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, a):
        i = nd_item.get_global_id(0)
        if i >= a.shape[0]:  # wrong
            return  # wrong
        a[i] = 1  # wrong
        if i < a.shape[0]:  # right
            a[i] = 1  # right
        kapi.group_barrier(nd_item.get_group())  # named


class barrier_in_each_branch:
    error, space, arguments = kapi.BarrierDivergenceError, SPACE, one
    code = "meetings-differ"

    def kernel(nd_item: kapi.NdItem, a):
        if nd_item.get_local_id(0) % 2:
            a[nd_item.get_global_id(0)] = 1
            kapi.group_barrier(nd_item.get_group())  # named, wrong
        else:  # wrong
            kapi.group_barrier(nd_item.get_group())  # named, wrong
        kapi.group_barrier(nd_item.get_group())  # right


class loop_of_different_lengths:
    error, space, arguments = kapi.BarrierDivergenceError, SPACE, one
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, a):
        for _ in range(nd_item.get_local_id(0)):  # right: for _ in range(nd_item.get_group().get_group_id(0)):
            kapi.group_barrier(nd_item.get_group())  # named


class loop_that_data_ends:
    error, space = kapi.BarrierDivergenceError, SPACE
    code = "meeting-missed"

    def arguments():
        return (np.array([2, 2, 2, 3, 1, 1, 1, 1]),)

    def kernel(nd_item: kapi.NdItem, n):
        k = 0
        while k < n[nd_item.get_global_id(0)]:  # right: while k < n[nd_item.get_group().get_group_id(0)]:
            kapi.group_barrier(nd_item.get_group())  # named
            k += 1


def synchronize(group):
    kapi.group_barrier(group)  # named


class two_calls_of_one_function:
    error, space, arguments, calls = kapi.BarrierDivergenceError, SPACE, one, (synchronize,)
    code = "meetings-in-calls-differ"

    def kernel(nd_item: kapi.NdItem, a):
        if nd_item.get_group().leader:  # wrong
            synchronize(nd_item.get_group())  # named, wrong
        else:  # wrong
            synchronize(nd_item.get_group())  # named, wrong
        synchronize(nd_item.get_group())  # right


class one_item_breaks_off:
    error, space, arguments = kapi.BarrierDivergenceError, SPACE, one
    code = "meeting-missed"

    def kernel(nd_item: kapi.NdItem, a):
        for t in range(3):
            if t == 1 and nd_item.get_local_id(0) == 3:  # right: if t == 1:
                break
            kapi.group_barrier(nd_item.get_group())  # named


class scopes_differ:
    error, space, arguments = kapi.BarrierDivergenceError, SPACE, one
    code = "fence-scopes-differ"

    def kernel(nd_item: kapi.NdItem, a):
        scope = kapi.MemoryScope.DEVICE if nd_item.get_local_id(0) else kapi.MemoryScope.WORK_GROUP  # wrong
        kapi.group_barrier(nd_item.get_group(), scope)  # named, wrong
        kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.DEVICE)  # right


class waits_for_another_group:
    error, space, arguments = kapi.DeadlockError, SPACE, one
    code = "loop-without-change"
    controls = SHORT

    def kernel(nd_item: kapi.NdItem, a):
        if nd_item.get_global_id(0) == 0:  # wrong
            while a[7] == 0:  # named, wrong
                pass  # wrong
        if nd_item.get_global_id(0) == 7:
            a[7] = 1


class loop_that_forgets_to_count:
    error, space, arguments = kapi.DeadlockError, kapi.Range(1), one
    code = "loop-without-change"
    controls = SHORT

    def kernel(item: kapi.Item, a):
        k = 0
        while k < a.shape[0]:  # named
            a[k] = k
            k += 1  # right


class lock_that_nobody_gives_back:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(4, 4), one
    code = "loop-without-change"
    controls = SHORT

    def kernel(nd_item: kapi.NdItem, a):
        a[nd_item.get_local_id(0)] = 1  # right
        while a[nd_item.get_local_id(0)] == 0:  # named
            pass
        kapi.group_barrier(nd_item.get_group())
