"""Rows of two to four elements, such as pixels: loaded and stored whole where nothing is between them."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes

import kapi_sim as kapi
from kapi_cpu import host_target

SIZE = 77


def swapped(item: kapi.Item, a, out):
    i = item.get_id(0)
    x, y, z = a[i, 0], a[i, 1], a[i, 2]
    out[i, 2] = x
    out[i, 0] = y + z
    out[i, 1] = z


def in_place(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i, 0] = a[i, 1]
    out[i, 1] = out[i, 0] + a[i, 0]
    a[i, 0] = out[i, 1]
    a[i, 1] = a[i, 0] + 1
    if a[i, 1] > 5:
        out[i, 0], out[i, 1] = out[i, 1], out[i, 0]


def quadruples(item: kapi.Item, a, out):
    i = item.get_id(0)
    w, x, y, z = a[4 * i], a[4 * i + 1], a[4 * i + 2], a[4 * i + 3]
    out[4 * i] = z
    out[4 * i + 1] = y
    out[4 * i + 2] = max(x, y)
    out[4 * i + 3] = w


def swapped_in_numpy(a, out):
    out[:, 0], out[:, 1], out[:, 2] = a[:, 1] + a[:, 2], a[:, 2], a[:, 0]


def in_place_in_numpy(a, out):
    first = a[:, 0].copy()
    out[:, 0] = a[:, 1]
    out[:, 1] = out[:, 0] + first
    a[:, 0] = out[:, 1]
    a[:, 1] = a[:, 0] + 1
    on = a[:, 1] > 5
    out[on, :2] = out[on, 1::-1]


def quadruples_in_numpy(a, out):
    a, out = a.reshape(-1, 4), out.reshape(-1, 4)
    out[:, 0], out[:, 1], out[:, 2], out[:, 3] = a[:, 3], a[:, 2], np.maximum(a[:, 1], a[:, 2]), a[:, 0]


def arrays(dtype, columns, layout):
    """Two arrays: whole rows, rows of a wider array, rows in the reverse order, or columns that are rows."""
    rng = np.random.default_rng(0)
    made = []
    for wide in (rng.integers(0, 9, (SIZE, 2 * columns)).astype(dtype), np.zeros((SIZE, 2 * columns), dtype)):
        narrow = np.ascontiguousarray(wide[:, :columns])
        views = {
            "whole": narrow, "wide": wide[:, :columns], "reversed": narrow[::-1], "every second": wide[:, ::2],
            "columns": np.asfortranarray(narrow), "apart": wide,
        }  # fmt: skip
        made.append(views[layout])
    return made


@pytest.mark.nightly(one_in=8)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("layout", ["whole", "wide", "reversed", "every second", "columns", "apart"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_rows_of_elements_are_those_of_each_work_item(dtype, layout, shape):
    cpu = Cpu(replace(host_target(), **SHAPES.get(shape, {})))
    for kernel, in_numpy, columns in ((swapped, swapped_in_numpy, 3), (in_place, in_place_in_numpy, 2)):
        given, right = arrays(dtype, columns, layout), arrays(dtype, columns, layout)
        in_numpy(*right)
        cpu.call(kapi.kernel(kernel), kapi.Range(SIZE), *given)
        for one, other in zip(given, right, strict=True):
            np.testing.assert_array_equal(one, other, kernel.__name__)


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_elements_at_constant_distances_are_rows(dtype, shape):
    a, out, right = np.arange(4 * SIZE).astype(dtype), np.zeros(4 * SIZE, dtype), np.zeros(4 * SIZE, dtype)
    quadruples_in_numpy(a, right)
    cpu = Cpu(replace(host_target(), **SHAPES.get(shape, {})))
    cpu.call(kapi.kernel(quadruples), kapi.Range(SIZE), a, out)
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("shape", ["", *shapes()])
def test_complex_numbers_are_rows_of_two(shape):
    def multiplied(item: kapi.Item, a, b, out):
        i = item.get_id(0)
        out[i] = a[i] * b[SIZE - 1 - i]

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (SIZE, 2)).astype(np.float32).view(np.complex64)[:, 0] for _ in range(2))
    out = np.zeros(SIZE, np.complex64)
    cpu = Cpu(replace(host_target(), **SHAPES.get(shape, {})))
    cpu.call(kapi.kernel(multiplied), kapi.Range(SIZE), a, b, out)
    np.testing.assert_array_equal(out, a * b[::-1])


def by_channels(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    weight = a[i, 3]
    for channel in range(3):
        out[i, channel] = a[i, channel] * weight + b[i, channel] * 3
    out[i, 3] = 7


def exchanged(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i, 0] = a[i, 3]
    out[i, 1] = a[i, 2] + a[i, 0]
    out[i, 2] = a[i, 1]
    out[i, 3] = a[i, 0]


def in_order(item: kapi.Item, a, b):
    i = item.get_id(0)
    a[2 * i] = b[2 * i]
    a[2 * i + 1] = b[2 * i + 1] + a[2 * i]
    b[2 * i] = a[2 * i + 1]
    b[2 * i + 1] = 5


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("layout", ["whole", "wide", "reversed", "columns"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_channels_are_those_of_each_pixel_where_arrays_alternate(dtype, layout, shape):
    cpu = Cpu(replace(host_target(), **SHAPES.get(shape, {})))
    (a, out), (b, _) = arrays(dtype, 4, layout), arrays(dtype, 4, layout)
    cpu.call(kapi.kernel(by_channels), kapi.Range(SIZE), a, b, out)
    right = a * a[:, 3:] + b * dtype(3)
    right[:, 3] = 7
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("is_one", [False, True])
def test_what_an_element_was_written_with_is_read_where_arrays_are_one(is_one, shape):
    """Each store of a row is seen by the loads behind it, whether the arrays are the same or not."""
    results = []
    for world in (kapi, Cpu(replace(host_target(), **SHAPES.get(shape, {}))).kapi):
        rng = np.random.default_rng(3)
        a, b = (rng.integers(0, 99, (SIZE, 4)).astype(np.int16) for _ in range(2))
        c, d = (rng.integers(0, 99, 2 * SIZE).astype(np.float32) for _ in range(2))
        b, d = (a, c) if is_one else (b, d)
        world.call_kernel(kapi.kernel(exchanged), kapi.Range(SIZE), a, b)
        world.call_kernel(kapi.kernel(in_order), kapi.Range(SIZE), c, d)
        results.append((a, b, c, d))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
