"""Windows, blocks and shifted rows in `prange` loops: slices within their arrays in all iterations, and others."""

import dpnp
import numpy as np
import pytest
from numba import njit, prange

from kapi_numba_offload.run.launching import launches as collected


def sums(x, w, out):
    for i in prange(x.size - w + 1):
        out[i] = x[i : i + w].sum()


def centred(x, w, out):
    for i in prange(w, x.size - w):
        out[i] = np.mean(x[i - w : i + w + 1])


def before(x, w, out):
    for i in prange(x.size):
        out[i] = x[i - w : i + w].sum()  # from the end, for the first ones


def blocks(x, w, out):
    for i in prange(x.size // w):
        out[i] = x[i * w : (i + 1) * w].max()


def shifted(x, w, out):
    for k in prange(1, x.size - w):
        out[k] = np.sum(x[: x.size - k] * x[k:])


def products(x, w, out):
    kernel = x[:w]
    for i in prange(x.size - w + 1):
        out[i] = np.dot(x[i : i + w], kernel)


def reassigned(x, w, out):
    for i in prange(x.size - w):
        low = i
        high = low + w
        part = x[low:high]
        low = 0
        out[i] = np.median(part) + part[low] + part[1:].sum()


def growing(x, w, out):
    for i in prange(x.size):
        for j in range(2):
            out[i] += x[i + j : i + 2 * j + w].sum()


def spread(x, w, out):
    for i in prange(x.size - w):
        out[i : i + 1] = x[i : i + w].max() - x[i : i + 1]


def first(x, w, out):
    for i in prange(9):
        out[i] = x[i : i + 10 * w].sum() + x[w:].sum()


FUNCTIONS = (first, sums, centred, before, blocks, shifted, products, reassigned, growing, spread)


@pytest.mark.parametrize("function", FUNCTIONS, ids=[each.__name__ for each in FUNCTIONS])
def test_they_are_kernels_with_the_numbers_of_numpy(function):
    offloaded = njit(parallel=True)(function)
    # A kernel for windows within the array is none for others.
    for count, width in [(40, 3), (41, 3), (40, 1), (17, 8), (9, 4), (40, 3)]:
        x = np.random.default_rng(count).random(count)
        expected, found = np.zeros(count), dpnp.zeros(count)
        function(x, width, expected)
        with collected() as seen:
            offloaded(dpnp.asarray(x), width, found)
        assert seen
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)
