"""Functions of `numba.vectorize` and `numba.guvectorize` over dpnp arrays, called from Python and in `njit` functions.

What is expected is what Numba gives for NumPy arrays.
"""

import warnings

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.run.launching import launches
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_sim.testing.reports import raises


@numba.vectorize
def lazy(x, y):
    return x * y + 1 if x > 2 else y


@numba.vectorize([numba.float64(numba.float64, numba.float64)])
def eager(x, y):
    return x / y + 1


@numba.vectorize([numba.int64(numba.int64), numba.float64(numba.float64)])
def several(x):
    return x + x


@numba.guvectorize([(numba.float64[:], numba.float64[:], numba.float64[:])], "(n),(n)->()")
def inner(x, y, result):
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    result[0] = total


@numba.guvectorize("(n),()->(n)")
def scaled(x, factor, result):
    for k in range(x.shape[0]):
        result[k] = x[k] * factor


@numba.guvectorize([(numba.float64[:], numba.intp[:], numba.float64[:])], "(n),()->(n)")
def shifted(x, by, result):
    for k in range(len(x)):
        result[k] = x[(k + by[0]) % len(x)]


MATRIX = np.arange(1.0, 13).reshape(3, 4)

CALLS = {
    "two arrays": (lazy, (MATRIX, MATRIX)),
    "a number": (lazy, (MATRIX, 2.5)),
    "broadcasting": (lazy, (MATRIX, MATRIX[0])),
    "a column and a row": (lazy, (MATRIX[:, :1], MATRIX[0])),
    "integers": (lazy, (np.arange(5), np.arange(5))),
    "float32": (lazy, (np.arange(5, dtype="float32"), np.arange(5, dtype="float32"))),
    "reversed": (lazy, (MATRIX[::-1, ::2], MATRIX[:, ::2])),
    "a loop of its own types": (eager, (np.arange(5), 2)),
    "one of several loops": (several, (np.arange(5, dtype="int32"),)),
    "another of several loops": (several, (np.arange(5, dtype="float32"),)),
    "empty": (lazy, (np.zeros((0, 3)), np.zeros(3))),
    "rows": (inner, (MATRIX, MATRIX[1])),
    "a number as an array of one": (shifted, (MATRIX, 1)),
    "an array of numbers": (shifted, (MATRIX, np.arange(3))),
    "one row": (inner, (MATRIX[0], MATRIX[1])),
}


@pytest.mark.parametrize("name", CALLS)
def test_vectorized_functions_over_device_arrays_match_numba(name):
    function, given = CALLS[name]
    # What Numba has compiled before is one of its loops for what comes later, so each case has its own function.
    expected = (numba.vectorize(lazy._dispatcher.py_func) if function is lazy else function)(*given)
    with launches() as seen:
        found = function(*(dpnp.asarray(each) if isinstance(each, np.ndarray) else each for each in given))
    assert seen or not np.size(expected)
    assert found.dtype == expected.dtype
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)


def test_results_are_stored_to_arrays_that_are_given():
    a, out = dpnp.asarray(MATRIX), dpnp.zeros((3, 4))
    assert lazy(a, a, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), lazy(MATRIX, MATRIX))
    rows = dpnp.zeros((3, 4))
    scaled(a, 2.0, rows)
    np.testing.assert_array_equal(rows.asnumpy(), MATRIX * 2)


@numba.njit
def in_expressions(a):
    return lazy(a, 2.0) + eager(a, a)


@numba.njit
def in_a_loop(a, out):
    for i in numba.prange(a.size):
        out[i] = lazy(a[i], 3.0) + eager(a[i], 4.0)


def test_offloaded_functions_call_vectorized_functions():
    a = dpnp.asarray(MATRIX)
    np.testing.assert_allclose(in_expressions(a).asnumpy(), in_expressions.py_func(MATRIX))
    out, expected = dpnp.zeros(4), np.zeros(4)
    with launches() as seen, warnings.catch_warnings():
        warnings.simplefilter("error")
        in_a_loop(dpnp.asarray(MATRIX[1]), out)
    assert seen
    in_a_loop.py_func(MATRIX[1], expected)
    np.testing.assert_allclose(out.asnumpy(), expected)


def test_what_vectorized_functions_are_not_given_is_refused():
    a = dpnp.ones(3)
    with raises(KernelCompilationError, "offload-vectorized-keyword"):
        lazy(a, a, where=a > 0)
    with raises(ExecutionPlacementError, "arrays-mixed"):
        lazy(a, np.ones(3))
    with pytest.raises(TypeError):
        eager(a.astype("complex128"), 1.0)
    with pytest.raises(ValueError):
        inner(a, dpnp.ones(4))


def test_numpy_arrays_are_left_to_numba():
    np.testing.assert_array_equal(lazy(MATRIX, 1.0), np.where(MATRIX > 2, MATRIX + 1, 1.0))
