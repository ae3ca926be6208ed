"""Atomics and fences: orders, scopes and spaces that do not do what they were meant for."""

from __future__ import annotations

import numpy as np

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


class relaxed_counter_publishes_nothing:
    error, space, arguments = kapi.DataRaceError, RANGE, published
    code = "data-race"

    def wrong(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0  # named
        if kapi.AtomicRef(counter, 0).fetch_add(1) == 3:
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named

    def right(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0
        if kapi.AtomicRef(counter, 0, ACQ_REL).fetch_add(1) == 3:
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]


class release_that_nobody_acquires:
    error, space, arguments = kapi.DataRaceError, RANGE, published
    code = "data-race"

    def wrong(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0  # named
        if kapi.AtomicRef(counter, 0, RELEASE).fetch_add(1) == 3:
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named

    def right(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0
        if kapi.AtomicRef(counter, 0, SEQ_CST).fetch_add(1) == 3:
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]


class acquire_of_what_was_not_released:
    error, space, arguments = kapi.DataRaceError, RANGE, published
    code = "data-race"

    def wrong(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0  # named
        if kapi.AtomicRef(counter, 0, ACQUIRE).fetch_add(1) == 3:
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named

    def right(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0
        kapi.AtomicRef(counter, 0, RELEASE).fetch_add(1)
        if kapi.AtomicRef(counter, 0, ACQUIRE).load() == 4:
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]


class fence_on_one_side_only:
    error, space, arguments = kapi.DataRaceError, RANGE, published
    code = "data-race"

    def kernel(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0  # named
        kapi.atomic_fence(RELEASE, DEVICE)
        if kapi.AtomicRef(counter, 0).fetch_add(1) == 3:
            kapi.atomic_fence(ACQUIRE, DEVICE)  # right
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named


class fence_before_the_write_that_it_should_publish:
    error, space, arguments = kapi.DataRaceError, RANGE, published
    code = "data-race"

    def kernel(item: kapi.Item, parts, counter, out):
        parts[item.get_id(0)] = 1.0  # right
        kapi.atomic_fence(ACQ_REL, DEVICE)
        parts[item.get_id(0)] = 1.0  # named, wrong
        if kapi.AtomicRef(counter, 0).fetch_add(1) == 3:
            kapi.atomic_fence(ACQ_REL, DEVICE)
            out[0] = parts[0] + parts[1] + parts[2] + parts[3]  # named


def two_groups():
    return np.zeros(2), np.zeros(1, np.int32), np.zeros(1)


class fence_of_a_work_group_between_groups:
    error, space, arguments = kapi.DataRaceError, kapi.NdRange(4, 2), two_groups
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, parts, counter, out):
        if nd_item.get_local_id(0) == 0:
            parts[nd_item.get_group().get_group_id(0)] = 1.0  # named
            kapi.atomic_fence(ACQ_REL, WORK_GROUP)  # wrong
            kapi.atomic_fence(ACQ_REL, DEVICE)  # right
            if kapi.AtomicRef(counter, 0).fetch_add(1) == 1:
                kapi.atomic_fence(ACQ_REL, WORK_GROUP)  # wrong
                kapi.atomic_fence(ACQ_REL, DEVICE)  # right
                out[0] = parts[0] + parts[1]  # named


class group_publishes_without_a_barrier_before:
    error, space, arguments = (
        kapi.DataRaceError,
        kapi.NdRange(8, 4),
        lambda: (
            np.zeros(8),
            np.zeros(1, np.int32),
            np.zeros(1),
        ),
    )
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, a, counter, out):
        a[nd_item.get_global_id(0)] = 1.0  # named
        kapi.group_barrier(nd_item.get_group())  # right
        if nd_item.get_local_id(0) == 0:
            if kapi.AtomicRef(counter, 0, ACQ_REL).fetch_add(1) == 1:
                out[0] = a[1] + a[5]  # named


class scope_of_a_work_group_between_groups:
    error, space, arguments = kapi.DataRaceError, GROUPS, lambda: (np.zeros(1, np.int32),)
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, count):
        kapi.AtomicRef(count, 0, RELAXED, WORK_GROUP).fetch_add(1)  # named, wrong
        kapi.AtomicRef(count, 0, RELAXED, DEVICE).fetch_add(1)  # right


class scope_of_a_sub_group_in_a_group:
    error, space, arguments = kapi.DataRaceError, GROUPS, lambda: (np.zeros(2, np.int32),)
    code = "data-race"
    controls = SMALL_SUB_GROUPS

    def kernel(nd_item: kapi.NdItem, counts):
        g = nd_item.get_group().get_group_id(0)
        kapi.AtomicRef(counts, g, RELAXED, SUB_GROUP).fetch_add(1)  # named, wrong
        kapi.AtomicRef(counts, g, RELAXED, WORK_GROUP).fetch_add(1)  # right


class counter_added_to_plainly_as_well:
    error, space, arguments = kapi.DataRaceError, RANGE, lambda: (np.zeros(1, np.int32),)
    code = "data-race"

    def kernel(item: kapi.Item, count):
        if item.get_id(0) < 3:  # wrong
            kapi.AtomicRef(count, 0).fetch_add(1)  # named, wrong
        else:  # wrong
            count[0] += 1  # named, wrong
        kapi.AtomicRef(count, 0).fetch_add(1)  # right


class counter_read_plainly_in_the_same_phase:
    error, space, arguments = kapi.DataRaceError, kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32), np.zeros(4))
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, count, out):
        kapi.AtomicRef(count, 0).fetch_add(1)  # named
        kapi.group_barrier(nd_item.get_group())  # right
        out[nd_item.get_global_id(0)] = count[0]  # named


class bins_cleared_plainly_while_counted:
    error, space = kapi.DataRaceError, kapi.NdRange(8, 4)
    code = "data-race"

    def arguments():
        return np.arange(8) % 2, np.zeros(2, np.int32), kapi.LocalAccessor(2, np.int32)

    def kernel(nd_item: kapi.NdItem, values, out, bins):
        k = nd_item.get_local_id(0)
        if k < 2:
            bins[k] = 0  # named
        kapi.group_barrier(nd_item.get_group())  # right
        kapi.AtomicRef(bins, values[nd_item.get_global_id(0)], address_space=LOCAL).fetch_add(1)  # named
        kapi.group_barrier(nd_item.get_group())
        if k < 2:
            kapi.AtomicRef(out, k).fetch_add(bins[k])


class bins_never_cleared:
    error, space = kapi.UninitializedReadError, kapi.NdRange(8, 4)
    code = "read-before-write"

    def arguments():
        return np.arange(8) % 2, kapi.LocalAccessor(2, np.int32)

    def kernel(nd_item: kapi.NdItem, values, bins):
        if nd_item.get_local_id(0) < 2:  # right
            bins[nd_item.get_local_id(0)] = 0  # right
        kapi.group_barrier(nd_item.get_group())  # right
        kapi.AtomicRef(bins, values[nd_item.get_global_id(0)], address_space=LOCAL).fetch_add(1)  # named


class reference_beyond_the_array:
    error, space, arguments = kapi.OutOfBoundsError, RANGE, lambda: (np.array([0, 1, 3, 2]), np.zeros(3, np.int32))
    code = "index-out-of-bounds"

    def kernel(item: kapi.Item, values, bins):
        kapi.AtomicRef(bins, values[item.get_id(0)]).fetch_add(1)  # named, wrong
        if values[item.get_id(0)] < bins.shape[0]:  # right
            kapi.AtomicRef(bins, values[item.get_id(0)]).fetch_add(1)  # right


class reference_with_a_negative_index:
    error, space, arguments = kapi.OutOfBoundsError, RANGE, lambda: (np.zeros((2, 2), np.int32),)
    code = "negative-index"

    def kernel(item: kapi.Item, bins):
        kapi.AtomicRef(bins, (0, item.get_id(0) - 3)).fetch_add(1)  # named, wrong
        kapi.AtomicRef(bins, (0, item.get_id(0) % 2)).fetch_add(1)  # right


class reference_in_the_wrong_space:
    error, space = kapi.KernelCompilationError, GROUPS
    code = "atomic-address-space"

    def arguments():
        return (kapi.LocalAccessor(1, np.int32),)

    def kernel(nd_item: kapi.NdItem, count):
        if nd_item.get_local_id(0) == 0:
            count[0] = 0
        kapi.group_barrier(nd_item.get_group())
        kapi.AtomicRef(count, 0, address_space=kapi.AddressSpace.GLOBAL).fetch_add(1)  # named, wrong
        kapi.AtomicRef(count, 0).fetch_add(1)  # right


class load_that_releases:
    error, space, arguments = kapi.KernelCompilationError, RANGE, lambda: (np.zeros(1, np.int32), np.zeros(4))
    code = "atomic-order"

    def kernel(item: kapi.Item, flag, out):
        out[item.get_id(0)] = kapi.AtomicRef(flag, 0, RELEASE).load()  # named, wrong
        out[item.get_id(0)] = kapi.AtomicRef(flag, 0, ACQUIRE).load()  # right


class bits_of_a_float:
    error, space, arguments = kapi.DtypeError, RANGE, lambda: (np.zeros(1, np.float32), np.zeros(1, np.int32))
    code = "atomic-needs-integer"

    def kernel(item: kapi.Item, x, bits):
        kapi.AtomicRef(x, 0).fetch_or(1)  # named, wrong
        kapi.AtomicRef(bits, 0).fetch_or(1)  # right


class cycles_of_floats:
    error, space, arguments = kapi.DtypeError, RANGE, lambda: (np.zeros(1, np.float32), np.zeros(1, np.uint8))
    code = "atomic-needs-integer"

    def kernel(item: kapi.Item, x, count):
        kapi.AtomicRef(x, 0).fetch_inc(3)  # named, wrong
        kapi.AtomicRef(count, 0).fetch_inc(3)  # right


class bytes_next_to_an_atomic:
    error, space, arguments = kapi.DataRaceError, RANGE, lambda: (np.zeros(8, np.uint8),)

    def kernel(item: kapi.Item, counts):
        i = item.get_id(0)
        kapi.AtomicRef(counts, 0).fetch_add(1)
        counts[i // 2 + 1] = i  # named, wrong
        counts[i + 1] = i  # right


class atomics_on_short_floats:
    error, space, arguments = kapi.DtypeError, RANGE, lambda: (np.zeros(1, np.float16), np.zeros(1, np.int16))
    code = "atomic-dtype"

    def kernel(item: kapi.Item, x, y):
        kapi.AtomicRef(x, 0).fetch_add(1)  # named, wrong
        kapi.AtomicRef(y, 0).fetch_add(1)  # right


class wide_atomics_on_a_device_without_them:
    error, space, arguments = kapi.DtypeError, RANGE, lambda: (np.zeros(1, np.int64), np.zeros(1, np.int32))
    code = "needs-atomic64"
    controls = NARROW

    def kernel(item: kapi.Item, x, y):
        kapi.AtomicRef(x, 0).fetch_add(1)  # named, wrong
        kapi.AtomicRef(y, 0).fetch_add(1)  # right


class flag_that_nobody_sets:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32),)
    code = "loop-without-change"
    controls = SHORT_SPINS

    def kernel(nd_item: kapi.NdItem, flag):
        ref = kapi.AtomicRef(flag, 0, ACQ_REL)
        if nd_item.get_local_id(0) == 0:
            ref.fetch_add(0)  # wrong
            ref.fetch_add(1)  # right
        while ref.load() == 0:  # named
            pass


class group_that_waits_for_a_later_group:
    error, space, arguments = kapi.DeadlockError, kapi.NdRange(4, 2), lambda: (np.zeros(2, np.int32),)
    code = "loop-without-change"
    controls = SHORT_SPINS

    def kernel(nd_item: kapi.NdItem, flags):
        g = nd_item.get_group().get_group_id(0)
        if nd_item.get_local_id(0) == 0:
            kapi.AtomicRef(flags, g, RELEASE).store(1)
            while kapi.AtomicRef(flags, 1 - g, ACQUIRE).load() == 0:  # named, wrong
                pass  # wrong


class lock_without_an_order:
    error, space, arguments = kapi.DataRaceError, kapi.NdRange(4, 4), lambda: (np.zeros(1, np.int32), np.zeros(1))
    code = "data-race"

    def wrong(nd_item: kapi.NdItem, lock, total):
        free = kapi.PrivateArray(1, np.int32, fill_zeros=True)
        while not kapi.AtomicRef(lock, 0).compare_exchange(free, 1):
            free[0] = 0
        total[0] += 1.0  # named
        kapi.AtomicRef(lock, 0).store(0)

    def right(nd_item: kapi.NdItem, lock, total):
        free = kapi.PrivateArray(1, np.int32, fill_zeros=True)
        while not kapi.AtomicRef(lock, 0, ACQUIRE).compare_exchange(free, 1):
            free[0] = 0
        total[0] += 1.0
        kapi.AtomicRef(lock, 0, RELEASE).store(0)


class flag_in_a_group_without_an_order:
    error, space, arguments = kapi.DataRaceError, kapi.NdRange(2, 2), lambda: (np.zeros(1, np.int32), np.zeros(2))
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, flag, a):
        if nd_item.get_local_id(0) == 1:
            a[0] = 4.0  # named
            kapi.AtomicRef(flag, 0).store(1)  # wrong
            kapi.AtomicRef(flag, 0, RELEASE).store(1)  # right
        else:
            while kapi.AtomicRef(flag, 0).load() == 0:  # right: while kapi.AtomicRef(flag, 0, ACQUIRE).load() == 0:
                pass
            a[1] = a[0]  # named


class flag_that_is_a_plain_element:
    error, space, arguments = kapi.DataRaceError, kapi.NdRange(2, 2), lambda: (np.zeros(1, np.int32), np.zeros(2))
    code = "data-race"

    def kernel(nd_item: kapi.NdItem, flag, a):
        if nd_item.get_local_id(0) == 1:
            flag[0] = 1  # named, wrong
            kapi.AtomicRef(flag, 0, RELEASE).store(1)  # right
        else:
            while kapi.AtomicRef(flag, 0, ACQUIRE).load() == 0:  # named
                pass
