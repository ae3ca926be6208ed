"""In `prange` bodies: extrema of elements that iterations share, rows in tuples, and results that go into rows."""

import dpnp
import numpy as np
import pytest
from numba import njit, prange

RANDOM = np.random.default_rng(37)


def kept(highest, lowest, chosen, k, x):
    for i in prange(k.size):
        highest[k[i]] = max(highest[k[i]], x[i] * 2)
        lowest[k[i], 1] = min(lowest[k[i], 1], x[i])
        v = x[i] + 1
        if chosen[k[i]] < v:
            chosen[k[i]] = v


def kept_numbers(highest, narrow, k, x):
    for i in prange(k.size):
        highest[k[i] - 3] = max(highest[k[i] - 3], i)
        narrow[k[i]] = min(narrow[k[i]], x[i])


def iterations(a, b, c, out):
    for i in prange(a.shape[0]):
        for row, weight in ((a[i], 1.0), (b[i], 2.0), (c[i], 3.0)):
            out[i] += weight * row.sum()
        rows = [a[i], b[i]]
        for row in rows:
            row += 1
            for j in range(row.size):
                out[i] += row[j]
        rows[0][0] = rows[1][-1]
        sizes = (a.shape[1], c[i], 2)
        out[i] += sizes[1][sizes[2]] + sizes[0]


def into_rows(a, out):
    for i in prange(a.shape[0]):
        np.add(a[i], 1, out=out[i])
        np.multiply(out[i], a[i], out[i])
        row = out[i]
        np.sqrt(row, row)


def with_nan(count):
    made = RANDOM.random(count) - 0.5
    made[::7] = np.nan
    return made


def bins(count, most=5):
    return RANDOM.integers(0, most, count)


CASES = {
    "kept": (kept, lambda: (with_nan(5), RANDOM.random((5, 2)), RANDOM.random(5, np.float32), bins(99), with_nan(99))),
    "kept numbers": (
        kept_numbers,
        lambda: (np.zeros(5, int), bins(5).astype("int32"), bins(99), bins(99).astype("int32")),
    ),
    "iterations": (iterations, lambda: (*(RANDOM.random((6, 4)) for _ in range(3)), np.zeros(6))),
    "into rows": (into_rows, lambda: (RANDOM.random((6, 4)), np.zeros((6, 4), np.float32))),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_loops_are_kernels(name, launches):
    """And give what Python gives, elements that are no numbers among them."""
    function, arrays = CASES[name]
    on_host = arrays()
    on_device = [dpnp.asarray(each) for each in on_host]
    njit(parallel=True)(function)(*on_device)
    function(*on_host)
    assert launches
    for found, expected in zip(on_device, on_host, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def doubled_and_added(a, k):
    for i in prange(k.size):
        a[k[i]] *= 2
        a[k[i]] += 1


def wider(a, k, x):
    for i in prange(k.size):
        a[k[i]] = max(a[k[i]], x[i])


def read_too(a, k, x):
    for i in prange(k.size):
        a[k[i]] = max(a[k[i]], a[0] + x[i])


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (doubled_and_added, (np.arange(9.0), np.array([3, 1, 4]))),
        (wider, (np.zeros(5, np.int32), np.array([1, 1, 3]), np.array([7, 2, 9]))),
        (read_too, (np.zeros(5), np.array([1, 1, 3]), np.array([7.0, 2.0, 9.0]))),
    ],
)
def test_updates_without_an_atomic_operation_are_the_hosts(function, arrays):
    """A value that wraps around is no extremum; sums and products of one element have an order."""
    with pytest.warns(UserWarning, match="no atomic operation"):
        as_in_python_in_parallel(function, arrays)


def as_in_python_in_parallel(function, arrays):
    on_device = [dpnp.asarray(each) for each in arrays]
    njit(parallel=True)(function)(*on_device)
    on_host = [each.copy() for each in arrays]
    function(*on_host)
    for found, expected in zip(on_device, on_host, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected)
