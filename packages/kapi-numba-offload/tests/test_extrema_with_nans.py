"""Positions of extrema: NumPy's, the first nan where there is one, whatever axis is asked for."""

import itertools

import dpnp
import numba
import numpy as np
import pytest


def positions(a, b):
    return (
        np.argmax(a), np.argmin(a), a.argmax(), a.argmin(), np.argmax(-a), np.argmax(b, axis=0), b.argmin(1),
        np.argmin(b, -1), np.argmax(b, axis=1, keepdims=True), b.argmax(),
    )  # fmt: skip


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32"])
def test_positions_of_extrema_match_numpy(dtype):
    """Of short and long arrays, without nans and with some."""
    compiled = numba.njit(positions)
    for length, has_nans in itertools.product([5, 30_000], [False, True] if dtype != "int32" else [False]):
        rng = np.random.default_rng(length)
        a, b = rng.integers(0, 50, length).astype(dtype), rng.integers(0, 9, (length // 5, 6)).astype(dtype)
        if has_nans:
            a[3::7], b[::3, 2:4], b[1::4, 5] = np.nan, np.nan, np.nan
        found = compiled(dpnp.asarray(a), dpnp.asarray(b))
        for one, other in zip(found, positions(a, b), strict=True):
            np.testing.assert_array_equal(dpnp.asnumpy(one), other)
            assert np.shape(one) == np.shape(other)


def test_dpnps_own_name_is_mended_too():
    @numba.njit
    def f(a):
        return dpnp.argmax(a)

    a = np.ones(1000)
    a[[3, 700]] = np.nan
    assert int(f(dpnp.asarray(a))) == 3


def test_positions_are_stored_where_they_are_asked_for():
    @numba.njit
    def f(a, out):
        np.argmin(a, 0, out)
        return out

    a = np.array([[1.0, np.nan], [np.nan, 2.0], [np.nan, np.nan]])
    out = dpnp.full(2, -1)
    assert f(dpnp.asarray(a), out) is out
    assert out.asnumpy().tolist() == [1, 0]
