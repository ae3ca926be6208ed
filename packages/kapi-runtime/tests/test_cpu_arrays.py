"""Launches with arrays in the host's memory: in place, by the CPU's platform, whatever else is installed."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    total[i] = left[i] + right[i]


@kapi.kernel
def add_2d(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    j = item.get_id(1)
    total[i, j] = left[i, j] + right[i, j]


@kapi.kernel
def double(item: kapi.Item, values):
    values[item.get_id(0)] *= 2


def test_numpy_arrays_are_used_in_place():
    left, right, total = np.arange(1000.0), np.ones(1000), np.zeros(1000)
    kapi.call_kernel(add, kapi.Range(1000), left, right, total)
    np.testing.assert_array_equal(total, left + right)


def test_views_with_any_strides_are_used_in_place():
    base = np.arange(24.0).reshape(4, 6)
    left, right = base[::-1, ::2], np.broadcast_to(np.float64(5), (4, 3))
    output = np.full((3, 8), -1.0)
    total = output[:, ::2].T
    kapi.call_kernel(add_2d, kapi.Range(4, 3), left, right, total)
    np.testing.assert_array_equal(total, left + right)
    assert (output[:, 1::2] == -1).all()


def test_array_of_rank_0():
    @kapi.kernel
    def store(item: kapi.Item, cell, value):
        cell[()] = value

    cell = np.array(1.0)
    store[1](cell, 7.5)
    assert cell == 7.5


def test_array_without_elements():
    values = np.empty(0)
    double[kapi.Range(0)](values)
    add[kapi.Range(2)](np.ones(2), np.ones(2), total := np.zeros(2))
    assert total.tolist() == [2, 2]


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_every_type_of_elements(dtype):
    @kapi.kernel
    def copy(item: kapi.Item, source, target):
        target[item.get_id(0)] = source[item.get_id(0)]

    source = np.arange(100).astype(dtype)
    copy[100](source, target := np.zeros_like(source))
    np.testing.assert_array_equal(target, source)


def test_other_byte_order_is_refused_by_name():
    swapped = np.arange(4.0).astype(np.dtype(np.float64).newbyteorder())
    with raises(kapi.DtypeError, "argument-dtype"):
        double[4](swapped)


def test_unaligned_array_is_refused_by_name():
    raw = np.zeros(33, np.uint8)
    with raises(kapi.DtypeError, "array-misaligned"):
        double[4](raw[1:].view(np.float64))


def test_field_of_a_structure_is_refused_by_name():
    records = np.zeros(4, np.dtype([("flag", "u1"), ("value", "f8")]))
    with raises(kapi.DtypeError, "array-misaligned"):
        double[4](records["value"])


def test_read_only_array_is_refused_when_it_is_written_to():
    values = np.ones(4)
    values.flags.writeable = False
    with pytest.raises(kapi.KapiError, match="read-only"):
        double[4](values)
    add[4](values, values, total := np.zeros(4))
    assert total.tolist() == [2] * 4


def test_read_only_array_is_refused_after_launches_with_writable_ones():
    for _ in range(3):
        double[4](values := np.ones(4))
    values.flags.writeable = False
    with pytest.raises(kapi.KapiError, match="read-only"):
        double[4](values)


def test_overlapping_arguments_are_refused():
    base = np.zeros(12)
    add[4](base[0:4], base[4:8], base[8:12])
    with pytest.raises(kapi.KernelLaunchError, match="overlap"):
        add[4](base[0:4], base[4:8], base[2:6])
    add[4](base[0:4], base[4:8], base[0:4])  # one view given twice


def test_array_that_overlaps_itself_is_refused_where_it_is_written():
    with pytest.raises(kapi.KernelLaunchError, match="overlap"):
        double[4](np.lib.stride_tricks.as_strided(np.zeros(4), (4,), (0,)))


def test_subclasses_are_taken_but_for_those_that_kernels_would_misread(tmp_path):
    mapped = np.memmap(tmp_path / "values", np.float64, "w+", shape=(4,))
    mapped[:] = 3
    for factor in (2, 4, 8):
        double[4](mapped)
        assert mapped.tolist() == [3 * factor] * 4
    with raises(kapi.DtypeError, "argument-array-class"):
        double[4](np.ma.masked_array(np.ones(4), [0, 1, 0, 0]))


class Interface:
    """An array of another library, by NumPy's protocol."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Exchanged:
    """An array of another library, by DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**given)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("form", [Interface, Exchanged])
def test_arrays_of_other_libraries_are_used_in_place(form):
    values = np.ones(4)
    double[4](form(values))
    add[4](form(values), values, total := np.zeros(4))
    assert values.tolist() == [2] * 4
    assert total.tolist() == [4] * 4


class Refused:
    """An array whose interface is none that NumPy takes."""


@pytest.mark.parametrize(
    "interface",
    [
        {"shape": (4,), "typestr": "<f8", "data": (0, False), "version": 3},
        {"shape": (-4,), "typestr": "<f8", "data": (8, False), "version": 3},
        {"shape": (4,), "typestr": "<f8", "data": (8, False), "strides": (8, 8), "version": 3},
        {"shape": (4,), "typestr": "what", "data": (8, False), "version": 3},
        {"shape": (2**80,), "typestr": "<f8", "data": (8, False), "version": 3},
        {"shape": "x"},
        {},
    ],
)
def test_interface_that_is_none_is_refused_by_name(interface):
    value = Refused()
    value.__array_interface__ = interface
    with raises(kapi.DtypeError, "argument-array-class"):
        double[4](value)


def test_members_of_tuples():
    @kapi.kernel
    def scale(item: kapi.Item, pair, factor):
        pair[1][item.get_id(0)] = pair[0][item.get_id(0)] * factor

    scale[3]((np.arange(3.0), target := np.zeros(3)), 2)
    assert target.tolist() == [0, 2, 4]


class Own(np.ndarray):
    """A class of arrays that adds nothing."""


def test_columns_of_a_matrix_have_one_plan(slow_path):
    @kapi.kernel
    def add(item: kapi.Item, x, y):
        i = item.get_id(0)
        y[i] += x[i]

    matrix = np.ones((10, 8))
    for j in range(1, 8):
        add[kapi.Range(10)](matrix[:, j - 1], matrix[:, j])
    assert len(slow_path) == 1
    assert (matrix == np.arange(1, 9)).all()


def test_launches_after_the_first_look_at_nothing_twice(slow_path):
    @kapi.kernel
    def twice(item: kapi.Item, values):
        values[item.get_id(0)] *= 2

    for size in (4, 4, 4, 8, 8, 4):
        twice[size](values := np.ones(size))
        assert values.tolist() == [2] * size
    assert len(slow_path) == 2  # one for each index space
    for _ in range(3):
        twice[4](np.ones(4).view(Own))
    assert len(slow_path) == 3  # and for a class of arrays


@pytest.mark.parametrize(
    "other",
    [np.ones(8)[::2], np.ones(4, "f4"), np.ones((4, 1)), np.ones(5)],
    ids=["strides", "dtype", "rank", "shape"],
)
def test_other_arrays_are_not_taken_for_those_of_a_plan(other):
    @kapi.kernel
    def first(item: kapi.Item, source, target):
        target[item.get_id(0)] = source.size

    for _ in range(2):
        first[4](np.ones(4), np.zeros(4))
    first[4](other, target := np.zeros(4))
    assert target.tolist() == [other.size] * 4


def test_numbers_of_a_plan_are_written_anew():
    @kapi.kernel
    def fill(item: kapi.Item, target, real, integer, truth, imaginary):
        target[item.get_id(0)] = real + integer + truth + imaginary

    for step in range(4):
        fill[3](target := np.zeros(3, "c16"), step * 0.5, np.int32(step), step % 2 == 0, 1j * step)
        assert target.tolist() == [step * 0.5 + step + (step % 2 == 0) + 1j * step] * 3
