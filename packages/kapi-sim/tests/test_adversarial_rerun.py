"""The second run of a launch in another order, which leaves nothing behind."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

ACQUIRE, RELEASE, ACQ_REL = kapi.MemoryOrder.ACQUIRE, kapi.MemoryOrder.RELEASE, kapi.MemoryOrder.ACQ_REL
DEVICE = kapi.MemoryScope.DEVICE
i4 = np.int32


@kapi.kernel
def add_in_order(nd_item: kapi.NdItem, lock, total, totals):
    if nd_item.get_local_id(0) == 0:
        while kapi.AtomicRef(lock, 0, ACQUIRE).exchange(1) == 1:
            pass
        total[0] += 1
        totals[nd_item.get_group().get_group_id(0)] = total[0]
        print("holds the lock")
        kapi.AtomicRef(lock, 0, RELEASE).store(0)


def test_free_lock_is_no_wait_and_a_second_run_leaves_nothing_behind(capsys):
    lock, total, totals = np.zeros(1, i4), np.full(1, 10), np.zeros(6, i4)
    with kapi.simulation() as report:
        kapi.call_kernel(add_in_order, kapi.NdRange(12, 2), lock, total, totals)
    assert (lock[0], total[0]) == (0, 16)
    np.testing.assert_array_equal(totals, range(11, 17))
    assert capsys.readouterr().out == "holds the lock\n" * 6
    (launch,) = report.launches
    assert launch.elements_tracked == 8
    assert launch.seeds == (None,)


def test_second_run_follows_several_schedules():
    total = np.zeros(1, i4)
    with kapi.simulation(schedules=3, seed=5), warnings.catch_warnings():
        warnings.simplefilter("ignore", kapi.ScheduleDependenceWarning)
        kapi.call_kernel(add_in_order, kapi.NdRange(6, 1), np.zeros(1, i4), total, np.zeros(6, i4))
    assert total[0] == 6


@kapi.kernel
def publish_and_wait(nd_item: kapi.NdItem, flag, data, out):
    g = nd_item.get_group().get_group_id(0)
    if g == 0:
        data[0] = 7
        kapi.AtomicRef(flag, 0, RELEASE).store(1)
    elif g == 2:
        while kapi.AtomicRef(flag, 0, ACQ_REL).exchange(0) == 0:
            pass
        out[0] = data[0]


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_wait_for_another_group_is_found_in_every_order_and_soon(seed):
    start = time.process_time()
    with kapi.simulation(seed=seed), pytest.raises(kapi.DeadlockError) as caught:
        kapi.call_kernel(publish_and_wait, kapi.NdRange(3, 1), np.zeros(1, i4), np.zeros(1), np.zeros(1))
    # The order decides whether the writer has run when the loop is given up.
    assert caught.value.code in ("waits-for-other", "loop-without-change")
    assert time.process_time() - start < 5


def test_wait_in_uninitialised_memory_is_found_too():
    flag, data = np.zeros(1, i4), np.empty(1)
    with (
        kapi.simulation(uninitialised=[data]),
        raises(
            kapi.DeadlockError,
            "waits-for-other",
            line=(
                "while kapi.AtomicRef(flag, 0, ACQ_REL).exchange(0) == 0:",
                "kapi.AtomicRef(flag, 0, RELEASE).store(1)",
            ),
        ),
    ):
        kapi.call_kernel(publish_and_wait, kapi.NdRange(3, 1), flag, data, np.zeros(1))


def test_what_was_written_counts_as_written_after_a_second_run():
    made = np.empty(6, i4)

    @kapi.kernel
    def show(item: kapi.Item, indices, out):
        out[item.get_id(0)] = indices[item.get_id(0)]

    out = np.zeros(6, i4)
    with kapi.simulation(uninitialised=[made]):
        kapi.call_kernel(add_in_order, kapi.NdRange(6, 1), np.zeros(1, i4), np.zeros(1, i4), made)
        kapi.call_kernel(show, kapi.Range(6), made, out)
    np.testing.assert_array_equal(out, range(1, 7))


@kapi.device_func
def wait_with_an_early_load(flag):
    seen = kapi.AtomicRef(flag, 0, ACQUIRE).load()
    while seen == 0:
        pass
    return seen


@kapi.kernel
def publish_or_load_once(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_global_id(0) == 0:
        kapi.AtomicRef(flag, 0, RELEASE).store(1)
    else:
        out[0] = wait_with_an_early_load(flag)


def test_loop_that_depends_on_an_earlier_load_is_a_wait():
    with raises(
        kapi.DeadlockError,
        "waits-for-other",
        line=(
            "seen = kapi.AtomicRef(flag, 0, ACQUIRE).load()",
            "while seen == 0:",
            "kapi.AtomicRef(flag, 0, RELEASE).store(1)",
        ),
    ):
        kapi.call_kernel(publish_or_load_once, kapi.NdRange(2, 1), np.zeros(1, i4), np.zeros(1))


@kapi.kernel
def poll_for_a_while(item: kapi.Item, flag, out):
    if item.get_id(0) == 0:
        kapi.AtomicRef(flag, 0, RELEASE).store(1)
    else:
        for iteration in range(1_000_000):
            if kapi.AtomicRef(flag, 0, ACQUIRE).load() == 1:
                out[item.get_id(0)] = iteration
                break


@kapi.kernel
def poll_for_a_while_and_count(item: kapi.Item, flag, out):
    if item.get_id(0) == 0:
        kapi.AtomicRef(flag, 0, RELEASE).store(1)
    else:
        for _ in range(10_000_000):
            if kapi.AtomicRef(flag, 0, ACQUIRE).load() == 1:
                break
            out[item.get_id(0)] += 1


@pytest.mark.parametrize("kernel", [poll_for_a_while, poll_for_a_while_and_count])
def test_loop_that_gives_up_waiting_is_no_deadlock(kernel):
    start = time.process_time()
    kapi.call_kernel(kernel, kapi.Range(3), np.zeros(1, i4), out := np.zeros(3))
    np.testing.assert_array_equal(out, 0)
    assert time.process_time() - start < 30


@kapi.kernel
def chain(nd_item: kapi.NdItem, values, flags, sums):
    n = nd_item.get_local_range(0)
    i = nd_item.get_local_id(0)
    sums[i] = values[i]
    if i + 1 < n:
        tries = 0
        while kapi.AtomicRef(flags, i + 1, ACQUIRE).load() == 0:
            tries += 1
        sums[i] += sums[i + 1]
    kapi.AtomicRef(flags, i, RELEASE).store(1)


def test_work_items_of_a_group_that_wait_for_each_other_hand_over_at_once():
    start = time.process_time()
    kapi.call_kernel(chain, kapi.NdRange(64, 64), np.arange(64), np.zeros(64, i4), sums := np.zeros(64, np.int64))
    np.testing.assert_array_equal(sums, np.arange(64)[::-1].cumsum()[::-1])
    assert time.process_time() - start < 15


@kapi.kernel
def count_in_private_memory(nd_item: kapi.NdItem, out):
    count = kapi.PrivateArray(1, np.int32, fill_zeros=True)
    while count[0] < 5000:
        count[0] += 1
    out[nd_item.get_global_id(0)] = count[0]


def test_loop_that_counts_in_private_memory_does_not_come_round():
    kapi.call_kernel(count_in_private_memory, kapi.NdRange(2, 2), out := np.zeros(2))
    np.testing.assert_array_equal(out, 5000)


@kapi.kernel
def release_after_many_iterations(nd_item: kapi.NdItem, first, second, out):
    if nd_item.get_local_id(0) == 0:
        tries = 0
        while kapi.AtomicRef(first, 0, ACQUIRE).load() == 0:
            tries += 1
            if tries == 300:
                kapi.AtomicRef(second, 0, RELEASE).store(1)
        out[0] = tries
    else:
        while kapi.AtomicRef(second, 0, ACQUIRE).load() == 0:
            pass
        kapi.AtomicRef(first, 0, RELEASE).store(1)


def test_counter_that_brings_about_a_store_is_no_counter_of_tries():
    kapi.call_kernel(
        release_after_many_iterations, kapi.NdRange(2, 2), np.zeros(1, i4), np.zeros(1, i4), out := np.zeros(1)
    )
    assert out[0] >= 300


@kapi.kernel
def take_from_a_queue(nd_item: kapi.NdItem, following, out):
    i = kapi.AtomicRef(following, 0).fetch_add(1)
    while i < out.shape[0]:
        out[i] = i
        i = kapi.AtomicRef(following, 0).fetch_add(1)


def test_queue_of_work_is_no_wait():
    kapi.call_kernel(take_from_a_queue, kapi.NdRange(8, 2), np.zeros(1, i4), out := np.zeros(40))
    np.testing.assert_array_equal(out, range(40))


@kapi.kernel
def first_has_no_acquire(item: kapi.Item, lock, total):
    if item.get_id(0) == 0:
        while kapi.AtomicRef(lock, 0).exchange(1) == 1:
            pass
    else:
        while kapi.AtomicRef(lock, 0, ACQUIRE).exchange(1) == 1:
            pass
    total[0] += 1
    kapi.AtomicRef(lock, 0, RELEASE).store(0)


def test_race_of_a_one_sided_lock_says_that_it_was_found_backwards():
    with raises(kapi.DataRaceError, "data-race", line="total[0] += 1") as caught:
        kapi.call_kernel(first_has_no_acquire, kapi.Range(3), np.zeros(1, i4), np.zeros(1))
    assert "found with the work-items in reverse order" in "".join(caught.value.__notes__)


@kapi.kernel
def message_with_fences(item: kapi.Item, data, came, out):
    data[item.get_id(0)] = 1
    kapi.atomic_fence(RELEASE, DEVICE)
    if kapi.AtomicRef(came, 0).fetch_add(1) == 3:
        kapi.atomic_fence(ACQUIRE, DEVICE)
        for k in range(4):
            out[0] += data[k]


def test_last_to_come_by_fences_is_clean_backwards_too():
    kapi.call_kernel(message_with_fences, kapi.Range(4), np.zeros(4), np.zeros(1, i4), out := np.zeros(1))
    assert out[0] == 4


@kapi.kernel
def fails_when_first(nd_item: kapi.NdItem, came, out):
    g = nd_item.get_group().get_group_id(0)
    number = kapi.AtomicRef(came, 0, ACQ_REL).fetch_add(1)
    while number < 0:
        number = kapi.AtomicRef(came, 0, ACQUIRE).load()
    out[g * (2 - number)] = 1


def test_other_errors_of_a_second_run_say_where_they_come_from():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="out[g * (2 - number)] = 1") as caught:
        kapi.call_kernel(fails_when_first, kapi.NdRange(2, 1), np.zeros(1, i4), np.zeros(2))
    assert "found with this work-group running before all others" in "".join(caught.value.__notes__)
