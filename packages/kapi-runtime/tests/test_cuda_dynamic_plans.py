"""Launches over arrays of other shapes than before: native code gives the driver what the slow path gives it."""

from __future__ import annotations

import ctypes
import random

import numpy as np
import pytest
from cuda_double import InMemory

import kapi_runtime as kapi
from kapi_runtime.cuda.native import cupy_arrays, native_functions
from kapi_runtime.kernels.kernel import PlanTable
from kapi_sim.testing.reports import raises

LAYOUT = {"shape_at": 16, "strides_at": 40, "dtype_at": 64, "data_at": 72, "address_at": 16, "device_at": 24}


class Data(InMemory):
    __slots__ = ("device_id", "ptr")


class Array(InMemory):
    __slots__ = ("data", "dtype", "host", "itemsize", "kept", "ndim", "shape", "strides")
    __module__ = "cupy"

    def __init__(self, host):
        super().__init__()
        self.host, self.data = host, Data()
        self.shape, self.strides, self.dtype = host.shape, host.strides, host.dtype
        self.ndim, self.itemsize = host.ndim, host.itemsize
        self.data.ptr, self.data.device_id = host.ctypes.data, 0
        self.data.write(0, [self.data.ptr, 0])
        self.kept = [(ctypes.c_ssize_t * max(1, host.ndim))(*values) for values in (host.shape, host.strides)]
        for first, held in zip((0, 3), self.kept, strict=True):
            start = ctypes.addressof(held)
            self.write(first, [start, start + 8 * host.ndim, start + 64])
        self.write(6, [id(self.dtype), id(self.data)])

    @property
    def __cuda_array_interface__(self):
        return {**self.host.__array_interface__, "version": 3, "stream": 1}


@pytest.fixture
def planned(gpu, lib, monkeypatch):
    """Whether a launch was a dynamic plan's; what the driver was given must be what the slow path gives it."""
    monkeypatch.setattr(cupy_arrays, "learned_layout", lambda _: LAYOUT)
    monkeypatch.setattr(PlanTable, "get", lambda self, space, default=None: default)  # no plan for one index space
    functions = native_functions.native_functions()
    assert functions is not None, native_functions.why_not()
    calls = []

    def spy(*given):
        calls.append(functions.launch_dynamic(*given))
        return calls[-1]

    monkeypatch.setattr(native_functions, "_made", [functions._replace(launch_dynamic=spy)])

    def launch(kernel, space, *given):
        prepared = kernel.prepared(space, given)
        gpu.packed_size = len(prepared.made.arguments[0])
        prepared.submit([])
        calls.clear()
        kapi.call_kernel_async(kernel, space, (), *given)
        assert gpu.launches[-1] == gpu.launches[-2]
        del gpu.launches[:]
        return any(calls)

    return launch


@kapi.kernel
def scaled(item: kapi.Item, target, source, factor):
    i = item.get_id(0)
    target[i] = source[i] * factor


def fresh(kernel):
    return kapi.kernel(kernel.py_func)


def arrays(*counts, dtype=np.float32):
    return [Array(np.ones(count, dtype)) for count in counts]


def test_new_shape_takes_the_plan_of_the_first(planned):
    kernel = fresh(scaled)
    assert not planned(kernel, kapi.Range(100), *arrays(100, 100), 2.0)
    for count in (1, 31, 33, 255, 257, 10_000, 2**20 + 1):
        assert planned(kernel, kapi.Range(count), *arrays(count, count + 7), 3.5)


def test_launches_with_other_types_have_plans_of_their_own(planned):
    kernel = fresh(scaled)
    strided = [Array(np.ones((count, 3))[:, 1]) for count in (50, 60)]
    rows = [arrays(5, 5), arrays(5, 5, dtype=np.float64), strided, [*arrays(9), strided[0]]]
    for given in rows:
        assert not planned(kernel, kapi.Range(5), *given, 2.0)
    assert not planned(kernel, kapi.Range(5), *arrays(5, 5), 2)  # an int
    for given in rows:
        assert planned(kernel, kapi.Range(6), *given, 2.0)
    assert planned(kernel, kapi.Range(7), *arrays(8, 8), 3)


def test_range_without_work_items_has_no_plan(planned, gpu):
    kernel = fresh(scaled)
    planned(kernel, kapi.Range(5), *arrays(5, 5), 2.0)
    kapi.call_kernel_async(kernel, kapi.Range(0), (), *arrays(0, 0), 2.0)
    assert not gpu.launches


def test_overlap_is_refused_at_any_shape(planned):
    kernel = fresh(scaled)
    planned(kernel, kapi.Range(5), *arrays(5, 5), 2.0)
    base = np.ones(100, np.float32)
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        kapi.call_kernel_async(kernel, kapi.Range(60), (), Array(base[:60]), Array(base[40:]), 2.0)
    strided = Array(np.ones(60, np.float32)[::2])
    planned(kernel, kapi.Range(5), strided, *arrays(5), 2.0)
    twice = Array(np.broadcast_to(np.ones(1, np.float32), 40))
    with raises(kapi.KernelLaunchError, "argument-overlaps-itself"):
        kapi.call_kernel_async(kernel, kapi.Range(40), (), twice, *arrays(40), 2.0)


@kapi.kernel
def grouped(item: kapi.NdItem, target, source, scratch):
    k = item.get_local_id(0)
    scratch[k] = source[k]
    kapi.group_barrier(item.get_group())
    target[k] = scratch[k]


def test_nd_range_has_a_plan_for_any_shapes_and_global_range(planned):
    kernel, scratch = fresh(grouped), kapi.LocalAccessor(64, np.float32)
    assert not planned(kernel, kapi.NdRange(640, 64), *arrays(640, 640), scratch)
    assert planned(kernel, kapi.NdRange(640, 64), *arrays(700, 650), scratch)
    assert planned(kernel, kapi.NdRange(64 * 5000, 64), *arrays(700, 650), scratch)
    assert not planned(kernel, kapi.NdRange(640, 32), *arrays(700, 650), scratch)
    assert not planned(kernel, kapi.NdRange(640, 64), *arrays(640, 640), kapi.LocalAccessor(32, np.float32))


@kapi.kernel
def grouped_2(item: kapi.NdItem, target, source):
    target[item.get_global_id(0), item.get_global_id(1)] = source[item.get_group().get_group_id(1)]


def test_groups_of_two_dimensions_have_a_plan_where_they_are_launched_as_such(planned):
    kernel = fresh(grouped_2)
    for rows in (8, 16, 8 * 65_535):
        given = Array(np.ones((3, rows), np.float32)), *arrays(9)
        is_planned = planned(kernel, kapi.NdRange((rows, 64), (8, 32)), *given)
    assert is_planned


@kapi.kernel
def moved(item: kapi.Item, a, b, c, n):
    a[item.get_id(0)] = b[item.get_id(0)] + c[item.get_id(0)] + n


@kapi.kernel
def moved_2(item: kapi.Item, a, b, c, n):
    i, j = item.get_id(0), item.get_id(1)
    a[i, j] = b[j, i] + c[i, j] + n


@kapi.kernel
def moved_3(item: kapi.Item, a, b, c, n):
    i, j, k = item.get_id(0), item.get_id(1), item.get_id(2)
    a[i, j, k] = b[k, j, i] + c[i, j, k] + n


def view_of(draw, base, rank):
    """Some view of a block: slices of any step and sign, and axes in any order."""
    seen = base
    while seen.ndim > rank:
        seen = seen[draw.randrange(seen.shape[0])]
    cuts = [slice(draw.randrange(2), size - draw.randrange(2), draw.choice((1, 1, 2))) for size in seen.shape]
    seen = seen[tuple(cuts)] if draw.random() < 0.5 else seen
    if draw.random() < 0.2:
        seen = seen[::-1]
    return seen.T if draw.random() < 0.3 else seen


@pytest.mark.parametrize("kernel", [moved, moved_2, moved_3], ids=lambda each: each.__name__)
def test_any_views_and_ranges_are_launched_or_refused_as_by_the_slow_path(planned, kernel):
    draw, rank = random.Random(7), 1 + [moved, moved_2, moved_3].index(kernel)
    blocks = [np.ones((7, 8, 9), np.float32) for _ in range(2)]
    kernel, count = fresh(kernel), 0
    for _ in range(100):
        views = [Array(view_of(draw, draw.choice(blocks), rank)) for _ in range(3)]
        if draw.random() < 0.2:
            views[1] = Array(views[0].host)  # one view
        space = kapi.Range(*(draw.choice((1, 2, 31, 200, 4097, 70_000, 1_000_000)) for _ in range(rank)))
        try:
            kernel.prepared(space, (*views, 1))
        except (kapi.KernelLaunchError, kapi.LimitError) as error:
            with pytest.raises(type(error)):
                kapi.call_kernel_async(kernel, space, (), *views, 1)
        else:
            count += planned(kernel, space, *views, 1)
    assert count > 10, count
