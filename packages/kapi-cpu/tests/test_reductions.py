"""Reductions over groups: sixteen partial results whatever the lanes, which are those of the simulator to the bit."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target

OPERATORS = {"plus": np.add, "maximum": np.maximum, "minimum": np.minimum}


def of_groups(operator):
    def kernel(item: kapi.NdItem, a, out):
        i = item.get_global_id(0)
        out[i] = kapi.reduce_over_group(item.get_group(), a[i], operator)

    return kernel


def of_sub_groups(item: kapi.NdItem, a, out):
    i = item.get_global_id(0)
    out[i] = kapi.reduce_over_group(item.get_sub_group(), a[i], kapi.plus)


def expected(values, function):
    """By NumPy, in the order that the pages promise."""
    return reduce(function, [reduce(function, values[first::16]) for first in range(min(16, values.size))])


def numbers(size, dtype):
    return (np.random.default_rng(size).standard_normal(size) * 1000).astype(dtype)


@pytest.mark.parametrize("lanes", [0, 1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.int16])
@pytest.mark.parametrize("name", OPERATORS)
def test_reductions_have_the_order_of_partial_results(name, dtype, lanes):
    kernel = kapi.kernel(of_groups(getattr(kapi, name)))
    for group in (1, 7, 16, 17, 31, 48, 250):
        a = numbers(2 * group, dtype)
        results = []
        for world in (kapi, Cpu(replace(host_target(), lanes=lanes)).kapi):
            results.append(np.zeros_like(a))
            world.call_kernel(kernel, kapi.NdRange(2 * group, group), a, results[-1])
        halves = [expected(half, OPERATORS[name]) for half in np.split(a, 2)]
        for result in results:
            assert result.tobytes() == np.repeat(halves, group).astype(dtype).tobytes()


@pytest.mark.parametrize("size", [8, 16, 32, 64])
@pytest.mark.parametrize("group", [64, 50, 20])
def test_sub_groups_have_the_same_order(group, size):
    kernel = kapi.kernel(sub_group_size=size)(of_sub_groups)
    a, out = numbers(group, np.float32), np.zeros(group, np.float32)
    Cpu().call(kernel, kapi.NdRange(group, group), a, out)
    for first in range(0, group, size):
        part = a[first : first + size]
        np.testing.assert_array_equal(out[first : first + size], expected(part, np.add))


def test_sums_of_nothing_but_negative_zeros_keep_their_sign():
    a, out = np.full(40, -0.0, np.float32), np.ones(40, np.float32)
    Cpu().call(kapi.kernel(of_groups(kapi.plus)), kapi.NdRange(40, 40), a, out)
    assert np.signbit(out).all()


def inclusive(operator):
    def kernel(item: kapi.NdItem, a, out):
        i = item.get_global_id(0)
        out[i] = kapi.inclusive_scan_over_group(item.get_group(), a[i], operator)

    return kernel


def exclusive(operator):
    def kernel(item: kapi.NdItem, a, out):
        i = item.get_global_id(0)
        out[i] = kapi.exclusive_scan_over_group(item.get_group(), a[i], operator)

    return kernel


@pytest.mark.parametrize("lanes", [0, 1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
@pytest.mark.parametrize("name", OPERATORS)
def test_scans_equal_those_of_numpy(name, dtype, lanes):
    cpu = Cpu(replace(host_target(), lanes=lanes))
    for group in (1, 16, 17, 250):
        a, found = numbers(2 * group, dtype), []
        for scan in (inclusive, exclusive):
            found.append(np.zeros_like(a))
            cpu.call(kapi.kernel(scan(getattr(kapi, name))), kapi.NdRange(2 * group, group), a, found[-1])
        right = np.concatenate([OPERATORS[name].accumulate(half) for half in np.split(a, 2)])
        np.testing.assert_array_equal(found[0], right)
        others = np.arange(2 * group) % group > 0
        np.testing.assert_array_equal(found[1][others], right[:-1][others[1:]])
        assert len(set(found[1][~others])) == 1
