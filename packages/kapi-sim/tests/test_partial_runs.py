"""Launches of which only some work-groups run, and those that Ctrl-C ends."""

from __future__ import annotations

import gc
import sys
import warnings

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.testing.reports import raises


@kapi.kernel
def mark(item: kapi.NdItem, a):
    a[item.get_global_id(0)] += 1


@kapi.kernel
def mark_each(item: kapi.Item, a):
    a[item.get_id(0), item.get_id(1)] += 1


@kapi.kernel
def mark_with_barrier(item: kapi.NdItem, a, tile):
    tile[item.get_local_id(0)] = a[item.get_global_id(0)]
    kapi.group_barrier(item.get_group())
    a[item.get_global_id(0)] = tile[1 - item.get_local_id(0)] + 1


def launched(kernel, *arguments, groups, **controls):
    a = np.zeros(20)
    with warnings.catch_warnings(), kapi.simulation(groups=groups, **controls) as report:
        warnings.simplefilter("ignore", kapi.PartialRunWarning)
        kapi.call_kernel(kernel, kapi.NdRange(20, 2), a, *arguments)
    return np.flatnonzero(a).tolist(), report


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("controls", [{}, {"seed": 3}, {"schedules": 2}])
@pytest.mark.parametrize("with_barrier", [False, True])
def test_sample_has_the_first_and_the_last_group(checks, controls, with_barrier):
    kernel, arguments = (mark_with_barrier, (kapi.LocalAccessor(2, float),)) if with_barrier else (mark, ())
    for groups, expected in ((1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9]), (0.3, [0, 4, 9]), (0.01, [0]), (10, range(10))):
        ran, report = launched(kernel, *arguments, groups=groups, checks=checks, **controls)
        assert ran == [2 * group + k for group in expected for k in range(2)]
        assert report.launches[0].work_items == 2 * len(expected)


@cuda.jit
def mark_first(a):
    if cuda.threadIdx.x == 0:
        a[cuda.blockIdx.x % 4] += 1


def test_sample_of_the_largest_grid():
    a = np.zeros(4)
    with warnings.catch_warnings(), kapi.simulation(groups=2):
        warnings.simplefilter("ignore", kapi.PartialRunWarning)
        mark_first[2**31 - 1, 4](a)
    assert a.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("checks", ["all", "none"])
def test_sample_of_a_range_is_of_work_items(checks):
    a = np.zeros((3, 5))
    with pytest.warns(kapi.PartialRunWarning, match="3 of 15 work-items of kernel `mark_each` ran"):
        with kapi.simulation(groups=3, checks=checks):
            kapi.call_kernel(mark_each, kapi.Range(3, 5), a)
    assert np.argwhere(a).tolist() == [[0, 0], [1, 2], [2, 4]]


def test_what_did_not_run_is_said_in_the_report_and_warned_of_once():
    with warnings.catch_warnings(record=True) as caught, kapi.simulation(groups=2) as report:
        warnings.simplefilter("always")
        kapi.call_kernel(mark, kapi.NdRange(20, 2), np.zeros(20))
        kapi.call_kernel(mark, kapi.NdRange(20, 2), np.zeros(20))
        kapi.call_kernel(mark, kapi.NdRange(4, 2), np.zeros(4))
    assert len(caught) == 1
    assert report.text().count("not checked: 8 of 10 work-groups, which did not run, ") == 2


def test_dialects_speak_of_their_own_groups():
    @cuda.jit
    def kernel(a):
        a[cuda.grid(1)] = 1

    with pytest.warns(kapi.PartialRunWarning, match="2 of 5 blocks"), kapi.simulation(groups=2) as report:
        kernel[5, 2](np.zeros(10))
    assert "not checked: 3 of 5 blocks, which did not run" in report.text()


def test_error_says_that_it_was_a_sample():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", words=False) as caught:
        with warnings.catch_warnings(), kapi.simulation(groups=2):
            warnings.simplefilter("ignore", kapi.PartialRunWarning)
            kapi.call_kernel(mark, kapi.NdRange(22, 2), np.zeros(20))
    assert "2 of 11 work-groups ran, as `simulation(groups=...)` says" in caught.value.__notes__


@pytest.mark.parametrize("groups", [0, -1, 1.5, True, "2", float("nan"), float("inf")])
def test_sample_must_be_a_number_of_groups_or_a_part(groups):
    with raises(kapi.KernelLaunchError, "simulation-groups", words=groups == 1.5), kapi.simulation(groups=groups):
        pass


class Interrupting:
    """Standard output of a process whose user has just pressed Ctrl-C."""

    def write(self, text):
        raise KeyboardInterrupt

    def flush(self):
        pass


@kapi.kernel
def talk(item: kapi.NdItem, a):
    if item.get_global_id(0) == 5:
        print("five")
    a[item.get_global_id(0)] = 1


@pytest.mark.parametrize("checks", ["all", "none"])
def test_ctrl_c_names_the_kernel_and_the_group(monkeypatch, checks):
    before = gc.get_threshold()
    monkeypatch.setattr(sys, "stdout", Interrupting())
    with kapi.simulation(checks=checks), pytest.raises(KeyboardInterrupt) as caught:
        kapi.call_kernel(talk, kapi.NdRange(20, 2), np.zeros(20))
    assert caught.value.__notes__ == ["interrupted in work-item global (5,), local (1,), group (2,) of kernel `talk`"]
    assert gc.get_threshold() == before
