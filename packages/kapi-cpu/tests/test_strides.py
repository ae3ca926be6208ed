"""Accesses of neighbours that are a constant apart: every second element, and the reverse order."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes

import kapi_sim as kapi
from kapi_cpu import host_target


@cache
def strided(factor):
    def kernel(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = a[factor * i] - a[factor * i + factor - 1]

    return kernel


def backwards(item: kapi.Item, a, out):
    i, n = item.get_id(0), out.shape[0]
    if a[i] > 5:
        out[n - 1 - i] = a[n - 1 - i]


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 15, 16, 70])
def test_strided_elements_are_those_of_each_work_item(dtype, size, lanes):
    cpu = Cpu(replace(host_target(), lanes=lanes))
    for factor in (2, 3, 4, 5):
        a = np.random.default_rng(size).integers(0, 50, factor * size).astype(dtype)
        out = np.zeros(size, dtype)
        cpu.call(kapi.kernel(strided(factor)), kapi.Range(size), a, out)
        np.testing.assert_array_equal(out, a[::factor] - a[factor - 1 :: factor])


@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 15, 16, 70])
def test_reverse_order_is_read_and_written_under_masks(dtype, size, lanes):
    a = np.random.default_rng(size).integers(0, 11, size).astype(dtype)
    out = np.zeros(size, dtype)
    Cpu(replace(host_target(), lanes=lanes)).call(kapi.kernel(backwards), kapi.Range(size), a, out)
    np.testing.assert_array_equal(out, np.where(a[::-1] > 5, a, 0))


def rows(item: kapi.Item, a, x, out, columns):
    i = item.get_id(0)
    total = x[i] * 0
    for k in range(a.shape[1]):
        if a[i, k] > total:
            total += a[i, k]
        out[i, k] = total + a[i, columns[k]] + a[k, i]
    if total > 9:
        for k in range(1, a.shape[1], 2):
            out[i, k - 1] = a[i, k] + x[i]
    for k in range(i % 5):
        total += a[i, k] + a[i % 5, k]
    x[i] = total


def rows_in_numpy(a, x, out, columns):
    for i in range(len(x)):
        total = x[i] * 0
        for k in range(a.shape[1]):
            if a[i, k] > total:
                total += a[i, k]
            out[i, k] = total + a[i, columns[k]] + a[k, i]
        if total > 9:
            out[i, 0 : a.shape[1] - 1 : 2] = a[i, 1::2] + x[i]
        x[i] = total + a[i, : i % 5].sum(dtype=a.dtype) + a[i % 5, : i % 5].sum(dtype=a.dtype)


@pytest.mark.nightly(one_in=6)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("step", [1, -2])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float32, np.int64, np.float64])
def test_strides_of_run_time_are_those_of_each_array(dtype, step, shape):
    """Rows and columns, contiguous or not, also under masks and in loops that lanes leave at different times."""
    size = 41
    rng = np.random.default_rng(size)
    a = rng.integers(0, 3, (size, size * abs(step))).astype(dtype)[:, ::step]
    x, out = rng.integers(0, 9, size * abs(step)).astype(dtype)[::step], np.zeros((size, 2 * size), dtype)[:, ::2]
    columns = rng.permutation(size).astype(np.int32)
    right = [each.copy() for each in (x, out)]
    rows_in_numpy(a, *right, columns)
    Cpu(replace(host_target(), **SHAPES.get(shape, {}))).call(kapi.kernel(rows), kapi.Range(size), a, x, out, columns)
    np.testing.assert_array_equal(x, right[0])
    np.testing.assert_array_equal(out, right[1])
