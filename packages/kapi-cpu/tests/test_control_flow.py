"""Lanes that part and come together: what each work-item gives is what the simulator says, to the bit."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target

SIZES = (1, 7, 16, 33, 100)


def nested_loops(item: kapi.Item, a, out):
    i = item.get_id(0)
    for j in range(a[i] % 5):
        k = 0
        while k < j + a[i] % 3:
            if (i + k) % 4 == 1:
                k += 2
                continue
            if k > 3:
                break
            out[i] += j * 10 + k
            k += 1
        else:
            out[i] += 1000


def early_returns(item: kapi.Item, a, out):
    i = item.get_id(0)
    if a[i] % 3 == 0:
        return
    out[i] += 1
    for j in range(8):
        if a[i] % 8 == j:
            return
        out[i] += 10
    out[i] += 100


def chains(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i]
    if x % 2 == 0 and (x % 3 == 0 or x > 50):
        x = x // 2
    elif x < 20 or not (x % 5):
        x = -x
    out[i] = x if x > 0 else out[i] - x


def loop_of_no_lane(item: kapi.Item, a, out):
    """Its last block has all lanes that come to it, which are none; what is hoisted out of it is worth a check."""
    i = item.get_id(0)
    rest = kapi.PrivateArray(4, np.int8, fill_zeros=True)
    k = a.shape[0] % 4
    while k < 6 and i // -3 == 3:
        k += 1
        expected = kapi.PrivateArray(1, np.int64, fill_zeros=True)
        kapi.AtomicRef(out, i).compare_exchange(expected, 3)
        rest[i // 2 % 4] = np.gcd(rest[i // 4 % 4], rest[i // 8 % 4])
    out[i] += rest[1]


def collatz(item: kapi.Item, a, out):
    i = item.get_id(0)
    x = a[i]
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        out[i] += 1


def uniform_branches(item: kapi.Item, a, out):
    i = item.get_id(0)
    n = a.shape[0]
    if n % 2:
        for j in range(n):
            if a[i] > j:
                if n > 10:
                    out[i] += a[j]
                else:
                    out[i] -= a[j]
    else:
        out[i] = a[n - 1 - i]


def variables_swap(item: kapi.Item, a, out):
    i = item.get_id(0)
    x, y = 0, 1
    for _ in range(a[i] % 20):
        x, y = y, x + y
    out[i] = x


KERNELS = (nested_loops, early_returns, chains, loop_of_no_lane, collatz, uniform_branches, variables_swap)


def result(call, function, size):
    a, out = np.random.default_rng(size).integers(1, 100, size), np.full(size, 5)
    call(kapi.kernel(function), kapi.Range(size), a, out)
    return out


@cache
def simulated(function, size):
    return result(kapi.call_kernel, function, size)


@pytest.mark.parametrize("lanes", [0, 1, 4, 32])
@pytest.mark.parametrize("function", KERNELS)
def test_work_items_part_and_come_together(function, lanes):
    cpu = Cpu(replace(host_target(), lanes=lanes))
    for size in SIZES:
        found = result(cpu.call, function, size)
        np.testing.assert_array_equal(found, simulated(function, size), f"{size} work-items")


def test_result_does_not_depend_on_the_lane():
    """The last, partial vector computes as the others do."""

    @kapi.kernel
    def kernel(item: kapi.Item, a, out):
        i = item.get_id(0)
        total = a.dtype.type(0)
        for k in range(50):
            total += a[i] * a[i] / (a[i] + k)
        out[i] = total

    a = np.full(131, 0.1234567, np.float32)
    out = np.zeros_like(a)
    Cpu().call(kernel, kapi.Range(131), a, out)
    assert len(set(out.tolist())) == 1


def test_lanes_follow_the_widest_type():
    def kernel(item: kapi.Item, x):
        x[item.get_id(0)] *= 2

    found = {}
    for dtype in (np.float32, np.float64):
        cpu = Cpu()
        cpu.call(kapi.kernel(kernel), kapi.Range(3), np.ones(3, dtype))
        found[dtype] = cpu.lanes[0]
    assert found[np.float32] == 2 * found[np.float64] == host_target().vector_bits // 32


def test_kernel_that_looks_at_no_argument_does_nothing():
    def nothing(item: kapi.Item, a):
        if item.get_id(0) < 0:
            a[0] = 1

    a = np.arange(5)
    Cpu().kapi.call_kernel(kapi.kernel(nothing), kapi.Range(5), a)
    np.testing.assert_array_equal(a, np.arange(5))


def early_bound(item: kapi.Item, a, out):
    i = item.get_id(0)
    is_low = i < a[0] // 3
    if is_low:
        out[i] += 7
    for k in range(a[1] % 5):
        out[i] += k
        if is_low:
            out[i] += 100
    if not is_low:
        out[i] = -out[i]


@pytest.mark.parametrize("first", [0, 9, 30, 60, 1000])
def test_bounds_hold_where_they_were_compared_before(first):
    a = np.arange(45)
    a[:2] = first, 4
    results = []
    for world in (kapi, Cpu(replace(host_target(), lanes=8)).kapi):
        results.append(np.arange(45))
        world.call_kernel(kapi.kernel(early_bound), kapi.Range(45), a, results[-1])
    np.testing.assert_array_equal(results[1], results[0])
