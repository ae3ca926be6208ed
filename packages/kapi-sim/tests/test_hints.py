"""Cures that can be followed: the last lines of a race's report, for what stands around the two accesses."""

from __future__ import annotations

import inspect

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

GROUP = kapi.NdRange(4, 4)
RELEASE, ACQUIRE = kapi.MemoryOrder.RELEASE, kapi.MemoryOrder.ACQUIRE


def line_in(kernel: kapi.Kernel, text: str) -> int:
    """Return the number of the line of a kernel's, or a device function's, source that holds a text."""
    lines, first = inspect.getsourcelines(kernel.py_func)
    (found,) = [first + i for i, line in enumerate(lines) if text in line]
    return found


def report(kernel: kapi.Kernel, space: kapi.Range | kapi.NdRange, *arrays: np.ndarray) -> list[str]:
    with raises(kapi.DataRaceError, "data-race") as caught:
        kapi.call_kernel(kernel, space, *arrays)
    return caught.value.message.splitlines()


@kapi.kernel
def exclusive(item: kapi.NdItem, data):
    t = item.get_local_id(0)
    if t == 0:
        data[0] = 1
        kapi.group_barrier(item.get_group())
    elif t == 3:
        data[0] = 2


def test_lines_that_exclude_each_other_get_no_barrier_between():
    low, high, branch = (line_in(exclusive, text) for text in ("= 1", "= 2", "if t == 0"))
    assert report(exclusive, GROUP, np.zeros(1, np.int32))[-1] == (
        f"  lines {low} and {high} stand in branches of the `if` at line {branch} that exclude each other, and no "
        "barrier can stand in one of them: split it into two, with a `group_barrier` between these"
    )


@kapi.kernel
def into_a_branch(item: kapi.NdItem, a):
    t = item.get_local_id(0)
    a[t] = t
    if t == 0:
        first = a[1]
        a[0] = first


def test_barrier_stands_before_the_branch_of_the_second_line():
    branch = line_in(into_a_branch, "if t == 0")
    cure = report(into_a_branch, GROUP, np.zeros(4))[-1]
    assert cure == f"  a `group_barrier` before the `if` at line {branch} would order them"


@kapi.kernel
def out_of_a_branch(item: kapi.NdItem, a, b):
    t = item.get_local_id(0)
    if t < 2:
        a[t] = t
    b[t] = a[0]


def test_barrier_stands_after_the_branch_of_the_first_line():
    branch, high = line_in(out_of_a_branch, "if t < 2"), line_in(out_of_a_branch, "b[t]")
    cure = report(out_of_a_branch, GROUP, np.zeros(4), np.zeros(4))[-1]
    assert cure == f"  a `group_barrier` before line {high}, after the `if` at line {branch}, would order them"


@kapi.kernel
def both_in_a_branch(item: kapi.NdItem, a, b):
    t = item.get_local_id(0)
    if t < 3:
        a[t] = t
        b[t] = a[2 - t]


def test_branch_that_holds_both_lines_must_be_the_group_s():
    low, high, branch = (line_in(both_in_a_branch, text) for text in ("a[t] = t", "b[t]", "if t < 3"))
    cure = report(both_in_a_branch, GROUP, np.zeros(4), np.zeros(4))[-1]
    assert cure == (
        f"  a `group_barrier` between line {low} and line {high} would order them, if the whole group takes the branch "
        f"of the `if` at line {branch}"
    )


@kapi.kernel
def barrier_not_reached(item: kapi.NdItem, a, b, n):
    t = item.get_local_id(0)
    a[t] = t
    if n > 3:
        kapi.group_barrier(item.get_group())
    b[t] = a[3 - t]


def test_barrier_that_stands_there_and_was_not_reached_is_named():
    line = line_in(barrier_not_reached, "group_barrier")
    with raises(kapi.DataRaceError, "data-race") as caught:
        kapi.call_kernel(barrier_not_reached, GROUP, np.zeros(4), np.zeros(4), 3)
    assert caught.value.message.splitlines()[-1] == (
        f"  the `group_barrier` at line {line} would order them if the entire group reached it: move it to where "
        "all work-items come"
    )


@kapi.device_func
def put(a, t):
    a[t] = t


@kapi.device_func
def get(a, t):
    return a[3 - t]


@kapi.kernel
def across(item: kapi.NdItem, a, b):
    t = item.get_local_id(0)
    put(a, t)
    b[t] = get(a, t)


def test_race_across_functions_names_the_calls():
    read, write = line_in(get, "return"), line_in(put, "a[t] = t")
    low, high = line_in(across, "put(a, t)"), line_in(across, "get(a, t)")
    lines = report(across, GROUP, np.zeros(4), np.zeros(4))
    assert lines[1].endswith(
        f"test_hints.py:{read}: `return a[3 - t]`, called at test_hints.py:{high}: `b[t] = get(a, t)`"
    )
    assert lines[2].endswith(f"test_hints.py:{write}: `a[t] = t`, called at test_hints.py:{low}: `put(a, t)`")
    assert lines[3] == f"  a `group_barrier` between line {low} and line {high} would order them"


@kapi.kernel
def called_twice(item: kapi.NdItem, a, b):
    t = item.get_local_id(0)
    put(a, t)
    b[t] = get(a, t)
    b[t] = get(a, t)


def test_race_across_functions_with_several_paths_names_the_functions():
    read, write = line_in(get, "return"), line_in(put, "a[t] = t")
    cure = report(called_twice, GROUP, np.zeros(4), np.zeros(4))[-1]
    between = f"line {read} in get() and line {write} in put()"
    assert cure == f"  a `group_barrier` between {between} would order them"


def test_race_in_functions_of_the_surrounding_function_names_the_calls():
    @kapi.device_func
    def put_here(a, item):
        kapi.group_barrier(item.get_group())
        a[item.get_local_id(0)] = 1

    @kapi.kernel
    def across_here(item: kapi.NdItem, a, b):
        put_here(a, item)
        b[item.get_local_id(0)] = get(a, item.get_local_id(0))

    low, high = line_in(across_here, "put_here(a"), line_in(across_here, "get(a")
    cure = report(across_here, GROUP, np.zeros(4), np.zeros(4))[-1]
    assert cure == f"  a `group_barrier` between line {low} and line {high} would order them"


@kapi.kernel
def neighbours(item: kapi.NdItem, y):
    i = item.get_global_id(0)
    y[i] = y[i] + y[i + 1]


def test_race_that_goes_on_between_groups_says_so():
    cure = report(neighbours, kapi.NdRange(8, 4), np.zeros(9))[-1]
    assert cure.endswith("; should another group use the element too, split the work into two launches")
    assert "another group" not in report(neighbours, GROUP, np.zeros(5))[-1]


@kapi.kernel
def narrow_fence(item: kapi.NdItem, data, flag, out):
    if item.get_global_id(0) == 0:
        data[0] = 1
        kapi.atomic_fence(RELEASE, kapi.MemoryScope.WORK_GROUP)
        kapi.AtomicRef(flag, 0).store(1)
    elif kapi.AtomicRef(flag, 0).load() == 1:
        kapi.atomic_fence(ACQUIRE, kapi.MemoryScope.DEVICE)
        out[0] = data[0]


@kapi.kernel
def after_the_fence(item: kapi.NdItem, data, flag, out):
    if item.get_global_id(0) == 0:
        kapi.atomic_fence(RELEASE, kapi.MemoryScope.DEVICE)
        kapi.AtomicRef(flag, 0).store(1)
        data[0] = 1
    elif kapi.AtomicRef(flag, 0).load() == 1:
        kapi.atomic_fence(ACQUIRE, kapi.MemoryScope.DEVICE)
        out[0] = data[0]


@kapi.kernel
def no_fence(item: kapi.NdItem, data, flag, out):
    if item.get_global_id(0) == 0:
        data[0] = 1
        kapi.AtomicRef(flag, 0).store(1)
    elif kapi.AtomicRef(flag, 0).load() == 1:
        out[0] = data[0]


def test_fence_with_too_narrow_a_scope_is_named():
    line = line_in(narrow_fence, "RELEASE")
    assert report(narrow_fence, kapi.NdRange(2, 1), *np.zeros((3, 1), np.int32))[-1] == (
        f"  the atomic_fence at line {line} has memory_scope WORK_GROUP, which does not hold both work-items: make it "
        "MemoryScope.DEVICE"
    )


def test_access_after_the_fence_is_named():
    fences = line_in(after_the_fence, "RELEASE"), line_in(after_the_fence, "ACQUIRE")
    store, late = line_in(after_the_fence, "store(1)"), line_in(after_the_fence, "data[0] = 1")
    assert report(after_the_fence, kapi.NdRange(2, 1), *np.zeros((3, 1), np.int32))[-1] == (
        f"  the fences at lines {fences[0]} and {fences[1]} order what comes before the atomic at line {store}, and "
        f"line {late} comes after it: move it before the fence"
    )


def test_relaxed_atomics_without_fences_are_reported_to_lack_them():
    cure = report(no_fence, kapi.NdRange(2, 1), *np.zeros((3, 1), np.int32))[-1]
    assert "order nothing but themselves" in cure
