"""Divisions of integers in vectors: of any numbers, of neighbours by one number, and under masks."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes

import kapi_sim as kapi
from kapi_cpu import host_target

DTYPES = [np.int16, np.int32, np.uint32, np.int64, np.uint64]
SIZE = 700


def divided(item: kapi.Item, a, b, quotients, remainders, rest):
    i = item.get_id(0)
    quotients[i] = a[i] // b[i]
    remainders[i] = a[i] % b[i]
    if a[i] > b[i]:
        rest[i] = (a[i] + rest[i]) % (b[i] | 1) + a[i] // 7 - a[i] % 10


def neighbours(item: kapi.Item, start, divisor, out):
    i = item.get_id(0)
    n = start + i
    out[i, 0] = n // divisor
    out[i, 1] = n % divisor
    out[i, 2] = (3 * n) % divisor
    if i % 3 == 1:
        out[i, 3] = n // (divisor + 1)


def numbers(dtype):
    """Small ones, those at powers of two, and any."""
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    powers = [2**k + d for k in range(info.bits) for d in (-1, 0, 1)]
    edges = [each for each in [*powers, *(-power for power in powers)] if info.min <= each <= info.max]
    anywhere = rng.integers(info.min, info.max, SIZE // 4, dtype=dtype, endpoint=True)
    small = rng.integers(max(info.min, -40), 40, SIZE // 4).astype(dtype)
    return rng.choice(np.concatenate([np.array(edges, dtype), anywhere, small, small]), SIZE)


@pytest.mark.nightly(one_in=6)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_and_remainders_are_exact(dtype, shape):
    a = numbers(dtype)
    b = np.random.default_rng(1).permutation(numbers(dtype))
    # Products of the divisor, and their neighbours: the quotients next to integers.
    with np.errstate(all="ignore"):
        a[::5] = (a[::5] // b[::5]) * b[::5]
        a[1::5] = (a[1::5] // b[1::5]) * b[1::5] - dtype(1)
        rest = np.arange(SIZE).astype(dtype)
        wanted = a // b, a % b, rest.copy()
        on = a > b
        wanted[2][on] = ((a + rest) % (b | dtype(1)) + a // dtype(7) - a % dtype(10))[on]
    found = np.zeros(SIZE, dtype), np.zeros(SIZE, dtype), rest
    Cpu(replace(host_target(), **SHAPES.get(shape, {}))).call(kapi.kernel(divided), kapi.Range(SIZE), a, b, *found)
    for one, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, right)


@pytest.mark.nightly(one_in=6)
@pytest.mark.parametrize("shape", ["", *shapes()])
@pytest.mark.parametrize("divisor", [1, 2, 7, 15, 16, 17, 63, 64, 100, 2**40, -1, -5, -(2**62), -(2**63), 0])
def test_neighbours_have_the_quotients_of_each(divisor, shape):
    """Also where they begin below zero, and beyond the integers that a float holds."""
    for start in (0, 5, -3, -(2**40), 2**51, 2**61):
        out = np.zeros((70, 4), np.int64)
        cpu = Cpu(replace(host_target(), **SHAPES.get(shape, {})))
        cpu.call(kapi.kernel(neighbours), kapi.Range(70), start, divisor, out)
        with np.errstate(all="ignore"):
            n, d = np.arange(70) + start, np.int64(divisor)
            right = np.stack([n // d, n % d, 3 * n % d, np.where(np.arange(70) % 3 == 1, n // (d + 1), 0)], axis=1)
        np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("divisor", [1, 4, 7, 100, 2**40, 2**63, 2**63 + 1, 2**64 - 2])
def test_neighbours_without_signs_have_the_quotients_of_each(divisor):
    for start in (0, 2**61, 2**63 - 30, 2**64 - 71):
        out = np.zeros((70, 4), np.uint64)
        Cpu().call(kapi.kernel(neighbours), kapi.Range(70), np.uint64(start), np.uint64(divisor), out)
        n, d = np.arange(70, dtype=np.uint64) + np.uint64(start), np.uint64(divisor)
        last = np.where(np.arange(70) % 3 == 1, n // (d + np.uint64(1)), np.uint64(0))
        np.testing.assert_array_equal(out, np.stack([n // d, n % d, np.uint64(3) * n % d, last], axis=1))


def alternated(item: kapi.Item, out):
    i = item.get_id(0)
    s = 0.3
    for _ in range(i % 3):  # LLVM computes the last quotient of the loop, and uses none
        s = 1 - s
    out[i] = s


def test_loops_as_long_as_a_remainder_of_neighbours_need_no_quotient():
    for dtype in (np.float64, np.int64):
        out = np.ones(12, dtype)
        Cpu().call(kapi.kernel(alternated), kapi.Range(12), out)
        np.testing.assert_allclose(out, np.array([0.3, 0.7, 0.3] * 4).astype(dtype))
