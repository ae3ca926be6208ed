"""Loops that no schedule can end: an error, never a hang."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

LIMIT = 2000


@kapi.kernel
def waits_for_another_item(item: kapi.Item, flag):
    if item.get_id(0) == 0:
        while flag[0] == 0:  # range wait
            pass
    else:
        flag[0] = 1


@kapi.kernel
def waits_for_another_group(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_group().get_group_id(0) == 0:
        while flag[0] == 0:  # group wait
            out[0] += 1
    else:
        flag[0] = 1


@kapi.kernel
def waits_while_others_are_at_a_barrier(nd_item: kapi.NdItem, flag, out):
    if nd_item.get_local_id(0) == 0:
        while flag[0] == 0:  # wait before the barrier
            out[0] = 1
    kapi.group_barrier(nd_item.get_group())  # the barrier
    if nd_item.get_local_id(0) == 1:
        flag[0] = 1


@kapi.kernel
def waits_without_reading(nd_item: kapi.NdItem, n):
    while n > 0:
        n += 1


@kapi.kernel
def waits_after_a_barrier(nd_item: kapi.NdItem, n):
    kapi.group_barrier(nd_item.get_group())
    while n > 0:
        n += 1


@kapi.device_func
def stuck(flag):
    while flag[0] == 0:  # wait in a function
        pass


@kapi.kernel
def waits_in_a_function(nd_item: kapi.NdItem, flag):
    stuck(flag)


@kapi.kernel
def waits_in_a_local_function(nd_item: kapi.NdItem, flag):
    def wait():
        while flag[0] == 0:
            pass

    wait()


@pytest.mark.parametrize("checks", ["all", "none", {"races"}, {"bounds"}])
@pytest.mark.parametrize(
    ("kernel", "space", "arguments"),
    [
        (waits_for_another_item, kapi.Range(2), 1),
        (waits_for_another_group, kapi.NdRange(2, 1), 2),
        (waits_while_others_are_at_a_barrier, kapi.NdRange(2, 2), 2),
        (waits_in_a_function, kapi.NdRange(2, 2), 1),
        (waits_in_a_local_function, kapi.NdRange(2, 2), 1),
    ],
)
def test_spin_is_a_deadlock(kernel, space, arguments, checks):
    # What changes is known where races are checked; the wait for another group writes in each iteration.
    sees = checks in ("all", {"races"}) and kernel is not waits_for_another_group
    code = "loop-without-change" if sees else "endless-loop"
    with (
        kapi.simulation(checks=checks, spin_limit=LIMIT),
        raises(kapi.DeadlockError, code),
    ):
        kapi.call_kernel(kernel, space, *(np.zeros(1) for _ in range(arguments)))


def test_infinite_loop_is_reported():
    with (
        kapi.simulation(spin_limit=LIMIT),
        raises(kapi.DeadlockError, "loop-without-change", line="while flag[0] == 0:"),
    ):
        kapi.call_kernel(waits_in_a_function, kapi.NdRange(2, 2), np.zeros(1))


@pytest.mark.parametrize("kernel", [waits_without_reading, waits_after_a_barrier])
@pytest.mark.parametrize("checks", ["all", "none"])
def test_loop_that_counts_is_a_deadlock(kernel, checks):
    with (
        kapi.simulation(checks=checks, spin_limit=LIMIT),
        raises(kapi.DeadlockError, "endless-loop", line="while n > 0:"),
    ):
        kapi.call_kernel(kernel, kapi.NdRange(2, 2), 1)


def test_deadlock_says_who_waits_for_what(line_with):
    with (
        kapi.simulation(spin_limit=LIMIT),
        raises(kapi.DeadlockError, "loop-without-change", line="while flag[0] == 0:") as caught,
    ):
        kapi.call_kernel(waits_for_another_item, kapi.Range(2), np.zeros(1))
    line = line_with("# range wait")
    assert f"work-item global (0,) iterates at test_infinite_loops.py:{line}: `while flag[0] == 0:" in str(caught.value)
    assert f"it waits for flag[0] at line {line}, which is 0.0, which no work-item wrote" in str(caught.value)
    assert "split the work into two launches" in str(caught.value)


def test_deadlock_says_what_the_others_do(line_with):
    with (
        kapi.simulation(spin_limit=LIMIT),
        raises(
            kapi.DeadlockError,
            "loop-without-change",
            line=("while flag[0] == 0:", "kapi.group_barrier(nd_item.get_group())"),
        ) as caught,
    ):
        kapi.call_kernel(waits_while_others_are_at_a_barrier, kapi.NdRange(4, 4), np.zeros(1), np.zeros(1))
    assert f"iterates at test_infinite_loops.py:{line_with('# wait before the barrier')}" in str(caught.value)
    assert f"wait at test_infinite_loops.py:{line_with('# the barrier')}" in str(caught.value)
    assert "3 work-items (work-item global (1,)" in str(caught.value)


@kapi.kernel
def flag_in_a_group(nd_item: kapi.NdItem, flag):
    if nd_item.get_local_id(0) == 0:
        while flag[0] == 0:  # read
            pass
    else:
        flag[0] = 1  # write


def test_flag_that_another_item_sets_is_a_race(line_with):
    with (
        kapi.simulation(spin_limit=LIMIT),
        raises(kapi.DataRaceError, "data-race", line=("while flag[0] == 0:", "flag[0] = 1")) as caught,
    ):
        kapi.call_kernel(flag_in_a_group, kapi.NdRange(2, 2), np.zeros(1))
    assert f"test_infinite_loops.py:{line_with('# read')}" in str(caught.value)
    assert f"test_infinite_loops.py:{line_with('# write')}" in str(caught.value)


def test_items_of_a_group_alternate():
    with kapi.simulation(checks={"bounds"}, spin_limit=LIMIT):
        kapi.call_kernel(flag_in_a_group, kapi.NdRange(2, 2), flag := np.zeros(1))
    assert flag[0] == 1


@kapi.kernel
def long_loop(nd_item: kapi.NdItem, out, n):
    i = nd_item.get_global_id(0)
    k = 0
    while k < n:
        k += 1
    out[i] = k


@pytest.mark.parametrize("checks", ["all", "none"])
def test_long_loop_is_no_deadlock(checks):
    out = np.zeros(4)
    with kapi.simulation(checks=checks, spin_limit=LIMIT):
        kapi.call_kernel(long_loop, kapi.NdRange(4, 4), out, LIMIT // 4)
    np.testing.assert_array_equal(out, LIMIT // 4)


@kapi.kernel
def barriers_without_end(nd_item: kapi.NdItem, n):
    while n > 0:
        kapi.group_barrier(nd_item.get_group())


@pytest.mark.parametrize("checks", ["all", "none"])
def test_barriers_without_end_are_a_deadlock(checks):
    with kapi.simulation(checks=checks, spin_limit=100), raises(kapi.DeadlockError, "endless-loop"):
        kapi.call_kernel(barriers_without_end, kapi.NdRange(2, 2), 1)


def test_spin_limit_is_validated():
    with raises(kapi.KernelLaunchError, "simulation-spin-limit"), kapi.simulation(spin_limit=0):
        pass


@kapi.device_func
def iterations(n):
    k = 0
    while k < n:
        k += 1
    return k


@kapi.kernel
def same_loop_many_times(nd_item: kapi.NdItem, values, out):
    for value in values:
        n = iterations(value)
    out[nd_item.get_global_id(0)] = n


def test_one_loop_run_again_is_no_deadlock():
    out = np.zeros(2)
    with kapi.simulation(spin_limit=10_000):
        kapi.call_kernel(same_loop_many_times, kapi.NdRange(2, 2), np.full(5, 15, np.int32), out)
    np.testing.assert_array_equal(out, 15)


def without_source(text):
    """The kernel `k` of a text that no file holds."""
    names = {"kapi": kapi}
    exec(text, names)
    return kapi.kernel(names["k"])


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(
    ("text", "line", "space"),
    [
        ("def k(item, a):\n    while a[0] == 0: pass", 2, kapi.Range(2)),
        ("def k(item, a):\n    while True:\n        a[0] = 0", 3, kapi.Range(1)),
        ("def k(item, a):\n    for _ in range(1 << 60):\n        pass", 2, kapi.Range(1)),
        ("def wait(a):\n    while a[0] == 0:\n        pass\ndef k(item, a):\n    wait(a)", 3, kapi.NdRange(2, 2)),
        (
            "def k(item, a):\n    kapi.group_barrier(item.get_group())\n    while a[0] == 0:\n        pass",
            4,
            kapi.NdRange(2, 2),
        ),
    ],
    ids=["one line", "two lines", "for", "function", "after a barrier"],
)
def test_spin_without_source_is_a_deadlock(text, line, space, checks):
    before = sys.gettrace()
    with (
        kapi.simulation(checks=checks, spin_limit=100),
        raises(kapi.DeadlockError, "endless-loop", line=line),
    ):
        kapi.call_kernel(without_source(text), space, np.zeros(1))
    assert sys.gettrace() is before


@pytest.mark.parametrize("checks", ["all", "none"])
def test_nested_loops_without_source_are_no_deadlock(checks):
    text = "def k(item, a):\n    i = 0\n    while i < 30:\n        i += 1\n        j = 0\n        while j < 90:\n"
    text += "            j += 1\n            a[0] += 1"
    with kapi.simulation(checks=checks, spin_limit=100):
        kapi.call_kernel(without_source(text), kapi.Range(1), a := np.zeros(1))
    assert a[0] == 2700


@pytest.mark.parametrize("checks", ["all", "none"])
def test_flag_without_source_is_waited_for(checks):
    text = """def k(item, flag):
    kapi.group_barrier(item.get_group())
    if item.get_local_id(0) == 0:
        while kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQUIRE).load() == 0: pass
    else:
        kapi.AtomicRef(flag, 0, kapi.MemoryOrder.RELEASE).store(1)"""
    with kapi.simulation(checks=checks, spin_limit=2000):
        kapi.call_kernel(without_source(text), kapi.NdRange(2, 2), flag := np.zeros(1, np.int32))
    assert flag[0] == 1


@kapi.kernel
def long_range(item: kapi.Item, out, n):
    for _ in range(n):
        out[item.get_id(0)] += 1


@pytest.mark.parametrize("checks", ["all", "none"])
def test_range_has_more_iterations_than_a_while_loop(checks):
    with kapi.simulation(checks=checks, spin_limit=10):
        kapi.call_kernel(long_range, kapi.Range(1), out := np.zeros(1), 1000)
        with raises(kapi.DeadlockError, "endless-loop", line="for _ in range(n):"):
            kapi.call_kernel(long_range, kapi.Range(1), np.zeros(1), 1001)
    assert out[0] == 1000


@kapi.kernel
def lock_between_groups(item: kapi.Item, lock, total):
    while kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQUIRE).exchange(1) == 1:
        pass
    total[0] += 1
    kapi.AtomicRef(lock, 0, kapi.MemoryOrder.RELEASE).store(0)


def test_loop_that_takes_a_lock_does_not_only_wait():
    kapi.call_kernel(lock_between_groups, kapi.Range(4), np.zeros(1, np.int32), total := np.zeros(1))
    assert total[0] == 4
