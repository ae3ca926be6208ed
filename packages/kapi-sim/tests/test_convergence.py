"""Barriers that a part of a group reaches, each with its corrected twin."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


def launch(kernel, *args, n=8, local=4):
    kapi.call_kernel(kernel, kapi.NdRange(n, local), *args)


@kapi.kernel
def in_a_branch(nd_item: kapi.NdItem, a):
    if nd_item.get_local_id(0) < 3:
        kapi.group_barrier(nd_item.get_group())
    a[nd_item.get_global_id(0)] = 1


@kapi.kernel
def after_the_branch(nd_item: kapi.NdItem, a):
    if nd_item.get_local_id(0) < 3:
        a[nd_item.get_global_id(0)] = 1
    kapi.group_barrier(nd_item.get_group())


def test_barrier_in_a_divergent_branch():
    with raises(
        kapi.BarrierDivergenceError, "meeting-missed", line="kapi.group_barrier(nd_item.get_group())"
    ) as caught:
        launch(in_a_branch, np.zeros(8))
    text = str(caught.value)
    assert "3 work-items (work-item global (0,), local (0,), group (0,); local (1,), local (2,)) wait" in text
    assert "test_convergence.py:18: `kapi.group_barrier(nd_item.get_group())`" in text
    assert "work-item global (3,), local (3,), group (0,) left the kernel without it" in text
    launch(after_the_branch, np.zeros(8))


@kapi.kernel
def guard_returns(nd_item: kapi.NdItem, n):
    if nd_item.get_global_id(0) >= n:
        return
    kapi.group_barrier(nd_item.get_group())


@kapi.kernel
def guard_works(nd_item: kapi.NdItem, n, a):
    i = nd_item.get_global_id(0)
    if i < n:
        a[i] = 1
    kapi.group_barrier(nd_item.get_group())


def test_early_return_before_a_barrier():
    with raises(kapi.BarrierDivergenceError, "meeting-missed", line="kapi.group_barrier(nd_item.get_group())"):
        launch(guard_returns, 6)
    launch(guard_returns, 4)
    launch(guard_works, 6, np.zeros(6))


@kapi.kernel
def two_barriers(nd_item: kapi.NdItem):
    group = nd_item.get_group()
    if nd_item.get_local_id(0) % 2:
        kapi.group_barrier(group)
    else:
        kapi.group_barrier(group)


@kapi.kernel
def one_barrier(nd_item: kapi.NdItem):
    kapi.group_barrier(nd_item.get_group())


def test_different_barriers_in_one_phase():
    first = two_barriers.py_func.__code__.co_firstlineno
    with raises(kapi.BarrierDivergenceError, "meetings-differ", line=(first + 4, first + 6)):
        launch(two_barriers)
    launch(one_barrier)


@kapi.kernel
def loop_of_own_length(nd_item: kapi.NdItem):
    for _ in range(nd_item.get_local_id(0) + 1):
        kapi.group_barrier(nd_item.get_group())


@kapi.kernel
def loop_of_one_length(nd_item: kapi.NdItem):
    for _ in range(nd_item.get_local_range(0)):
        kapi.group_barrier(nd_item.get_group())


def test_barrier_in_a_loop_of_different_lengths():
    with raises(kapi.BarrierDivergenceError, "meeting-missed", line="kapi.group_barrier(nd_item.get_group())"):
        launch(loop_of_own_length)
    launch(loop_of_one_length)


@kapi.device_func
def synchronize(group):
    kapi.group_barrier(group)


@kapi.kernel
def divergent_call(nd_item: kapi.NdItem):
    if nd_item.get_group().leader:
        synchronize(nd_item.get_group())


@kapi.kernel
def uniform_call(nd_item: kapi.NdItem):
    synchronize(nd_item.get_group())


def test_divergent_call_of_a_device_function():
    with raises(
        kapi.BarrierDivergenceError,
        "meeting-missed",
        line=("kapi.group_barrier(group)", "synchronize(nd_item.get_group())"),
    ):
        launch(divergent_call)
    launch(uniform_call)


@kapi.device_func
def remainder(one, two):
    while one >= two:
        one -= two
    return one


@kapi.kernel
def call_after_divergent_loops(nd_item: kapi.NdItem, a):
    i = nd_item.get_global_id(0)
    for _ in range(a[i]):
        a[i] += remainder(a[i], 3)
    w = a[i]
    while w > 0:
        w -= 1 + remainder(w, 2)
        if w > 9:
            break
    else:
        synchronize(nd_item.get_group())
    synchronize(nd_item.get_group())


def test_loops_that_have_ended_are_not_around_a_call():
    """Work-items that left a loop in different iterations come to the same barrier."""
    launch(call_after_divergent_loops, np.array([1, 2, 0, 2, 2, 0, 1, 1]))


@kapi.kernel
def differing_scopes(nd_item: kapi.NdItem):
    scope = kapi.MemoryScope.DEVICE if nd_item.get_local_id(0) else kapi.MemoryScope.WORK_GROUP
    kapi.group_barrier(nd_item.get_group(), scope)


def test_scopes_must_agree():
    with raises(
        kapi.BarrierDivergenceError, "fence-scopes-differ", line="kapi.group_barrier(nd_item.get_group(), scope)"
    ):
        launch(differing_scopes)


@kapi.kernel
def wrong_group(nd_item: kapi.NdItem):
    kapi.group_barrier(nd_item)


def test_barrier_of_something_else():
    with raises(kapi.KernelLaunchError, "foreign-group", line="kapi.group_barrier(nd_item)"):
        launch(wrong_group)


def test_divergence_passes_when_not_checked():
    with kapi.simulation(checks="none"):
        launch(in_a_branch, np.zeros(8))
    with kapi.simulation(checks={"races"}):
        launch(in_a_branch, np.zeros(8))


@kapi.kernel
def aliased(nd_item: kapi.NdItem):
    barrier_by_name = kapi.group_barrier
    barrier_by_name(nd_item.get_group())


def test_barrier_under_a_name_that_cannot_be_followed():
    with raises(kapi.KernelLaunchError, "word-by-other-name", line="barrier_by_name(nd_item.get_group())"):
        launch(aliased)


def test_barrier_needs_work_groups():
    @kapi.kernel
    def untyped(item):
        kapi.group_barrier(item)

    with raises(kapi.KernelLaunchError, "needs-nd-range"):
        kapi.call_kernel(untyped, kapi.Range(2))


@kapi.kernel
def two_calls(nd_item: kapi.NdItem):
    group = nd_item.get_group()
    if nd_item.get_local_id(0) % 2:
        synchronize(group)  # odd call
    else:
        synchronize(group)  # even call


def test_calls_of_one_function_are_different_barriers(line_with):
    with raises(
        kapi.BarrierDivergenceError,
        "meetings-in-calls-differ",
        line=("kapi.group_barrier(group)", "synchronize(group)"),
    ) as caught:
        launch(two_calls)
    assert f"called at test_convergence.py:{line_with('# odd call')}" in str(caught.value)
    assert f"called at test_convergence.py:{line_with('# even call')}" in str(caught.value)
    launch(uniform_call)
