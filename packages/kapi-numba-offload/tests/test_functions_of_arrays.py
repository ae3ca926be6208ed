"""Functions of NumPy's that count, sort and interpolate: on the device, with NumPy's results, and without a warning."""

import warnings

import dpnp
import numpy as np
import pytest
from numba import njit, prange

import kapi_numba_offload
import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning


@njit
def counts(k):
    return np.bincount(k)


@njit
def counts_of_ten(k):
    return np.bincount(k, minlength=10)


@njit
def weighted(k):
    return np.bincount(k, np.ones(k.size) / 2)


@njit
def values(x):
    return np.unique(x)


@njit
def values_and_counts(x):
    return np.unique(x, return_inverse=True, return_counts=True)


@njit
def middle(x):
    return np.median(x)


@njit
def third(x):
    return np.percentile(x, 30.0)


@njit
def last(x):
    return np.percentile(x, 100)


@njit
def tenths(x):
    return np.quantile(x, np.array([0.1, 0.9, 1.0, 0.0, 0.55]))


@njit
def of_numbers(x):
    return np.nanpercentile(x, np.array([30.0, 90.0])), np.nanquantile(x, 0.25)


INTEGERS = [
    np.array([1, 2, 2, 5]), np.array([3]), np.array([], np.int64), np.array([1, 2, 2, 5], np.int8),
    np.array([1, 2, 200, 5], np.uint8), np.array([1, 2, 2, 5], np.uint32), np.array([True, False, True]),
    np.arange(9)[::2], np.arange(9)[::-2],
]  # fmt: skip
NUMBERS = [
    np.array([3.0, 1.0, 2.0, 2.0, 7.0]), np.array([3, 1, 2, 2, -7], np.int8), np.array([3, 1, 2, 250], np.uint8),
    np.array([3, 1, 2, 2, 7], np.float16), np.array([3, 1, 0.1, 2, 7], np.float32), np.array([4.0]),
    np.array([3.0, np.nan, 1.0, np.nan, 3.0]), np.array([np.nan]), np.array([np.inf, 1.0, -np.inf, 0.0, -0.0]),
    np.array([2**63 - 1, 5, -(2**63)]), np.arange(12.0).reshape(3, 4) % 5, np.arange(9.0)[::-2],
]  # fmt: skip
ODD = [np.array([]), np.array([True, False, True]), np.array([3 + 1j, 1, 1, 2j])]
CASES = [
    *((function, each) for function in (counts, counts_of_ten, weighted) for each in INTEGERS),
    *((function, each) for function in (values, values_and_counts) for each in (*NUMBERS, *ODD)),
    *((function, each) for function in (middle, third, last, tenths, of_numbers) for each in NUMBERS),
]


def compare(found, expected):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for each, other in zip(found, expected, strict=True):
            compare(each, other)
        return
    if isinstance(expected, np.generic):
        assert type(found) is type(expected.item())
    else:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(dpnp.asnumpy(found) if isinstance(found, dpnp.ndarray) else found, expected)


@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:(invalid value|overflow) encountered")
@pytest.mark.parametrize(("function", "given"), CASES)
def test_functions_of_arrays_give_numpy_s_results(function, given):
    expected = function.py_func(given)
    compare(function(dpnp.asarray(given)), expected)
    with kapi_runtime.device_context("cpu"):
        compare(function(given), expected)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (counts, np.array([1, -1])), (counts, np.array([0.5])), (counts, np.array([[1]])), (third, np.array([])),
        (third, np.array([1j])), (njit(lambda x: np.quantile(x, 1.5)), np.ones(3)),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_functions_of_arrays_refuse_what_numpy_refuses(function, given):
    with pytest.raises((ValueError, TypeError, IndexError)) as expected:
        function.py_func(given)
    with pytest.raises(expected.type):
        function(dpnp.asarray(given))


@njit
def products(a, x):
    return np.dot(a.T, a @ x)


def test_functions_of_calls_alone_have_no_warning():
    a, x = np.arange(12.0).reshape(3, 4), np.ones(4)
    with kapi_runtime.device_context("cpu"), warnings.catch_warnings():
        warnings.simplefilter("error", OffloadFallbackWarning)
        np.testing.assert_array_equal(products(a, x), a.T @ (a @ x))
        assert {part.where for part in kapi_numba_offload.explain(products, a, x).parts} <= {"numpy", "host"}


def test_statements_that_become_several_kernels_are_explained_as_kernels():
    @njit
    def f(a, b):
        a[:] = a + 1
        b[:] = b * 2
        return a.sum()

    parts = kapi_numba_offload.explain(f, dpnp.ones(4), dpnp.ones(5)).parts
    assert {part.where for part in parts if "[:]" in part.text} == {"kernel"}


def test_one_cause_in_a_function_has_one_warning():
    @njit
    def f(a, b):
        for j in prange(a.shape[0]):
            b[j] = np.partition(a[j], 1)[1]
        for j in prange(a.shape[0]):
            b[j] += np.partition(a[j], 1)[1]
        for j in prange(a.shape[0]):
            b[j] += np.partition(a[j], 2)[2]

    with pytest.warns(OffloadFallbackWarning) as caught:
        f(dpnp.asarray(np.ones((2, 3))), b := dpnp.zeros(2))
    told = [each for each in caught if "not-in-kernel" in str(each.message)]
    assert (len(told), dpnp.asnumpy(b).tolist()) == (2, [3.0, 3.0])
