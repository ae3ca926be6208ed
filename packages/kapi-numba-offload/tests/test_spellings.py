"""Everyday spellings of Python and NumPy in `prange` loops: one kernel, and what Python gives over NumPy's arrays."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.random((6, 5)) * 4 - 2
OTHER = RANDOM.random((6, 5))


def rounded_numbers(a, b, o):
    x = 0.127
    for i in prange(a.shape[0]):
        o[i] = np.round(a[i, 0], 2) + np.around(a[i, 1], decimals=i % 3) + np.round(a[i, 2])
        o[i] += np.round(a[i, 3] * 1000, -2) + np.round(i * 7, -1) + np.round(x, 2) * np.float32(0.3)
        b[i, 0] = np.round(np.float32(a[i, 4]), 1) * a[i, 0]


def rounded_rows(a, b, o):
    for i in prange(a.shape[0]):
        b[i] = np.round(a[i], 2) + a[i].round(1) + np.around(a[i] * 3)
        t = np.round(a[i], 1)
        o[i] = np.round(a[i], decimals=1).sum() + np.round(a[i].mean(), 3) + t[0] + t[-1]


def assigned_in_conditions(a, b, o):
    for i in prange(a.shape[0]):
        if (x := a[i, 0]) > 1:
            o[i] = x
        elif (y := x * 2) > 0 and (z := y + 1) > 0:
            o[i] = y + z
        else:
            o[i] = -x
        if (p := a[i, 1]) > 0 and (q := p * 2) > 1:
            o[i] += p + q
        if (row := b[i])[0] > 0.5:
            o[i] += row.sum()


def assigned_in_loops(a, b, o):
    for i in prange(a.shape[0]):
        k = 0
        while (x := a[i, 0] - k) > 0.5:
            k += 1
        o[i] = x + k
        k = 0
        while k < 5 and (y := a[i, 1] - k) > 0.5:
            k += 1
            if k == 3:
                continue
            o[i] += y
        o[i] += k


def assigned_in_values(a, b, o):
    for i in prange(a.shape[0]):
        o[i] = (y := (x := a[i, 0]) * 2) + x + y
        z = 5.0
        o[i] += z + (z := a[i, 1]) + z


FUNCTIONS = [rounded_numbers, rounded_rows, assigned_in_conditions, assigned_in_loops, assigned_in_values]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_spellings_are_kernels(function, as_in_python, launches):
    as_in_python(function, [MATRIX.copy(), OTHER.copy(), np.zeros(6)], rtol=1e-13)
    assert len(launches) == 1


def test_rounding_matches_numpy(launches):
    """Halves, more digits than a type has, and what is not finite; to digits before and after the point."""

    @numba.njit
    def f(a, digits, o):
        for i in prange(a.shape[0]):
            for j in range(digits.shape[0]):
                o[i, j] = np.round(a[i], digits[j])

    digits = np.arange(-6, 14)
    for dtype in (np.float64, np.float32):
        special = [1e30, -1e15 + 0.5, np.nan, np.inf, 0.0, -0.0, 2.675, 1.005]
        a = np.concatenate([RANDOM.integers(-2000, 2000, 500) / 8, RANDOM.random(500) * 100, special]).astype(dtype)
        o = dpnp.zeros((a.size, digits.size), dtype=dtype)
        f(dpnp.asarray(a), dpnp.asarray(digits), o)
        with np.errstate(over="ignore"):
            expected = np.stack([np.round(a, each) for each in digits], 1)
        np.testing.assert_array_equal(o.asnumpy(), expected)
    assert len(launches) == 2
