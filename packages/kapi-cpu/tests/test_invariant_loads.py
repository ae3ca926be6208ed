"""Elements that a loop reads in some iterations: read before it where they exist, and in it where it may write them."""

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi


def but_itself(item: kapi.Item, a, out):
    i = item.get_id(0)
    total = 0.0
    for j in range(a.shape[0]):
        if j != i:
            total += (a[j] - a[i]) * a[j]
    out[i] = total


def outside(item: kapi.Item, a, out):
    i, n = item.get_id(0), a.shape[0]
    total = 0.0
    for j in range(5):
        if i + 3 < n and j != i % 4:
            total += a[i + 3] * j
        elif i >= n // 2:
            total -= a[i - n // 2]
    out[i] = total


def written(item: kapi.Item, a, out):
    i = item.get_id(0)
    for j in range(a.shape[0] % 7 + 2):
        if j % 3 != i % 3:
            out[i] = out[i] * 2 + a[i]
        else:
            out[i] -= a[j % a.shape[0]]


@pytest.mark.parametrize("function", [but_itself, outside, written])
@pytest.mark.parametrize("size", [1, 2, 16, 45])
def test_loads_before_loops_are_those_of_the_simulator(function, size):
    a = np.random.default_rng(size).integers(-9, 9, size) / 4
    results = []
    for world in (kapi, Cpu().kapi):
        results.append(np.ones(size))
        world.call_kernel(kapi.kernel(function), kapi.Range(size), a, results[-1])
    np.testing.assert_array_equal(results[1], results[0])
