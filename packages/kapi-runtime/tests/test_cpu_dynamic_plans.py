"""Launches on the CPU over arrays of other shapes than before: their plan submits what the slow path submits."""

from __future__ import annotations

import random

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cpu.dynamic_plan import CpuDynamicPlan
from kapi_runtime.kernels.kernel import PlanTable
from kapi_sim.testing.reports import raises


@pytest.fixture
def planned(monkeypatch):
    """Whether a launch was a dynamic plan's; what is submitted must be what the slow path submits."""
    monkeypatch.setattr(PlanTable, "get", lambda self, space, default=None: default)  # no plan for one index space
    monkeypatch.setattr(PlanTable, "has_room", lambda *_: False)
    monkeypatch.setattr(
        PlanTable, "add", lambda self, space, prepared, tried, given: self._add_dynamic(space, prepared)
    )
    launch_by_plan, taken = CpuDynamicPlan.launch, []

    def spy(self, global_range, given, before):
        events = launch_by_plan(self, global_range, given, before)
        if events:
            taken.append((self.packed(global_range, given), self._submitted(global_range)))
        return events

    monkeypatch.setattr(CpuDynamicPlan, "launch", spy)

    def launch(kernel, space, *given):
        prepared = kernel.prepared(space, given)
        taken.clear()
        kapi.call_kernel(kernel, space, *given)
        if taken:
            submitted = prepared.global_range, prepared.local_range
            assert taken == [(prepared.made.arguments[0], submitted)]
        return bool(taken)

    return launch


def scale(item: kapi.Item, target, source, factor):
    i = item.get_id(0)
    target[i] = source[i] * factor


def reverse_in_group(item: kapi.NdItem, a, part):
    k = item.get_local_id(0)
    part[k] = a[item.get_global_id(0)]
    kapi.group_barrier(item.get_group())
    a[item.get_global_id(0)] = part[part.shape[0] - 1 - k]


def transpose(item: kapi.NdItem, out, a):
    i, j = item.get_global_id(0), item.get_global_id(1)
    out[j, i] = a[i, j] + 1000 * item.get_group().get_group_linear_id()


def test_any_shapes_take_the_plan_of_the_first(planned):
    kernel = kapi.kernel(scale)
    assert not planned(kernel, kapi.Range(5), np.full(5, np.nan), np.ones(5), 2.0)
    for count in (1, 31, 1023, 1024, 1025, 10_000):
        target, source = np.full(count + 3, np.nan), np.arange(count + 7.0)
        assert planned(kernel, kapi.Range(count), target, source, 3.5)
        assert np.array_equal(target[:count], source[:count] * 3.5)
        assert np.isnan(target[count:]).all()


class OwnArray(np.ndarray):
    """An array of a class of a library's own, as kapi-numba-offload has one."""


def test_arrays_of_subclasses_have_plans_of_their_own(planned):
    kernel = kapi.kernel(scale)
    for make in (lambda a: a.view(OwnArray), np.asarray):
        first = True
        for count in (5, 31, 1025):
            target, source = make(np.full(count, np.nan)), make(np.arange(float(count)))
            assert planned(kernel, kapi.Range(count), target, source, 3.5) != first
            first = False
            assert np.array_equal(target, source * 3.5)


def test_random_layouts_give_what_numpy_gives(planned):
    kernel, draw, by_plan = kapi.kernel(scale), random.Random(7), 0
    for _ in range(300):
        count, steps = draw.randint(1, 40), [draw.choice((-3, -1, 1, 2)) for _ in range(2)]
        views = [np.full(count * abs(step), 9.0 + step)[::step] for step in steps]
        by_plan += planned(kernel, kapi.Range(count), *views, 2.0)
        assert (views[0] == (9.0 + steps[1]) * 2).all()
    assert by_plan > 280


def test_groups_and_local_memory(planned):
    kernel = kapi.kernel(reverse_in_group)
    for groups in (1, 2, 7, 100):
        a = np.arange(8 * groups)
        local = kapi.LocalAccessor(8, a.dtype)
        assert planned(kernel, kapi.NdRange(8 * groups, 8), a, local) == (groups > 1)
        assert np.array_equal(a, np.arange(8 * groups).reshape(-1, 8)[:, ::-1].ravel())
    a = np.arange(8)
    assert not planned(kernel, kapi.NdRange(8, 4), a, kapi.LocalAccessor(4, a.dtype))
    assert not planned(kernel, kapi.NdRange(8, 8), a, kapi.LocalAccessor(9, a.dtype))


def test_groups_of_two_dimensions(planned):
    kernel = kapi.kernel(transpose)
    for rows, columns in ((4, 8), (8, 8), (12, 40)):
        a = np.arange(rows * columns).reshape(rows, columns)
        out = np.full((columns, rows), -1)
        assert planned(kernel, kapi.NdRange((rows, columns), (4, 8)), out, a) == (rows > 4)
        assert np.array_equal(out.T % 1000, a % 1000)


def test_other_types_have_plans_of_their_own(planned):
    kernel = kapi.kernel(scale)
    read_only = np.ones(5)
    read_only.flags.writeable = False
    rows = [
        (np.ones(5), np.ones(5), 2.0), (np.ones(5, np.float32), np.ones(5), 2.0), (np.ones(5), np.ones(9)[::2], 2.0),
        (np.ones(5), np.ones(5), 2), (np.ones(5), np.ones(5), np.float32(2)), (np.ones(5), read_only, 2.0),
    ]  # fmt: skip
    for given in rows:
        assert not planned(kernel, kapi.Range(5), *given)
    for given in rows:
        assert planned(kernel, kapi.Range(4), *given)


def test_arrays_that_share_memory_are_left_to_the_slow_path(planned):
    kernel, base = kapi.kernel(scale), np.arange(100.0)
    planned(kernel, kapi.Range(5), np.ones(5), np.ones(5), 2.0)
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        kapi.call_kernel(kernel, kapi.Range(60), base[:60], base[40:], 2.0)
    assert not planned(kernel, kapi.Range(100), base, base, 2.0)
    assert np.array_equal(base, np.arange(100.0) * 2)
    assert planned(kernel, kapi.Range(50), base[:50], base[50:], 1.0)


def test_element_stored_twice_is_refused(planned):
    kernel, once = kapi.kernel(scale), np.ones(1)
    planned(kernel, kapi.Range(3), np.ones(6)[::2], np.ones(3), 2.0)
    wide = np.lib.stride_tricks.as_strided(once, (3,), (0,))
    with raises(kapi.KernelLaunchError, "argument-overlaps-itself"):
        kapi.call_kernel(kernel, kapi.Range(3), wide, np.ones(3), 2.0)


def test_errors_and_empty_ranges_are_those_of_the_slow_path(planned):
    kernel = kapi.kernel(scale)
    planned(kernel, kapi.Range(5), np.ones(5), np.ones(5), 2)
    with raises(kapi.DtypeError, "integer-too-wide"):
        kapi.call_kernel(kernel, kapi.Range(4), np.ones(4), np.ones(4), 2**70)
    with raises(kapi.DtypeError, "argument-dtype"):
        kapi.call_kernel(kernel, kapi.Range(4), np.ones(4), np.ones(4, ">f8"), 2)
    with raises(kapi.KernelLaunchError, "dependent-events"):
        kapi.call_kernel_async(kernel, kapi.Range(4), [3], np.ones(4), np.ones(4), 2)
    assert not planned(kernel, kapi.Range(0), np.ones(0), np.ones(0), 2)
    assert planned(kernel, kapi.Range(3), np.ones(4), np.ones(4), 2)


def test_asynchronous_launch_is_after_its_events(planned):
    kernel, a, b = kapi.kernel(scale), np.ones(300_000), np.ones(300_000)
    planned(kernel, kapi.Range(5), np.ones(5), np.ones(5), 2.0)
    _, first = kapi.call_kernel_async(kernel, kapi.Range(300_000), (), a, b, 3.0)
    host, _ = kapi.call_kernel_async(kernel, kapi.Range(299_999), [first], b, a, 2.0)
    host.wait()
    assert (b[:-1] == 6).all()
    assert b[-1] == 1


def test_index_space_that_comes_again_gets_a_plan_of_its_own():
    kernel = kapi.kernel(scale)
    for count in [*range(1, 200), 150, 150, 150]:
        a = np.ones(count)
        kapi.call_kernel(kernel, kapi.Range(count), a, np.ones(count), 2.0)
        assert (a == 2).all()
    assert kapi.Range(150) in kernel._plans
    assert kapi.Range(120) not in kernel._plans
