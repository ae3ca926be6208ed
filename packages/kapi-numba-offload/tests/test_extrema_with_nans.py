"""Positions of extrema: NumPy's, the first of equal ones, or the first nan, whatever axis is asked for."""

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


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("function", [np.argmax, np.argmin])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64", "complex128"])
def test_positions_in_arrays_of_one_value_are_the_first(function, dtype):
    """Also where it is the least value of the dtype, or the largest, or all but the last elements are."""
    compiled = numba.njit(lambda a: (function(a), function(a, axis=0), function(a, axis=1)))
    kind = np.dtype(dtype).kind
    values = [False, True] if kind == "b" else [-np.inf, np.inf, np.nan, 0]
    if kind in "iu":
        values = [np.iinfo(dtype).min, np.iinfo(dtype).max, 1]
    for shape, value, last in itertools.product([(3, 700), (9001, 3)], values, values):
        a = np.full(shape, value, dtype)
        a[-1, -1] = last
        for found, axis in zip(compiled(dpnp.asarray(a)), (None, 0, 1), strict=True):
            np.testing.assert_array_equal(dpnp.asnumpy(found), function(a, axis=axis), f"{shape} {value} {last}")


DTYPES = "bool int8 uint64 float16 float32 float64 complex64 complex128".split()


def of_expressions(a, b):
    return np.argmax(np.abs(a - b)), np.argmin(a + b, axis=0), (a[:, ::-1] * b).argmax(-1, keepdims=True), a.argmin()


def of_bools(a, b):
    return np.argmax(a & b), np.argmin(a | b, axis=0), (a[:, ::-1] > b).argmax(-1, keepdims=True), a.argmin()


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("is_gpu", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_of_expressions_are_kernels(dtype, is_gpu, launches, request):
    """Of equal elements, nans, infinities, and the ends of integer types."""
    if is_gpu:
        request.getfixturevalue("as_on_a_gpu")
    rng = np.random.default_rng(len(dtype))
    function = numba.njit(of_bools if dtype == "bool" else of_expressions)
    for shape in (1, 2), (9, 40), (2, 9000), (9000, 2):
        a, b = (rng.integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype) for _ in range(2))
        if a.dtype.kind in "fc" and a.size > 2:
            a.flat[rng.integers(0, a.size, 3)] = np.nan, np.inf, -np.inf
            b.flat[rng.integers(0, a.size, 1)] = complex(0, np.nan) if a.dtype.kind == "c" else np.nan
        elif a.dtype.kind in "iu":
            a.flat[-1], b.flat[-1] = np.iinfo(dtype).min, np.iinfo(dtype).max
        launches.clear()
        with np.errstate(all="ignore"):
            expected = function.py_func(a, b)
        found = function(dpnp.asarray(a), dpnp.asarray(b))
        assert len(launches) >= len(expected)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(dpnp.asnumpy(one), other, err_msg=f"{shape} {number}")
            assert np.shape(one) == np.shape(other)


def test_positions_take_one_launch_or_two(launches, as_on_a_gpu):
    """The first one is found where nothing but the least and the greatest value stands, and nothing but nans."""
    f = numba.njit(lambda a: (np.argmax(a), np.argmin(a)))
    for count, value in itertools.product((1, 8192, 8193), (-np.inf, np.inf, np.nan)):
        launches.clear()
        assert f(dpnp.full(count, value)) == (0, 0)
        assert len(launches) == (4 if count > 8192 else 2)
    with pytest.raises(ValueError, match=r"empty|zero-size"):
        f(dpnp.ones(0))


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
