"""Publishing by flags, fences and locks: one order or scope short of what it takes."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

R = kapi.Range
MO, MS, AS = kapi.MemoryOrder, kapi.MemoryScope, kapi.AddressSpace
RLX, ACQ, REL, AR, SC = MO.RELAXED, MO.ACQUIRE, MO.RELEASE, MO.ACQ_REL, MO.SEQ_CST
SPIN = {"spin_limit": 50_000}
LOC = AS.LOCAL
G1 = kapi.NdRange(4, 4)
i4 = np.int32
SUB_GROUPS_OF_2 = {**SPIN, "profile": kapi.Profile(sub_group_sizes=(2,))}


@pair(kapi.DataRaceError, "data-race", G1, lambda: (np.zeros(1), np.zeros(1, i4), np.zeros(4)), **SPIN)
def message_flag_relaxed_store(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:  # wrong
        data[0] = 42.0  # named, wrong
        kapi.AtomicRef(flag, 0, RLX, MS.WORK_GROUP).store(1)  # wrong
    elif nd_item.get_local_id(0) == 1:  # wrong
        while kapi.AtomicRef(flag, 0, RLX, MS.WORK_GROUP).load() == 0:  # wrong
            pass  # wrong
        out[1] = data[0]  # named, wrong
    if nd_item.get_local_id(0) == 0:  # right
        data[0] = 42.0  # right
        kapi.AtomicRef(flag, 0, REL, MS.WORK_GROUP).store(1)  # right
    elif nd_item.get_local_id(0) == 1:  # right
        while kapi.AtomicRef(flag, 0, ACQ, MS.WORK_GROUP).load() == 0:  # right
            pass  # right
        out[1] = data[0]  # right


@pair(kapi.DataRaceError, "data-race", G1, message_flag_relaxed_store.arguments, **SPIN)
def message_store_before_data(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:  # wrong
        kapi.AtomicRef(flag, 0, REL).store(1)  # wrong
        data[0] = 42.0  # named, wrong
    elif nd_item.get_local_id(0) == 1:  # wrong
        while kapi.AtomicRef(flag, 0, ACQ).load() == 0:  # wrong
            pass  # wrong
        out[1] = data[0]  # named, wrong
    if nd_item.get_local_id(0) == 0:  # right
        data[0] = 42.0  # right
        kapi.AtomicRef(flag, 0, REL, MS.WORK_GROUP).store(1)  # right
    elif nd_item.get_local_id(0) == 1:  # right
        while kapi.AtomicRef(flag, 0, ACQ, MS.WORK_GROUP).load() == 0:  # right
            pass  # right
        out[1] = data[0]  # right


@pair(kapi.DataRaceError, "data-race", G1, message_flag_relaxed_store.arguments, **SPIN)
def message_read_before_flag(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:  # wrong
        data[0] = 42.0  # named, wrong
        kapi.AtomicRef(flag, 0, REL).store(1)  # wrong
    elif nd_item.get_local_id(0) == 1:  # wrong
        x = data[0]  # named, wrong
        while kapi.AtomicRef(flag, 0, ACQ).load() == 0:  # wrong
            pass  # wrong
        out[1] = x  # wrong
    if nd_item.get_local_id(0) == 0:  # right
        data[0] = 42.0  # right
        kapi.AtomicRef(flag, 0, REL, MS.WORK_GROUP).store(1)  # right
    elif nd_item.get_local_id(0) == 1:  # right
        while kapi.AtomicRef(flag, 0, ACQ, MS.WORK_GROUP).load() == 0:  # right
            pass  # right
        out[1] = data[0]  # right


@pair(kapi.DataRaceError, "data-race", G1, lambda: (np.zeros(1), np.zeros(2, i4), np.zeros(4)), **SPIN)
def acquire_of_another_flag(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:
        kapi.AtomicRef(flag, 1, REL).store(1)
        data[0] = 42.0  # named
        kapi.AtomicRef(flag, 0, REL).store(1)
    elif nd_item.get_local_id(0) == 1:
        while kapi.AtomicRef(flag, 1, ACQ).load() == 0:
            pass
        while kapi.AtomicRef(flag, 0, ACQ).load() == 0:  # right
            pass  # right
        out[1] = data[0]  # named


@pair(kapi.DataRaceError, "data-race", G1, message_flag_relaxed_store.arguments, **SPIN)
def fence_of_the_wrong_order(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:
        data[0] = 42.0  # named
        kapi.atomic_fence(ACQ, MS.WORK_GROUP)  # wrong
        kapi.atomic_fence(REL, MS.WORK_GROUP)  # right
        kapi.AtomicRef(flag, 0).store(1)
    elif nd_item.get_local_id(0) == 1:
        while kapi.AtomicRef(flag, 0).load() == 0:
            pass
        kapi.atomic_fence(ACQ, MS.WORK_GROUP)
        out[1] = data[0]  # named


@pair(kapi.DataRaceError, "data-race", G1, message_flag_relaxed_store.arguments, **SPIN)
def fence_scope_work_item(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:
        data[0] = 42.0  # named
        kapi.atomic_fence(REL, MS.WORK_ITEM)  # wrong
        kapi.atomic_fence(REL, MS.WORK_GROUP)  # right
        kapi.AtomicRef(flag, 0).store(1)
    elif nd_item.get_local_id(0) == 1:
        while kapi.AtomicRef(flag, 0).load() == 0:
            pass
        kapi.atomic_fence(ACQ, MS.WORK_GROUP)
        out[1] = data[0]  # named


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), message_flag_relaxed_store.arguments, **SUB_GROUPS_OF_2)
def fence_scope_sub_group_too_narrow(nd_item: kapi.NdItem, data, flag, out):
    if nd_item.get_local_id(0) == 0:
        data[0] = 42.0  # named
        kapi.atomic_fence(REL, MS.SUB_GROUP)  # wrong
        kapi.atomic_fence(REL, MS.WORK_GROUP)  # right
        kapi.AtomicRef(flag, 0).store(1)
    elif nd_item.get_local_id(0) == 2:  # right: elif nd_item.get_local_id(0) == 1:
        while kapi.AtomicRef(flag, 0).load() == 0:
            pass
        kapi.atomic_fence(ACQ, MS.SUB_GROUP)  # wrong
        kapi.atomic_fence(ACQ, MS.WORK_GROUP)  # right
        out[1] = data[0]  # named


@pair(kapi.DataRaceError, "data-race", G1, lambda: (np.zeros(4), np.zeros(4)))
def fence_alone_orders_nothing(nd_item: kapi.NdItem, data, out):
    k = nd_item.get_local_id(0)
    data[k] = k  # named
    kapi.atomic_fence(SC, MS.DEVICE)  # wrong
    kapi.group_barrier(nd_item.get_group())  # right
    out[k] = data[3 - k]  # named


@pair(kapi.DataRaceError, "data-race", G1, lambda: (np.zeros(1, i4), np.zeros(1, i4), np.zeros(1)), **SPIN)
def ticket_lock_without_acquire(nd_item: kapi.NdItem, ticket, serving, total):
    mine = kapi.AtomicRef(ticket, 0, RLX).fetch_add(1)
    while kapi.AtomicRef(serving, 0, RLX).load() != mine:  # wrong
        pass  # wrong
    while kapi.AtomicRef(serving, 0, ACQ).load() != mine:  # right
        pass  # right
    total[0] += 1.0  # named
    kapi.AtomicRef(serving, 0, REL).store(mine + 1)


@pair(kapi.DataRaceError, "data-race", G1, ticket_lock_without_acquire.arguments, **SPIN)
def ticket_lock_released_without_release(nd_item: kapi.NdItem, ticket, serving, total):
    mine = kapi.AtomicRef(ticket, 0, RLX).fetch_add(1)
    while kapi.AtomicRef(serving, 0, ACQ).load() != mine:
        pass
    total[0] += 1.0  # named
    kapi.AtomicRef(serving, 0, RLX).fetch_add(1)  # wrong
    kapi.AtomicRef(serving, 0, REL).store(mine + 1)  # right


@pair(kapi.DataRaceError, "data-race", R(4), lambda: (np.zeros(1, i4), np.zeros(1)), **SPIN)
def spin_lock_by_exchange_relaxed(item: kapi.Item, lock, total):
    while kapi.AtomicRef(lock, 0).exchange(1) == 1:  # right: while kapi.AtomicRef(lock, 0, ACQ).exchange(1) == 1:
        pass
    total[0] += 1.0  # named
    kapi.AtomicRef(lock, 0).exchange(0)  # wrong
    kapi.AtomicRef(lock, 0, REL).store(0)  # right


@pair(kapi.DataRaceError, "data-race", R(4), spin_lock_by_exchange_relaxed.arguments, **SPIN)
def lock_that_does_not_cover_the_read(item: kapi.Item, lock, total):
    x = total[0] + 1.0  # named, wrong
    while kapi.AtomicRef(lock, 0, ACQ).exchange(1) == 1:
        pass
    total[0] = x  # named, wrong
    total[0] += 1.0  # right
    kapi.AtomicRef(lock, 0, REL).store(0)


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 2), lambda: (np.zeros(1, i4), np.zeros(1)), **SPIN)
def cas_lock_right_flag_wrong_scope(nd_item: kapi.NdItem, lock, total):
    kapi.AtomicRef(lock, 0, AR, MS.WORK_GROUP).fetch_add(1)  # named, wrong
    kapi.AtomicRef(lock, 0, AR, MS.DEVICE).fetch_add(1)  # right


@pair(kapi.DataRaceError, "data-race", R(4), lambda: (np.zeros(1, i4), np.arange(4)), **SPIN)
def cas_loop_plain_first_read(item: kapi.Item, total, a):
    e = kapi.PrivateArray(1, np.int32)
    e[0] = total[0]  # named, wrong
    e[0] = kapi.AtomicRef(total, 0).load()  # right
    while not kapi.AtomicRef(total, 0).compare_exchange(e, e[0] + 1):  # named
        pass


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), lambda: (kapi.LocalAccessor(1, i4), np.zeros(4)))
def atomic_then_plain_reset(nd_item: kapi.NdItem, n, out):
    k = nd_item.get_local_id(0)
    if k == 0:
        n[0] = 0
    kapi.group_barrier(nd_item.get_group())
    for _ in range(2):
        kapi.AtomicRef(n, 0, address_space=LOC).fetch_add(1)
        kapi.group_barrier(nd_item.get_group())
        out[k] += n[0]  # named
        kapi.group_barrier(nd_item.get_group())  # right
        if k == 0:
            n[0] = 0  # named
        kapi.group_barrier(nd_item.get_group())


@pair(
    kapi.UninitializedReadError,
    "read-before-write",
    kapi.NdRange(4, 4),
    lambda: (kapi.LocalAccessor(1, i4), np.zeros(4)),
)
def local_atomic_on_uninitialised(nd_item: kapi.NdItem, n, out):
    if nd_item.get_local_id(0) == 0:  # right
        n[0] = 0  # right
    kapi.group_barrier(nd_item.get_group())  # right
    kapi.AtomicRef(n, 0, address_space=LOC).fetch_add(1)  # named
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_local_id(0)] = n[0]


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", R(4), lambda: (np.zeros((2, 4), i4),))
def atomic_index_tuple_oob(item: kapi.Item, m):
    kapi.AtomicRef(m, (1, item.get_id(0) + 1)).fetch_add(1)  # named, wrong
    kapi.AtomicRef(m, (1, item.get_id(0))).fetch_add(1)  # right


@pair(kapi.DtypeError, "atomic-index", R(4), lambda: (np.zeros((2, 4), i4),))
def atomic_on_a_row(item: kapi.Item, m):
    kapi.AtomicRef(m, 1).fetch_add(1)  # named, wrong
    kapi.AtomicRef(m, (1, 0)).fetch_add(1)  # right


def arrays_of_atomic_and_view_of_it():
    a = np.zeros(8, i4)
    return a, a[4:]


@pair(kapi.DataRaceError, "data-race", R(4), arrays_of_atomic_and_view_of_it)
def atomic_and_view_of_it(item: kapi.Item, a, tail):
    kapi.AtomicRef(a, 4).fetch_add(1)  # named
    if item.get_id(0) == 3:
        tail[0] = 7  # named, wrong
        tail[1] = 7  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(2, 2), lambda: (np.zeros(2, i4), np.zeros(2, i4)))
def unfenced_dekker(nd_item: kapi.NdItem, x, out):
    k = nd_item.get_local_id(0)
    x[k] = 1  # named, wrong
    kapi.atomic_fence(SC, MS.WORK_GROUP)  # wrong
    out[k] = x[1 - k]  # named, wrong
    kapi.AtomicRef(x, k, SC).store(1)  # right
    out[k] = kapi.AtomicRef(x, 1 - k, SC).load()  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 2), lambda: (np.zeros(4), np.zeros(4)))
def device_barrier_between_groups(nd_item: kapi.NdItem, a, b):
    i = nd_item.get_global_id(0)
    a[i] = i  # named
    kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.DEVICE)
    b[i] = a[3 - i]  # named, wrong
    b[i] = a[i ^ 1]  # right


@pair(kapi.DataRaceError, "data-race", R(3), lambda: (np.zeros(1), np.zeros(1, i4), np.zeros(1)), **SPIN)
def release_chain_broken_by_a_plain_store(item: kapi.Item, data, flag, out):
    i = item.get_id(0)
    if i == 0:
        data[0] = 5.0
        kapi.AtomicRef(flag, 0, REL).store(1)  # named
    elif i == 1:
        flag[0] = 2  # named, wrong
        kapi.AtomicRef(flag, 0, RLX).fetch_add(1)  # right
    elif kapi.AtomicRef(flag, 0, ACQ).load() == 2:
        out[0] = data[0]


@pair(kapi.DataRaceError, "data-race", R(3), lambda: (np.zeros(1), np.zeros(1, i4), np.zeros(1)))
def release_sequence_headed_by_another_store(item: kapi.Item, data, flag, out):
    i = item.get_id(0)
    if i == 0:
        data[0] = 5.0  # named
        kapi.AtomicRef(flag, 0, REL).store(1)
    elif i == 1:
        kapi.AtomicRef(flag, 0, RLX).store(2)  # wrong
        kapi.AtomicRef(flag, 0, RLX).fetch_add(1)  # right
    elif kapi.AtomicRef(flag, 0, ACQ).load() == 2:
        out[0] = data[0]  # named


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), lambda: (np.zeros(1, i4),))
def work_item_scope_atomic(nd_item: kapi.NdItem, bins):
    kapi.AtomicRef(bins, 0, RLX, MS.WORK_ITEM).fetch_add(1)  # named, wrong
    kapi.AtomicRef(bins, 0, RLX, MS.WORK_GROUP).fetch_add(1)  # right


def arrays_of_atomic_of_other_width_on_the_same_bytes():
    a = np.zeros(2, np.int64)
    return a, a.view(i4)


@pair(kapi.DataRaceError, "data-race", R(4), arrays_of_atomic_of_other_width_on_the_same_bytes)
def atomic_of_other_width_on_the_same_bytes(item: kapi.Item, a, halves):
    if item.get_id(0) % 2:
        kapi.AtomicRef(a, 0).fetch_add(1)  # named
    else:
        kapi.AtomicRef(halves, 1).fetch_add(1)  # named, wrong
        kapi.AtomicRef(halves, 2).fetch_add(1)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(8, 4), lambda: (np.zeros(1), np.zeros(1, i4), np.zeros(1)))
def fence_ahead_of_the_store_of_another(nd_item: kapi.NdItem, data, flag, out):
    i = nd_item.get_local_id(0)
    if nd_item.get_group().get_group_linear_id() == 0:
        if i == 1:
            data[0] = 42.0  # named
            kapi.atomic_fence(SC, MS.DEVICE)  # wrong
        kapi.group_barrier(nd_item.get_group())
        if i == 0:
            kapi.atomic_fence(SC, MS.DEVICE)  # right
            kapi.atomic_fence(SC, MS.WORK_GROUP)
            kapi.AtomicRef(flag, 0).store(1)
    else:
        if i == 0 and kapi.AtomicRef(flag, 0).load() == 1:
            kapi.atomic_fence(SC, MS.DEVICE)
            out[0] = data[0]  # named


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (*fence_ahead_of_the_store_of_another.arguments(), kapi.LocalAccessor(1, np.int32)),
)
def fence_behind_the_load_of_another(nd_item: kapi.NdItem, data, flag, out, seen):
    i = nd_item.get_local_id(0)
    if nd_item.get_group().get_group_linear_id() == 0:
        if i == 0:
            data[0] = 42.0  # named
            kapi.atomic_fence(SC, MS.DEVICE)
            kapi.AtomicRef(flag, 0).store(1)
    elif i == 0:
        seen[0] = kapi.AtomicRef(flag, 0).load()
        kapi.atomic_fence(SC, MS.DEVICE)  # right
    kapi.group_barrier(nd_item.get_group())
    if nd_item.get_group().get_group_linear_id() == 1 and i == 1 and seen[0] == 1:
        kapi.atomic_fence(SC, MS.DEVICE)  # wrong
        out[0] = data[0]  # named
