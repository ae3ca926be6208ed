"""Sums into elements of small arrays: each work-group of a GPU has a copy in its local memory."""

import dpnp
import numba
import numpy as np
import pytest

RANDOM = np.random.default_rng(29)
COUNT = 20_011

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")


def counts(k, w, h):
    for i in numba.prange(k.size):
        h[k[i]] += 1


def sums(k, w, h):
    for i in numba.prange(k.size):
        if w[i] == 3:
            continue
        h[k[i]] -= w[i]
        h[-1] = h[-1] - 2


def of_a_nest(k, w, h):
    for i in numba.prange(16):
        for j in range(k.size // 16):
            h[k[i * (k.size // 16) + j] % 7] += w[j]


def of_two_arrays(k, w, h):
    g = np.zeros_like(h)
    for i in numba.prange(k.size):
        h[k[i]] += w[i]
        for j in range(2):
            g[j] += w[i]
    h[:] = h + g


def bits(k, w, h):
    for i in numba.prange(k.size):
        h[k[i]] |= w[i]


def plain(k, w, h):
    for i in range(k.size):
        h[k[i]] += w[i]


def read_too(k, w, h):
    for i in numba.prange(k.size):
        if h[0] < 0:
            h[k[i]] += w[i]


def with_a_total(k, w, h):
    total = 0
    for i in numba.prange(k.size):
        h[k[i]] += w[i]
        total += 1
    h[0] += total


DTYPES = dict.fromkeys(
    [counts, sums, of_a_nest, of_two_arrays, read_too, with_a_total], "int32 uint64 int64 float32 float64"
) | {bits: "int32 uint64", plain: "int64 float64"}
"""The dtypes for which each is a kernel."""


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize(("function", "dtype"), [(each, name) for each in DTYPES for name in DTYPES[each].split()])
def test_sums_are_those_of_numpy(function, dtype, launches):
    k, w = RANDOM.integers(-9, 9, COUNT), RANDOM.integers(0, 5, COUNT).astype(dtype)
    h = RANDOM.integers(5, 9, 11).astype(dtype)
    expected, found = h.copy(), dpnp.asarray(h)
    numba.njit(function)(dpnp.asarray(k), dpnp.asarray(w), found)
    with np.errstate(over="ignore"):
        function(k, w, expected)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    has_copies = any("LocalAccessor" in str(args[-1]) for kernel, _, args in launches if "line" in kernel.__name__)
    assert has_copies == (function not in (read_too, with_a_total))


def test_arrays_of_two_axes(launches):
    @numba.njit
    def f(k, h):
        for i in numba.prange(k.shape[0]):
            h[k[i, 0], k[i, 1]] += 1.5

    k, h = RANDOM.integers(-3, 3, (COUNT, 2)), dpnp.asarray(np.ones((3, 5)), order="F")
    expected = h.asnumpy()
    f(dpnp.asarray(k), h)
    f.py_func(k, expected)
    np.testing.assert_array_equal(h.asnumpy(), expected)
    assert "LocalAccessor" in str(launches[0][2][-1])


def test_large_arrays_have_no_copies(launches):
    k, w = RANDOM.integers(0, 9, COUNT), RANDOM.integers(0, 5, COUNT).astype(np.float64)
    expected, found = np.zeros(5000), dpnp.zeros(5000)
    numba.njit(sums)(dpnp.asarray(k), dpnp.asarray(w), found)
    sums(k, w, expected)
    np.testing.assert_array_equal(found.asnumpy(), expected)
    assert not any("LocalAccessor" in str(args[-1]) for _, _, args in launches)
