"""Atomics, fences and private arrays: values, messages, and what orders what."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

ORDER, SCOPE, SPACE = kapi.MemoryOrder, kapi.MemoryScope, kapi.AddressSpace
LENGTH = 3


@pytest.mark.parametrize("checks", ["all", "none"])
def test_integers_wrap_and_floats_saturate(checks):
    @kapi.kernel
    def change(item: kapi.Item, a, before, x):
        before[0] = kapi.AtomicRef(a, 0).fetch_add(1)
        before[1] = kapi.AtomicRef(a, 1).exchange(x)
        kapi.AtomicRef(a, 2).store(-x)
        before[2] = kapi.AtomicRef(a, 3).fetch_sub(x)

    a = np.array([2**31 - 1, 5, 6, 7], np.int32)
    before = np.zeros(3, np.int64)
    with kapi.simulation(checks=checks):
        kapi.call_kernel(change, kapi.Range(1), a, before, np.float64(1e12))
    np.testing.assert_array_equal(a, [-(2**31), 2**31 - 1, -(2**31), np.int32(7 - 2**31 + 1)])
    np.testing.assert_array_equal(before, [2**31 - 1, 5, 7])


def test_number_that_does_not_fit_is_an_error():
    @kapi.kernel
    def below(item: kapi.Item, a):
        kapi.AtomicRef(a, 0).fetch_add(-1)

    with raises(kapi.DtypeError, "number-unfit", line="kapi.AtomicRef(a, 0).fetch_add(-1)"):
        kapi.call_kernel(below, kapi.Range(1), np.zeros(1, np.uint32))


@pytest.mark.parametrize(
    ("make", "error", "code"),
    [
        (lambda a, p: kapi.AtomicRef(a, (0, 0)), kapi.OutOfBoundsError, "too-many-indices"),
        (lambda a, p: kapi.AtomicRef(a, slice(0, 1)), kapi.DtypeError, "atomic-index"),
        (lambda a, p: kapi.AtomicRef(3, 0), kapi.DtypeError, "atomic-ref"),
        (lambda a, p: kapi.AtomicRef(a, 0, 2), kapi.KernelCompilationError, "no-enum-member"),
        (
            lambda a, p: kapi.AtomicRef(a, 0, address_space=SPACE.LOCAL),
            kapi.KernelCompilationError,
            "atomic-address-space",
        ),
        (lambda a, p: kapi.AtomicRef(p, 0), kapi.KernelCompilationError, "atomic-of-private"),
        (lambda a, p: kapi.AtomicRef(a, 0, ORDER.ACQUIRE).store(1), kapi.KernelCompilationError, "atomic-order"),
        (lambda a, p: kapi.AtomicRef(a, 0).compare_exchange(a[0], 1), kapi.DtypeError, "atomic-expected"),
        (lambda a, p: kapi.atomic_fence(ORDER.ACQUIRE, 3), kapi.KernelCompilationError, "no-enum-member"),
    ],
)
def test_wrong_reference_is_explained(make, error, code):
    call = kapi.device_func(make)

    @kapi.kernel
    def refer(item: kapi.Item, a):
        private = kapi.PrivateArray(LENGTH, np.int32, fill_zeros=True)
        call(a, private)

    with raises(error, code):
        kapi.call_kernel(refer, kapi.Range(1), np.zeros(2, np.int32))


def test_intrinsics_say_so_outside_of_one():
    for call in (
        lambda: kapi.AtomicRef(np.zeros(1), 0),
        lambda: kapi.PrivateArray(1, np.int32),
        lambda: kapi.atomic_fence(ORDER.ACQ_REL, SCOPE.DEVICE),
        lambda: kapi.reduce_over_group(kapi.Group(), 1, kapi.plus),
    ):
        with raises(kapi.KernelLaunchError, "word-by-other-name"):
            call()


def test_reference_through_a_variable_is_carried_out_or_refused():
    @kapi.kernel
    def aliased(item: kapi.Item, a):
        words = kapi
        words.AtomicRef(a, 0).fetch_add(1)

    a = np.zeros(1, np.int32)
    with kapi.simulation(checks="none"):
        kapi.call_kernel(aliased, kapi.Range(4), a)
    assert a[0] == 4
    with raises(kapi.KernelCompilationError, "atomic-by-variable", line="words.AtomicRef(a, 0).fetch_add(1)"):
        kapi.call_kernel(aliased, kapi.Range(4), a)


def test_sub_group_barrier_orders_what_came_before_it_only():
    @kapi.kernel
    def after(nd_item: kapi.NdItem, a, late):
        k = nd_item.get_local_id(0)
        if k == 0 and not late:
            a[0] = 1
        kapi.group_barrier(nd_item.get_sub_group())
        if k == 0 and late:
            a[0] = 1
        if k == 1:
            a[1] = a[0]

    with kapi.simulation(profile=kapi.Profile(sub_group_sizes=(4,))):
        kapi.call_kernel(after, kapi.NdRange(8, 8), np.zeros(2), False)
        with raises(kapi.DataRaceError, "data-race", line=("a[0] = 1", "a[1] = a[0]")):
            kapi.call_kernel(after, kapi.NdRange(8, 8), np.zeros(2), True)


def test_order_goes_on_through_barriers_of_both_groups():
    @kapi.kernel
    def relay(nd_item: kapi.NdItem, a, flag, out):
        group = nd_item.get_group()
        k = nd_item.get_local_id(0)
        a[nd_item.get_global_id(0)] = k
        kapi.group_barrier(group)
        count = 0
        if group.leader:
            count = kapi.AtomicRef(flag, 0, ORDER.ACQ_REL).fetch_add(1)
        if kapi.group_broadcast(group, count) == 1:
            kapi.group_barrier(group)
            out[k] = a[3 - k]

    out = np.zeros(4)
    kapi.call_kernel(relay, kapi.NdRange(8, 4), np.zeros(8), np.zeros(1, np.int32), out)
    np.testing.assert_array_equal(out, [3, 2, 1, 0])


def test_message_names_what_a_relaxed_atomic_does_not_do():
    @kapi.kernel
    def publish(item: kapi.Item, a, flag):
        if item.get_id(0) == 0:
            a[0] = 1
        if kapi.AtomicRef(flag, 0).fetch_add(1) == 1:
            a[1] = a[0]

    with raises(kapi.DataRaceError, "data-race", line=("a[0] = 1", "a[1] = a[0]")) as caught:
        kapi.call_kernel(publish, kapi.Range(2), np.zeros(2), np.zeros(1, np.int32))
    assert "RELAXED atomics at lines" in str(caught.value)
    assert "MemoryOrder.RELEASE and read with ACQUIRE" in str(caught.value)


def test_every_work_item_has_its_own_private_array():
    @kapi.kernel
    def own(nd_item: kapi.NdItem, out):
        i = nd_item.get_global_id(0)
        kept = kapi.PrivateArray((LENGTH, 2), np.int32)
        kept[2, 1] = i
        kapi.group_barrier(nd_item.get_group())
        out[i] = kept[2, 1] + kept.shape[0] * 100 + kept.size * 1000

    out = np.zeros(4, np.int64)
    kapi.call_kernel(own, kapi.NdRange(4, 4), out)
    np.testing.assert_array_equal(out, 6300 + np.arange(4))


@pytest.mark.parametrize(
    ("shape", "dtype", "error", "code"),
    [
        (0, np.int32, kapi.LimitError, "array-shape"),
        ((1,) * 7, np.int32, kapi.LimitError, "array-shape"),
        (2, np.dtype("U3"), kapi.DtypeError, "array-dtype"),
        (2, 3, kapi.DtypeError, "array-dtype"),
        (2, "f4", kapi.KernelCompilationError, "outside-text"),
    ],
)
def test_private_array_checks_its_layout(shape, dtype, error, code):
    @kapi.kernel
    def makes(item: kapi.Item):
        kapi.PrivateArray(shape, dtype)

    with raises(error, code):
        kapi.call_kernel(makes, kapi.Range(1))


def test_marked_array_counts_as_written_in_later_launches():
    @kapi.kernel
    def write(item: kapi.Item, a):
        a[item.get_id(0)] = 1

    @kapi.kernel
    def read(item: kapi.Item, a, out):
        out[item.get_id(0)] = a[item.get_id(0)]

    a = np.empty(4)
    with kapi.simulation(uninitialised=[a]) as report:
        kapi.call_kernel(write, kapi.Range(3), a)
        kapi.call_kernel(read, kapi.Range(3), a[:3], np.zeros(3))
        with raises(kapi.UninitializedReadError, "read-before-write", line="out[item.get_id(0)] = a[item.get_id(0)]"):
            kapi.call_kernel(read, kapi.Range(4), a, np.zeros(4))
    assert "uninitialised" not in report.text()
    with kapi.simulation() as report:
        kapi.call_kernel(read, kapi.Range(4), a, np.zeros(4))
    assert "global memory that the host left uninitialised" in report.text()
    with raises(kapi.KernelLaunchError, "unwritten-no-array"):
        with kapi.simulation(uninitialised=[3]):
            pass
