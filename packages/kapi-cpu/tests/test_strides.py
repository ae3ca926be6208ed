"""Accesses of neighbours that are a constant apart: every second element, and the reverse order."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cpu_backend import Cpu

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
