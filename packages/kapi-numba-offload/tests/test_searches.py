"""Searches of one number in a row, and rows of evenly spaced numbers, are parts of kernels."""

import dpnp
import numba
import numpy as np
import pytest
from numba import njit, prange

RNG = np.random.default_rng(7)
X = np.concatenate([RNG.random(200) * 12 - 1, [0.0, 1.0, 10.0, 3.0, np.inf, -np.inf, np.nan]])
BINS = np.array([0.0, 1.0, 1.0, 2.5, 3.0, 7.0, 10.0])


def in_bins(x, bins, out):
    for i in prange(x.size):
        out[i] = np.searchsorted(bins, x[i])


def right_of_bins(x, bins, out):
    for i in prange(x.size):
        out[i] = np.searchsorted(bins, x[i], side="right") * 100 + bins.searchsorted(x[i], "left")


@njit
def bin_of(bins, x):
    if x >= bins[-1]:
        return len(bins) - 1
    return np.searchsorted(bins, x, side="right")


def in_a_helper(x, bins, out):
    for i in prange(x.size):
        out[i] = bin_of(bins, x[i])


def in_a_part(x, bins, out):
    for i in prange(x.size):
        out[i] = np.searchsorted(bins[1:5], x[i]) + np.searchsorted(-bins[::-1], -x[i])


def digits(x, bins, out):
    for i in prange(x.size):
        out[i] = np.digitize(x[i], bins) * 100 + np.digitize(x[i], bins, right=True)


def falling_digits(x, bins, out):
    for i in prange(x.size):
        out[i] = np.digitize(x[i], bins[::-1]) * 100 + np.digitize(x[i], bins[::-1], True)


def counted(x, bins, out):
    for i in prange(x.size):
        k = np.searchsorted(bins, x[i], side="right") - 1
        if k >= 0:
            out[k] += 1


FUNCTIONS = [in_bins, right_of_bins, in_a_helper, in_a_part, digits, falling_digits, counted]


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(("values", "bins"), [
    (X, BINS), (X.astype("float32"), BINS.astype("float32")), (X[:200].astype("int32"), BINS.astype("int64")),
    (X, BINS.astype("int16")), (X[:4], np.concatenate([BINS, [np.nan]])), (X[:1], BINS[:1]),
], ids=["float64", "float32", "integers", "both", "nans", "one"])  # fmt: skip
def test_searches_match_numpy(function, values, bins, launches):
    """Nans come last, equal elements count for one side, and bins may fall as well as rise."""
    if np.isnan(bins).any() and function in (digits, falling_digits):
        bins = BINS  # NumPy takes no bins with nans
    expected, found = np.zeros(X.size, "int64"), dpnp.zeros(X.size, dtype="int64")
    with np.errstate(all="ignore"):
        function(values, bins, expected)
    numba.njit(function)(dpnp.asarray(values), dpnp.asarray(bins), found)
    assert launches
    np.testing.assert_array_equal(found.asnumpy(), expected)


def interpolated(x, xp, fp, out):
    for i in prange(x.size):
        out[i] = np.interp(x[i], xp, fp)


def interpolated_with_ends(x, xp, fp, out):
    for i in prange(x.size):
        out[i] = np.interp(x[i], xp, fp * 2, left=-7.0, right=9)


@pytest.mark.parametrize("function", [interpolated, interpolated_with_ends], ids=lambda each: each.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_interpolation_matches_numpy(function, dtype, launches):
    """Also at the ends, beyond them, and with heights that are no finite numbers."""
    points, x = np.unique(BINS), X.astype(dtype) if dtype != "int64" else X[:200].astype(dtype)
    compiled = numba.njit(function)
    for heights in (BINS[::-1] ** 2, np.array([1, np.inf, 2, 3, np.nan, 5, 5])):
        expected, found = np.zeros(X.size), dpnp.zeros(X.size)
        with np.errstate(all="ignore"):
            function(x, points, heights[: points.size], expected)
        launches.clear()
        compiled(dpnp.asarray(x), dpnp.asarray(points), dpnp.asarray(heights[: points.size]), found)
        assert launches
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-14)


def evenly_spaced(x, n, out):
    for i in prange(x.size):
        bins = np.linspace(0.0, 10.0, n)
        out[i] = np.searchsorted(bins, x[i]) + bins[n - 1] + np.sum(np.linspace(0, x[i], 5, endpoint=False))


def test_evenly_spaced_rows_match_numpy(launches):
    x, compiled = X[:200], numba.njit(evenly_spaced)
    for n in (1, 2, 11):
        expected, found = np.zeros(200), dpnp.zeros(200)
        evenly_spaced(x, n, expected)
        launches.clear()
        compiled(dpnp.asarray(x), n, found)
        assert launches
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-14)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_searches_of_several_numbers_are_the_hosts():
    @njit
    def f(x, bins, out):
        for i in prange(x.shape[0]):
            out[i] = np.sum(np.searchsorted(bins, x[i]))

    x, out = X[:200].reshape(20, 10), dpnp.zeros(20, dtype="int64")
    f(dpnp.asarray(x), dpnp.asarray(BINS), out)
    assert out.asnumpy().tolist() == np.searchsorted(BINS, x).sum(axis=1).tolist()
