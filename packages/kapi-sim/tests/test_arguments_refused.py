"""A value that is no argument is refused by its name; so is read-only memory, where the kernel stores to it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import kapi_sim as kapi
from kapi_sim.language.array_memory import overlaps_itself
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] += source[i]


def memory_map(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(4))
    return np.load(tmp_path / "a.npy", mmap_mode="r")


def flagged(tmp_path):
    array = np.zeros(4)
    array.flags.writeable = False
    return array


READ_ONLY = [
    (memory_map, "argument-read-only"),
    (flagged, "argument-read-only"),
    (lambda path: np.broadcast_to(np.zeros(1), (4,)), "argument-overlaps-itself"),
]


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(("make", "code"), READ_ONLY, ids=["memmap", "flag", "broadcast_to"])
def test_store_to_an_array_that_may_only_be_read(make, code, checks, tmp_path):
    array, other = make(tmp_path), np.ones(4)
    with kapi.simulation(checks=checks):
        add[4](array, other)  # reading is no store
        assert other.tolist() == [1] * 4
        with raises(kapi.KernelLaunchError, code, line="target[i] += source[i]"):
            add[4](other, array)
    assert np.asarray(array).tolist() == [0] * 4


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(
    ("shape", "strides"), [((4,), (0,)), ((4,), (4,)), ((3, 3), (16, 8)), ((2, 3), (8, 4)), ((2, 2), (8, -8))]
)
def test_store_to_a_view_that_overlaps_itself(shape, strides, checks):
    """NumPy lets one be written."""
    view = as_strided(np.zeros(64)[32:], shape, strides)
    assert view.flags.writeable

    @kapi.kernel
    def fill(item: kapi.Item, out, a):
        out[0] = a[(0,) * 1] if a.ndim == 1 else a[0, 0]
        if out[0] >= 0:
            if a.ndim == 1:
                a[0] = 1
            else:
                a[0, 0] = 1

    with (
        kapi.simulation(checks=checks),
        raises(kapi.KernelLaunchError, "argument-overlaps-itself"),
    ):
        fill[1](np.zeros(1), view)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (np.zeros((1, 2)).view(np.matrix), "argument-array-class"),
        (np.ma.array([1.0], mask=[True]), "argument-array-class"),
        (None, "argument-type"),
        ("abc", "argument-type"),
        ([1, 2], "argument-type"),
        (2**70, "integer-too-wide"),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_what_is_no_argument_is_named(value, code):
    with raises(kapi.DtypeError, code):
        add[1](value, np.zeros(1))


@kapi.kernel
def scale(item: kapi.Item, source, target, factor=2.0, kernel=0):
    i = item.get_id(0)
    target[i] = source[i] * factor + kernel


def test_arguments_may_have_names():
    source, target = np.arange(3.0), np.zeros(3)
    for launch, factor in (
        (lambda: kapi.call_kernel(scale, kapi.Range(3), source, target=target, kernel=1), 2),
        (lambda: scale[3](target=target, source=source, factor=3.0, kernel=1), 3),
        (lambda: kapi.call_kernel_async(scale, kapi.Range(3), [], source, kernel=1, target=target, factor=4.0), 4),
        (lambda: scale.bind(kapi.Range(3), source, kernel=1, target=target)(), 2),
    ):
        target[:] = 0
        launch()
        assert target.tolist() == (source * factor + 1).tolist()


@pytest.mark.parametrize(
    ("launch", "code"),
    [
        (lambda a: scale[1](a, target=a, source=a), "argument-twice"),
        (lambda a: kapi.call_kernel(scale, kapi.Range(1), a, a, width=a), "argument-unknown"),
        (lambda a: kapi.call_kernel_async(scale, kapi.Range(1), [], a, item=a), "argument-unknown"),
        (lambda a: scale.bind(kapi.Range(1), target=a), "argument-count"),
        (lambda a: scale[1](a, a, 1.0, 1, 1, factor=2.0), "argument-twice"),
    ],
)
def test_names_of_arguments_are_those_of_the_kernel(launch, code):
    with raises(kapi.KernelLaunchError, code):
        launch(np.zeros(1))


def shares(shape, strides, size):
    """By looking at each byte."""
    seen = set()
    for index in itertools.product(*map(range, shape)):
        start = sum(i * stride for i, stride in zip(index, strides, strict=True))
        element = set(range(start, start + size))
        if element & seen:
            return True
        seen |= element
    return False


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-40, 40)), min_size=0, max_size=4), st.sampled_from([1, 2, 4, 8])
)
def test_overlap_is_reported_exactly(axes, size):
    shape, strides = tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes)
    assert overlaps_itself(shape, strides, size) == shares(shape, strides, size)


def test_overlap_of_large_arrays_is_reported_at_once():
    assert not overlaps_itself((10**6, 10**6, 100), (8 * 10**8, 800, 8), 8)
    assert overlaps_itself((10**6, 10**6, 101), (8 * 10**8, 800, 8), 8)
    assert not overlaps_itself((10**6, 10**6), (24, 24 * 10**6 + 8), 8)
