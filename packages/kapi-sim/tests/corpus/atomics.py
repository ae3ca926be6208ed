"""Atomics and fences: orders, scopes and spaces that do not do what they were meant for."""

from __future__ import annotations

import numpy as np
from planted.pair import pair

import kapi_sim as kapi

RANGE = kapi.Range(4)
GROUPS = kapi.NdRange(8, 4)
RELAXED, ACQUIRE, RELEASE = kapi.MemoryOrder.RELAXED, kapi.MemoryOrder.ACQUIRE, kapi.MemoryOrder.RELEASE
ACQ_REL, SEQ_CST = kapi.MemoryOrder.ACQ_REL, kapi.MemoryOrder.SEQ_CST
SUB_GROUP, WORK_GROUP, DEVICE = (
    kapi.MemoryScope.SUB_GROUP,
    kapi.MemoryScope.WORK_GROUP,
    kapi.MemoryScope.DEVICE,
)
SMALL_SUB_GROUPS = {"profile": kapi.Profile(sub_group_sizes=(2,))}
NARROW = {"profile": "no-fp64-fp16-atomic64"}
SHORT_SPINS = {"spin_limit": 20_000}
LOCAL = kapi.AddressSpace.LOCAL


def published():
    return np.zeros(4), np.zeros(1, np.int32), np.zeros(1)


@pair(kapi.DataRaceError, "data-race", RANGE, published)
def relaxed_counter_publishes_nothing(item: kapi.Item, parts, counter, out):
    parts[item.get_id(0)] = 1.0  # named
    if kapi.AtomicRef(counter, 0).fetch_add(1) == 3:  # right: if kapi.AtomicRef(counter, 0, ACQ_REL).fetch_add(1) == 3:
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named


@pair(kapi.DataRaceError, "data-race", RANGE, published)
def release_that_nobody_acquires(item: kapi.Item, parts, counter, out):
    parts[item.get_id(0)] = 1.0  # named
    if kapi.AtomicRef(counter, 0, RELEASE).fetch_add(1) == 3:  # wrong
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named, wrong
    if kapi.AtomicRef(counter, 0, SEQ_CST).fetch_add(1) == 3:  # right
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # right


@pair(kapi.DataRaceError, "data-race", RANGE, published)
def acquire_of_what_was_not_released(item: kapi.Item, parts, counter, out):
    parts[item.get_id(0)] = 1.0  # named
    if kapi.AtomicRef(counter, 0, ACQUIRE).fetch_add(1) == 3:  # wrong
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named, wrong
    kapi.AtomicRef(counter, 0, RELEASE).fetch_add(1)  # right
    if kapi.AtomicRef(counter, 0, ACQUIRE).load() == 4:  # right
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # right


@pair(kapi.DataRaceError, "data-race", RANGE, published)
def fence_on_one_side_only(item: kapi.Item, parts, counter, out):
    parts[item.get_id(0)] = 1.0  # named
    kapi.atomic_fence(RELEASE, DEVICE)
    if kapi.AtomicRef(counter, 0).fetch_add(1) == 3:
        kapi.atomic_fence(ACQUIRE, DEVICE)  # right
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named


@pair(kapi.DataRaceError, "data-race", RANGE, published)
def fence_before_the_write_that_it_should_publish(item: kapi.Item, parts, counter, out):
    parts[item.get_id(0)] = 1.0  # right
    kapi.atomic_fence(ACQ_REL, DEVICE)
    parts[item.get_id(0)] = 1.0  # named, wrong
    if kapi.AtomicRef(counter, 0).fetch_add(1) == 3:
        kapi.atomic_fence(ACQ_REL, DEVICE)
        out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named


def two_groups():
    return np.zeros(2), np.zeros(1, np.int32), np.zeros(1)


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 2), two_groups)
def fence_of_a_work_group_between_groups(nd_item: kapi.NdItem, parts, counter, out):
    if nd_item.get_local_id(0) == 0:
        parts[nd_item.get_group().get_group_id(0)] = 1.0  # named
        kapi.atomic_fence(ACQ_REL, WORK_GROUP)  # wrong
        kapi.atomic_fence(ACQ_REL, DEVICE)  # right
        if kapi.AtomicRef(counter, 0).fetch_add(1) == 1:
            kapi.atomic_fence(ACQ_REL, WORK_GROUP)  # wrong
            kapi.atomic_fence(ACQ_REL, DEVICE)  # right
            out[0] = parts[0] + parts[1]  # named


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (
        np.zeros(8),
        np.zeros(1, np.int32),
        np.zeros(1),
    ),
)
def group_publishes_without_a_barrier_before(nd_item: kapi.NdItem, a, counter, out):
    a[nd_item.get_global_id(0)] = 1.0  # named
    kapi.group_barrier(nd_item.get_group())  # right
    if nd_item.get_local_id(0) == 0:
        if kapi.AtomicRef(counter, 0, ACQ_REL).fetch_add(1) == 1:
            out[0] = a[1] + a[5]  # named


@pair(kapi.DataRaceError, "data-race", GROUPS, lambda: (np.zeros(1, np.int32),))
def scope_of_a_work_group_between_groups(nd_item: kapi.NdItem, count):
    kapi.AtomicRef(count, 0, RELAXED, WORK_GROUP).fetch_add(1)  # named, wrong
    kapi.AtomicRef(count, 0, RELAXED, DEVICE).fetch_add(1)  # right


@pair(kapi.DataRaceError, "data-race", GROUPS, lambda: (np.zeros(2, np.int32),), **SMALL_SUB_GROUPS)
def scope_of_a_sub_group_in_a_group(nd_item: kapi.NdItem, counts):
    g = nd_item.get_group().get_group_id(0)
    kapi.AtomicRef(counts, g, RELAXED, SUB_GROUP).fetch_add(1)  # named, wrong
    kapi.AtomicRef(counts, g, RELAXED, WORK_GROUP).fetch_add(1)  # right


@pair(kapi.DataRaceError, "data-race", RANGE, lambda: (np.zeros(1, np.int32),))
def counter_added_to_plainly_as_well(item: kapi.Item, count):
    if item.get_id(0) < 3:  # wrong
        kapi.AtomicRef(count, 0).fetch_add(1)  # named, wrong
    else:  # wrong
        count[0] += 1  # named, wrong
    kapi.AtomicRef(count, 0).fetch_add(1)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32), np.zeros(4)))
def counter_read_plainly_in_the_same_phase(nd_item: kapi.NdItem, count, out):
    kapi.AtomicRef(count, 0).fetch_add(1)  # named
    kapi.group_barrier(nd_item.get_group())  # right
    out[nd_item.get_global_id(0)] = count[0]  # named


@pair(
    kapi.DataRaceError,
    "data-race",
    kapi.NdRange(8, 4),
    lambda: (np.arange(8) % 2, np.zeros(2, np.int32), kapi.LocalAccessor(2, np.int32)),
)
def bins_cleared_plainly_while_counted(nd_item: kapi.NdItem, values, out, bins):
    k = nd_item.get_local_id(0)
    if k < 2:
        bins[k] = 0  # named
    kapi.group_barrier(nd_item.get_group())  # right
    kapi.AtomicRef(bins, values[nd_item.get_global_id(0)], address_space=LOCAL).fetch_add(1)  # named
    kapi.group_barrier(nd_item.get_group())
    if k < 2:
        kapi.AtomicRef(out, k).fetch_add(bins[k])


@pair(
    kapi.UninitializedReadError,
    "read-before-write",
    kapi.NdRange(8, 4),
    lambda: (np.arange(8) % 2, kapi.LocalAccessor(2, np.int32)),
)
def bins_never_cleared(nd_item: kapi.NdItem, values, bins):
    if nd_item.get_local_id(0) < 2:  # right
        bins[nd_item.get_local_id(0)] = 0  # right
    kapi.group_barrier(nd_item.get_group())  # right
    kapi.AtomicRef(bins, values[nd_item.get_global_id(0)], address_space=LOCAL).fetch_add(1)  # named


@pair(kapi.OutOfBoundsError, "index-out-of-bounds", RANGE, lambda: (np.array([0, 1, 3, 2]), np.zeros(3, np.int32)))
def reference_beyond_the_array(item: kapi.Item, values, bins):
    kapi.AtomicRef(bins, values[item.get_id(0)]).fetch_add(1)  # named, wrong
    if values[item.get_id(0)] < bins.shape[0]:  # right
        kapi.AtomicRef(bins, values[item.get_id(0)]).fetch_add(1)  # right


@pair(kapi.OutOfBoundsError, "negative-index", RANGE, lambda: (np.zeros((2, 2), np.int32),))
def reference_with_a_negative_index(item: kapi.Item, bins):
    kapi.AtomicRef(bins, (0, item.get_id(0) - 3)).fetch_add(1)  # named, wrong
    kapi.AtomicRef(bins, (0, item.get_id(0) % 2)).fetch_add(1)  # right


@pair(kapi.KernelCompilationError, "atomic-address-space", GROUPS, lambda: (kapi.LocalAccessor(1, np.int32),))
def reference_in_the_wrong_space(nd_item: kapi.NdItem, count):
    if nd_item.get_local_id(0) == 0:
        count[0] = 0
    kapi.group_barrier(nd_item.get_group())
    kapi.AtomicRef(count, 0, address_space=kapi.AddressSpace.GLOBAL).fetch_add(1)  # named, wrong
    kapi.AtomicRef(count, 0).fetch_add(1)  # right


@pair(kapi.KernelCompilationError, "atomic-order", RANGE, lambda: (np.zeros(1, np.int32), np.zeros(4)))
def load_that_releases(item: kapi.Item, flag, out):
    out[item.get_id(0)] = kapi.AtomicRef(flag, 0, RELEASE).load()  # named, wrong
    out[item.get_id(0)] = kapi.AtomicRef(flag, 0, ACQUIRE).load()  # right


@pair(kapi.DtypeError, "atomic-needs-integer", RANGE, lambda: (np.zeros(1, np.float32), np.zeros(1, np.int32)))
def bits_of_a_float(item: kapi.Item, x, bits):
    kapi.AtomicRef(x, 0).fetch_or(1)  # named, wrong
    kapi.AtomicRef(bits, 0).fetch_or(1)  # right


@pair(kapi.DtypeError, "atomic-needs-integer", RANGE, lambda: (np.zeros(1, np.float32), np.zeros(1, np.uint8)))
def cycles_of_floats(item: kapi.Item, x, count):
    kapi.AtomicRef(x, 0).fetch_inc(3)  # named, wrong
    kapi.AtomicRef(count, 0).fetch_inc(3)  # right


@pair(kapi.DataRaceError, None, RANGE, lambda: (np.zeros(8, np.uint8),))
def bytes_next_to_an_atomic(item: kapi.Item, counts):
    i = item.get_id(0)
    kapi.AtomicRef(counts, 0).fetch_add(1)
    counts[i // 2 + 1] = i  # named, wrong
    counts[i + 1] = i  # right


@pair(kapi.DtypeError, "atomic-dtype", RANGE, lambda: (np.zeros(1, np.float16), np.zeros(1, np.int16)))
def atomics_on_short_floats(item: kapi.Item, x, y):
    kapi.AtomicRef(x, 0).fetch_add(1)  # named, wrong
    kapi.AtomicRef(y, 0).fetch_add(1)  # right


@pair(kapi.DtypeError, "needs-atomic64", RANGE, lambda: (np.zeros(1, np.int64), np.zeros(1, np.int32)), **NARROW)
def wide_atomics_on_a_device_without_them(item: kapi.Item, x, y):
    kapi.AtomicRef(x, 0).fetch_add(1)  # named, wrong
    kapi.AtomicRef(y, 0).fetch_add(1)  # right


@pair(kapi.DeadlockError, "loop-without-change", kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32),), **SHORT_SPINS)
def flag_that_nobody_sets(nd_item: kapi.NdItem, flag):
    ref = kapi.AtomicRef(flag, 0, ACQ_REL)
    if nd_item.get_local_id(0) == 0:
        ref.fetch_add(0)  # wrong
        ref.fetch_add(1)  # right
    while ref.load() == 0:  # named
        pass


@pair(kapi.DeadlockError, "loop-without-change", kapi.NdRange(4, 2), lambda: (np.zeros(2, np.int32),), **SHORT_SPINS)
def group_that_waits_for_a_later_group(nd_item: kapi.NdItem, flags):
    g = nd_item.get_group().get_group_id(0)
    if nd_item.get_local_id(0) == 0:
        kapi.AtomicRef(flags, g, RELEASE).store(1)
        while kapi.AtomicRef(flags, 1 - g, ACQUIRE).load() == 0:  # named, wrong
            pass  # wrong


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32), np.zeros(1)))
def lock_without_an_order(nd_item: kapi.NdItem, lock, total):
    free = kapi.PrivateArray(1, np.int32, fill_zeros=True)
    while not kapi.AtomicRef(lock, 0).compare_exchange(free, 1):  # wrong
        free[0] = 0  # wrong
    total[0] += 1.0  # named, wrong
    kapi.AtomicRef(lock, 0).store(0)  # wrong
    while not kapi.AtomicRef(lock, 0, ACQUIRE).compare_exchange(free, 1):  # right
        free[0] = 0  # right
    total[0] += 1.0  # right
    kapi.AtomicRef(lock, 0, RELEASE).store(0)  # right


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(2, 2), lambda: (np.zeros(1, np.int32), np.zeros(2)))
def flag_in_a_group_without_an_order(nd_item: kapi.NdItem, flag, a):
    if nd_item.get_local_id(0) == 1:
        a[0] = 4.0  # named
        kapi.AtomicRef(flag, 0).store(1)  # wrong
        kapi.AtomicRef(flag, 0, RELEASE).store(1)  # right
    else:
        while kapi.AtomicRef(flag, 0).load() == 0:  # right: while kapi.AtomicRef(flag, 0, ACQUIRE).load() == 0:
            pass
        a[1] = a[0]  # named


@pair(kapi.DataRaceError, "data-race", kapi.NdRange(2, 2), lambda: (np.zeros(1, np.int32), np.zeros(2)))
def flag_that_is_a_plain_element(nd_item: kapi.NdItem, flag, a):
    if nd_item.get_local_id(0) == 1:
        flag[0] = 1  # named, wrong
        kapi.AtomicRef(flag, 0, RELEASE).store(1)  # right
    else:
        while kapi.AtomicRef(flag, 0, ACQUIRE).load() == 0:  # named
            pass
