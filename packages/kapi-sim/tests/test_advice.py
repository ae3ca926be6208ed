"""Advice that is true where it is followed: what shares memory, guards of neighbours, properties, portable limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def shift(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = source[i]


@kapi.kernel
def shift_by_views(item: kapi.Item, source, target):
    i = item.get_id(0)
    rows = target[0:]
    rows[i] = source[i]


def scatter(values, target, i):
    target[i] = values[i]


@kapi.kernel
def shift_in_a_function(item: kapi.Item, source, target):
    scatter(source, target, item.get_id(0))


@pytest.mark.parametrize("kernel", [shift, shift_by_views, shift_in_a_function])
@pytest.mark.parametrize("distance", [1, -1, 3])
def test_race_of_views_of_one_array_says_that_they_share_memory(kernel, distance):
    numbers = np.arange(16.0)
    views = (numbers[:-distance], numbers[distance:]) if distance > 0 else (numbers[1:], numbers[:-1])
    with raises(kapi.DataRaceError, "data-race", words=False) as found:
        kapi.call_kernel(kernel, kapi.Range(8), *views)
    assert "share memory: pass arrays that do not overlap" in str(found.value)
    assert "write to another array" not in str(found.value)


def test_race_of_one_array_is_mended_by_another():
    @kapi.kernel
    def shifted(item: kapi.Item, a):
        i = item.get_id(0)
        a[i] = a[i + 1]

    with raises(kapi.DataRaceError, "data-race", words=False) as found:
        kapi.call_kernel(shifted, kapi.Range(8), np.arange(9.0))
    assert "write to another array" in str(found.value)
    assert "share memory" not in str(found.value)


@kapi.kernel
def difference(item: kapi.Item, a, d):
    i = item.get_id(0)
    d[i] = a[i] - a[i - 1]


@kapi.kernel
def named(item: kapi.Item, a, d):
    left = item.get_id(0) - 2
    d[item.get_id(0)] = a[left]


@kapi.kernel
def in_a_sum(item: kapi.Item, a, d):
    i = item.get_id(0)
    d[i] = a[i] + a[i // 9 - 3]


@kapi.kernel
def last(item: kapi.Item, a, d):
    d[item.get_id(0)] = a[-9]


@pytest.mark.parametrize(
    ("kernel", "guard"), [(difference, "if i - 1 >= 0"), (named, "if left >= 0"), (in_a_sum, "if i // 9 - 3 >= 0")]
)
def test_computed_index_below_zero_needs_a_guard(kernel, guard):
    with raises(kapi.OutOfBoundsError, "negative-index", words=False) as found:
        kapi.call_kernel(kernel, kapi.Range(8), np.arange(8.0), np.zeros(8))
    assert guard in str(found.value)
    assert "a.shape[0] -" not in str(found.value)


def test_constant_index_beyond_the_start_names_the_least_one():
    with raises(kapi.OutOfBoundsError, "negative-index", line="a[-9]", words=False) as found:
        kapi.call_kernel(last, kapi.Range(8), np.arange(8.0), np.zeros(8))
    assert "write one from -8 on" in str(found.value)


@kapi.device_func
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_recursion_is_listed_once():
    @kapi.kernel
    def fill(item: kapi.Item, a):
        a[item.get_id(0)] = fibonacci(item.get_id(0)) + fibonacci(3)

    with raises(kapi.KernelCompilationError, "recursion", words=False) as found:
        kapi.call_kernel(fill, kapi.Range(3), np.zeros(3))
    assert len(found.value.problems) == 1


@kapi.kernel
def tiled(item: kapi.NdItem, a, tile):
    tile[item.get_local_id(0)] = 1.0
    a[item.get_global_id(0)] = tile[item.get_local_id(0)]


@pytest.mark.parametrize(
    ("group", "cells", "words"),
    [
        (64, 10_000_000, "80000000 bytes of local memory"),
        (64, 6145, "49160 bytes of local memory"),
        (2048, 2048, "work-groups of 2048 work-items"),
    ],
)
def test_launch_that_small_devices_cannot_run_is_noted(group, cells, words):
    with kapi.simulation() as report, pytest.warns(kapi.LimitWarning, match=words):
        kapi.call_kernel(tiled, kapi.NdRange(group, group), np.zeros(group), kapi.LocalAccessor(cells, np.float64))
    assert words in report.text()
    assert "NVIDIA" in report.text()
    assert "what one device lacks" in report.text()


@pytest.mark.parametrize(("group", "cells"), [(1024, 6144), (64, 64)])
def test_launch_that_every_device_runs_is_not_noted(group, cells):
    with kapi.simulation() as report:
        kapi.call_kernel(tiled, kapi.NdRange(group, group), np.zeros(group), kapi.LocalAccessor(cells, np.float64))
    assert "note" not in report.text()


def test_profile_decides_what_a_launch_may_ask():
    profile = kapi.Profile(max_work_group_size=4096, local_mem_size=100_000)
    with kapi.simulation(profile=profile) as report:
        kapi.call_kernel(tiled, kapi.NdRange(2048, 2048), np.zeros(2048), kapi.LocalAccessor(10_000, np.float64))
    assert "note" not in report.text()
    assert "what one device lacks" not in report.text()


def test_limits_that_are_not_checked_are_not_noted():
    with kapi.simulation(checks="none"), warnings.catch_warnings():
        warnings.simplefilter("error")
        kapi.call_kernel(tiled, kapi.NdRange(64, 64), np.zeros(64), kapi.LocalAccessor(10_000, np.float64))


@pytest.mark.parametrize(
    "scope",
    [1.5, None, True, (1,), fibonacci, kapi.plus],
    ids=["float", "None", "bool", "tuple", "function", "operator"],
)
def test_fence_scope_is_a_member_of_its_enumeration(scope):
    @kapi.kernel
    def fenced(item: kapi.NdItem, a):
        kapi.group_barrier(item.get_group(), scope)
        a[item.get_global_id(0)] = 1

    with raises(kapi.KernelCompilationError, "no-enum-member", line="group_barrier", words=False):
        kapi.call_kernel(fenced, kapi.NdRange(4, 4), np.zeros(4))
