"""Helpers that return from within a loop: written out in the loop's kernel, and their indices count from the end."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning
from kapi_numba_offload.run.launching import launches as collected

RANDOM = np.random.default_rng(5)


@numba.njit
def first_above(a, k):
    for j in range(3):
        if a[k - j] > 0.5:
            return a[k - j - 1]
    return a[k]


@numba.njit
def walked_down(a, k):
    k = np.int64(k)
    while True:
        k -= 1
        if a[k] > 0.3 or k < -3:
            return a[k] + a[k - 1]


@numba.njit
def found_in_rows(m, i, low):
    for j in range(m.shape[0]):
        for k in range(m.shape[1]):
            if m[j - 1, k - i] > low:
                return m[j - 1, k - i]
            if k > 5:
                break
    return -1.0


@numba.njit
def index_in_rows(m, low):
    for j in range(m.shape[0]):
        k = 0
        while k < m.shape[1]:
            if m[j, k - 2] > low:
                return j, k
            k += 1
    return -1, -1


@numba.njit
def any_above(a, low):
    for x in a:
        if x > low:
            return True
    return False


@numba.njit
def fill_until(a, out, i):
    for j in range(a.shape[0]):
        if a[i - j] > 0.9:
            return
        out[i - j - 1, i] = a[i - j]


@numba.njit
def chain(a, k):
    value = first_above(a, k)
    for j in range(4):
        if value > a[k - j]:
            if value > 0.8:
                return value
            return walked_down(a, k)
    return value


@numba.njit
def otherwise(a, k):
    for j in range(2):
        if a[k - j] > 0.95:
            return 1.0
    else:
        k = k - 1
    return a[k]


def of_elements(helper):
    @numba.njit(parallel=True)
    def run(a, out):
        for i in prange(a.shape[0]):
            out[i] = helper(a, i)

    return run


@numba.njit(parallel=True)
def of_rows(m, out):
    for i in prange(m.shape[0]):
        out[i] = found_in_rows(m, i, 0.97)


@numba.njit(parallel=True)
def of_indices(m, out):
    for i in prange(m.shape[0]):
        j, k = index_in_rows(m, i / 10)
        out[i] = 100 * j + k


@numba.njit(parallel=True)
def of_truths(m, out):
    for i in prange(m.shape[0]):
        out[i] = 2.0 if any_above(m[i], 0.9) else 1.0


@numba.njit(parallel=True)
def of_stores(m, out):
    for i in prange(m.shape[0]):
        fill_until(m[i], out, i)


def compare(function, a, out, where):
    """The same over NumPy's arrays, which Numba takes, and on the device."""
    expected = out.copy()
    function(a, expected)
    found = dpnp.asarray(out)
    with collected() as seen:
        function(dpnp.asarray(a), found)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    assert bool(seen) == (where == "kernel")


@pytest.mark.parametrize("helper", [first_above, walked_down, chain, otherwise])
def test_helpers_of_one_axis(helper):
    compare(of_elements(helper), RANDOM.random(50), np.zeros(50), "kernel")


@pytest.mark.parametrize("function", [of_rows, of_indices, of_truths])
def test_helpers_of_rows(function):
    compare(function, RANDOM.random((9, 7)), np.zeros(9), "kernel")


def test_helpers_that_store():
    """Each fills a column of its own."""
    compare(of_stores, RANDOM.random((6, 6)), np.zeros((6, 6)), "kernel")


@numba.njit
def deep(a, k):
    twice = lambda x: x * 2.0  # noqa: E731  # a `def` is the same
    return twice(a[k - 3])


@numba.njit
def counted(a, k):
    twice = lambda x: x * 2.0  # noqa: E731
    total = 0.0
    for j in range(1, 4):
        total += twice(a[j]) * k
    return total


def test_what_is_not_written_out_has_no_index_from_the_end():
    """A function with a nested function is called; a kernel there would read outside the array."""
    with pytest.warns(OffloadFallbackWarning, match="indices may count from the end"):
        compare(of_elements(deep), RANDOM.random(50), np.zeros(50), "host")
    compare(of_elements(counted), RANDOM.random(50), np.zeros(50), "kernel")
