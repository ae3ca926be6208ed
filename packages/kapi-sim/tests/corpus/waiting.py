"""Waiting for another work-group, which ran first here and need not elsewhere."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

MO = kapi.MemoryOrder
i4 = np.int32
SHORT = {"spin_limit": 100}
SPIN = {"spin_limit": 20000}


@pair(
    kapi.DeadlockError,
    "waits-for-other",
    kapi.NdRange(4, 2),
    lambda: (np.zeros(1, i4), np.zeros(1), np.zeros(4)),
    **SPIN,
)
def wait_for_an_earlier_group(nd_item: kapi.NdItem, flag, data, out):
    if nd_item.get_global_id(0) == 0:
        data[0] = 1.0
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
    if nd_item.get_group().get_group_id(0) == 1 and nd_item.get_group().leader:
        while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named, wrong
            pass  # wrong
        out[nd_item.get_global_id(0)] = data[0]  # wrong
        if kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 1:  # right
            out[nd_item.get_global_id(0)] = data[0]  # right


@pair(
    kapi.DeadlockError,
    "waits-for-other",
    kapi.NdRange(8, 4),
    lambda: (np.zeros(2, i4), np.ones(8), np.zeros(2)),
    **SPIN,
)
def chained_scan_waits_for_its_predecessor(nd_item: kapi.NdItem, state, a, sums):
    g = nd_item.get_group()
    b = g.get_group_id(0)
    s = kapi.reduce_over_group(g, a[nd_item.get_global_id(0)], kapi.plus)
    if g.leader:
        if b > 0:  # wrong
            ready = 0  # wrong
            while True:  # wrong
                ready = kapi.AtomicRef(state, b - 1, MO.ACQUIRE).load()  # named, wrong
                if ready == 1:  # wrong
                    break  # wrong
            s += sums[b - 1]  # wrong
        sums[b] = s
        kapi.AtomicRef(state, b, MO.RELEASE).store(1)  # named, wrong


@pair(kapi.DeadlockError, "waits-for-other", kapi.Range(4), lambda: (np.zeros(1, i4), np.zeros(1)), **SPIN)
def item_waits_for_an_earlier_item(item: kapi.Item, ticket, total):
    ref = kapi.AtomicRef(ticket, 0, MO.ACQ_REL)  # wrong
    while ref.load() != item.get_id(0):  # named, wrong
        pass  # wrong
    total[0] += 1.0  # wrong
    ref.store(item.get_id(0) + 1)  # named, wrong
    kapi.AtomicRef(total, 0).fetch_add(1.0)  # right


def flag_and_out():
    return np.zeros(1, i4), np.zeros(2, i4)


@kapi.device_func
def is_set(flag):
    return kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() != 0


@kapi.device_func
def wait_until_set(flag):
    while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named
        pass


@pair(kapi.DeadlockError, "waits-for-other", kapi.NdRange(4, 2), flag_and_out)
def wait_that_adds_nothing(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_global_id(0) == 0:
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
    if nd_item.get_global_id(0) == 2:  # right: if nd_item.get_global_id(0) == 1:
        while kapi.AtomicRef(flag, 0, MO.ACQ_REL).fetch_add(0) == 0:  # named
            pass


@pair(kapi.DeadlockError, "waits-for-other", kapi.NdRange(4, 2), flag_and_out)
def wait_that_takes_a_token(nd_item: kapi.NdItem, tokens, out):
    one = kapi.PrivateArray(1, np.int32)  # wrong
    one[0] = 1  # wrong
    if nd_item.get_global_id(0) == 0:  # wrong
        kapi.AtomicRef(tokens, 0, MO.RELEASE).store(1)  # named, wrong
    if nd_item.get_global_id(0) == 3:  # wrong
        while not kapi.AtomicRef(tokens, 0, MO.ACQ_REL).compare_exchange(one, 0):  # named, wrong
            one[0] = 1  # wrong
    none = kapi.PrivateArray(1, np.int32, fill_zeros=True)  # right
    if nd_item.get_local_id(0) == 0:  # right
        while not kapi.AtomicRef(tokens, 0, MO.ACQUIRE).compare_exchange(none, 1):  # right
            none[0] = 0  # right
        out[0] += 1  # right
        kapi.AtomicRef(tokens, 0, MO.RELEASE).store(0)  # right


@pair(kapi.DeadlockError, "waits-for-other", kapi.NdRange(2, 1), flag_and_out)
def wait_that_counts_and_backs_off(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_global_id(0) == 0:  # wrong
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named, wrong
    else:  # wrong
        tries = 0  # wrong
        delay = 1  # wrong
        while kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # named, wrong
            tries += 1  # wrong
            for _ in range(delay):  # wrong
                pass  # wrong
            delay = min(2 * delay, 32)  # wrong
        out[0] = tries  # wrong
    if nd_item.get_global_id(0) == 0:  # right
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # right
    else:  # right
        tries = 0  # right
        while tries < 2000 and kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 0:  # right
            tries += 1  # right
        out[0] = tries  # right


@pair(
    kapi.DeadlockError,
    "waits-for-other",
    kapi.NdRange(6, 1),
    lambda: (np.ones(6, i4), np.zeros(6, i4), np.zeros(6, i4), np.zeros(1, i4)),
)
def wait_with_a_look_before(nd_item: kapi.NdItem, a, state, sums, tickets):
    number = nd_item.get_group().get_group_id(0)  # wrong
    number = kapi.AtomicRef(tickets, 0).fetch_add(1)  # right
    sums[number] = a[number]
    if number > 0:
        known = kapi.AtomicRef(state, number - 1, MO.ACQUIRE).load()  # named
        while known == 0:
            known = kapi.AtomicRef(state, number - 1, MO.ACQUIRE).load()
        sums[number] += sums[number - 1]
    kapi.AtomicRef(state, number, MO.RELEASE).store(1)  # named


@pair(kapi.DeadlockError, "waits-for-other", kapi.Range(2), flag_and_out)
def wait_that_a_function_decides(item: kapi.Item, flag, out):
    if item.get_id(0) == 0:  # wrong
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named, wrong
    else:  # wrong
        while not is_set(flag):  # wrong
            out[0] = 1  # wrong
    if item.get_id(0) == 0:  # right
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # right
    elif not is_set(flag):  # right
        out[0] = 1  # right


@pair(kapi.DeadlockError, "waits-for-other", kapi.NdRange(2, 1), flag_and_out, calls=(wait_until_set.py_func,))
def wait_in_a_function(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_global_id(0) == 0:  # wrong
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named, wrong
    else:  # wrong
        wait_until_set(flag)  # wrong
    kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # right
    wait_until_set(flag)  # right


@pair(kapi.DeadlockError, "waits-for-other", kapi.NdRange(2, 1), flag_and_out)
def wait_in_a_for_loop(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_global_id(0) == 0:
        kapi.AtomicRef(flag, 0, MO.RELEASE).store(1)  # named
    else:
        for _ in range(1 << 40):  # right: for _ in range(1 << 20):
            if kapi.AtomicRef(flag, 0, MO.ACQUIRE).load() == 1:  # named
                break


@pair(kapi.DeadlockError, "loop-without-change", kapi.NdRange(6, 2), flag_and_out)
def all_groups_converge(nd_item: kapi.NdItem, came, out):
    if nd_item.get_local_id(0) == 0:  # wrong
        kapi.AtomicRef(came, 0, MO.ACQ_REL).fetch_add(1)  # wrong
        while kapi.AtomicRef(came, 0, MO.ACQUIRE).load() < 3:  # named, wrong
            pass  # wrong
    if nd_item.get_local_id(0) == 0 and kapi.AtomicRef(came, 0, MO.ACQ_REL).fetch_add(1) == 2:  # right
        out[0] = 3  # right


@pair(
    kapi.DeadlockError, "waits-for-other", kapi.NdRange(8, 2), lambda: (np.zeros(1, i4), np.zeros(1, i4), np.zeros(1))
)
def lock_by_tickets_with_order_by_id(nd_item: kapi.NdItem, tickets, serving, total):
    if nd_item.get_local_id(0) == 0:
        mine = nd_item.get_group().get_group_id(0)  # wrong
        mine = kapi.AtomicRef(tickets, 0).fetch_add(1)  # right
        while kapi.AtomicRef(serving, 0, MO.ACQUIRE).load() != mine:  # named
            pass
        total[0] += 1
        kapi.AtomicRef(serving, 0, MO.RELEASE).store(mine + 1)  # named


@pair(kapi.DeadlockError, "loop-without-change", kapi.Range(2), lambda: (np.zeros(2),), **SHORT)
def for_over_a_huge_range(item: kapi.Item, out):
    for _ in range(1 << 62):  # named, right: for k in range(1 << 62):
        if out[item.get_id(0)] > 0:  # right: if k > 3:
            break
