"""dpnp's functions are NumPy's under another name, and functions that name them make arrays."""

import warnings

import dpnp
import numba
import numpy as np
from dpnp import zeros
from numba import prange

import kapi_numba_offload
from kapi_runtime import NdRange, Range

X = np.asarray([[1.0, 4.0], [9.0, 16.0]])


def halved_root(x):
    return dpnp.sqrt(x) / 2


def test_a_prange_loop_takes_dpnps_functions_of_elements_and_rows(launches):
    @numba.njit
    def f(a, found):
        for i in prange(a.shape[0]):
            found[i] = dpnp.sqrt(a[i, 0]) + dpnp.max(a[i]) + halved_root(a[i, 1])

    found = dpnp.empty(2)
    f(dpnp.asarray(X), found)
    assert len(launches) == 1
    np.testing.assert_allclose(found.asnumpy(), np.sqrt(X[:, 0]) + X.max(1) + np.sqrt(X[:, 1]) / 2)


def test_a_loop_on_the_host_takes_dpnps_functions():
    @numba.njit
    def f(a):
        for i in range(1, a.shape[0]):
            a[i] += dpnp.tanh(a[i - 1])

    expected = np.ones(4)
    for i in range(1, 4):
        expected[i] += np.tanh(expected[i - 1])
    a = dpnp.ones(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kapi_numba_offload.OffloadFallbackWarning)
        f(a)
    np.testing.assert_allclose(a.asnumpy(), expected)


def test_a_function_without_arguments_makes_arrays_by_any_name():
    make = dpnp.ones

    @numba.njit
    def imported(n):
        return zeros(n) + 1

    @numba.njit
    def enclosed(n):
        return make(n) * 2

    @numba.njit
    def positional(n):
        return dpnp.zeros(n, np.float32)

    assert [each(3).asnumpy().tolist() for each in (imported, enclosed)] == [[1, 1, 1], [2, 2, 2]]
    assert (type(positional(2)), positional(2).dtype) == (dpnp.ndarray, np.float32)


def test_an_index_space_may_be_the_only_argument():
    @numba.njit
    def same(space):
        return space

    assert same(Range(3, 4)) == Range(3, 4)
    assert same(NdRange((4,), (2,))) == NdRange((4,), (2,))


def test_functions_that_name_neither_stay_with_numba():
    @numba.njit
    def f(n):
        return np.zeros(n)

    assert type(f(2)) is np.ndarray


def test_a_parameter_may_be_keyword_only():
    """Numba takes it as a keyword argument."""

    @numba.njit
    def scaled(a, *, factor=2.0):
        return a * factor

    assert scaled(dpnp.ones(2), factor=3.0).asnumpy().tolist() == [3, 3]


@numba.njit
def indices_of(rows, columns):
    down, right = np.empty((rows, columns), np.uint32), np.empty((rows, columns), np.uint32)
    for i in range(rows):
        down[i, :] = i
    for j in range(columns):
        right[:, j] = j
    return down, right


def test_arrays_that_a_helper_without_arrays_makes_are_on_the_queue_of_the_function():
    """As those are that the function makes itself."""

    @numba.njit
    def f(x):
        down, right = indices_of(x.size, x.size)
        return np.exp(down * right / 16) * x

    x = dpnp.arange(4.0)
    down, right = np.mgrid[0:4, 0:4]
    found = f(x)
    assert isinstance(found, dpnp.ndarray)
    np.testing.assert_allclose(found.asnumpy(), np.exp(down * right / 16) * np.arange(4.0))


def test_an_array_that_a_helper_makes_is_left_alone_where_the_helper_is_given_numpy_s():
    @numba.njit
    def made(table):
        return np.zeros(3) + table

    @numba.njit
    def f(x, table):
        return x + 1, made(table)

    _, found = f(dpnp.arange(4.0), np.ones(3))
    assert isinstance(found, np.ndarray)
