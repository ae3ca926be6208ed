"""Numbers that a loop on the host leaves are NumPy's or Python's, as the same loop in Python leaves them."""

import dpnp
import numba
import numpy as np
import pytest

pytestmark = [
    pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning"),
    pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning"),
]


def running_sum(a, b):
    s = 0.0
    for i in range(1, b.size):
        b[i] += b[i - 1]
        s += b[i]
    return a * s


def last_element(a, b):
    x = b[0]
    for i in range(1, b.size):
        b[i] += b[i - 1]
        x = b[i]
    return a + x


def count(a, b):
    n = 0
    for i in range(1, b.size):
        b[i] += b[i - 1]
        if b[i] > 2:
            n += 1
    return a * n


def position(a, b):
    k = 0
    for i in range(1, b.shape[0]):
        b[i] += b[i - 1]
        k = i
    return a * k


def through_another(a, b):
    s, t = 0.0, 0.0
    for i in range(1, b.size):
        b[i] += b[i - 1]
        s = t * 2
        t = b[i]
    return a * s


def python_s_own(a, b):
    s = 0.0
    for i in range(1, b.size):
        b[i] += b[i - 1]
        s += float(b[i]) * 0.5
    return a * s


def pairs(a, b):
    x, n = b[0], 0
    for i in range(1, b.size):
        b[i] += b[i - 1]
        x, n = b[i], i
    return a * x, a * n


FUNCTIONS = [running_sum, last_element, count, position, through_another, python_s_own, pairs]
TYPES = [("float32", "float64"), ("float16", "float32"), ("int8", "uint8"), ("int32", "int64"), ("float32", "float32")]
# A variable that holds Python's float first and an integer later has one type for Numba, and two in Python.
# Each function has half of the pairs of dtypes by day, the next one the other half, and all of them at night.
CASES = [
    pytest.param(function, dtypes, marks=() if (row + column) % 2 == 0 else pytest.mark.nightly)
    for row, function in enumerate(FUNCTIONS)
    for column, dtypes in enumerate(TYPES)
    if function is not through_another or "int" not in dtypes[1]
]


@pytest.mark.parametrize(("function", "dtypes"), CASES)
def test_numbers_of_a_host_loop_have_the_type_that_they_have_in_python(function, dtypes):
    """By the dtype of what is computed with them."""
    arrays = [np.arange(1, 5).astype(dtype) for dtype in dtypes]
    expected = function(*(array.copy() for array in arrays))
    found = numba.njit(function)(*map(dpnp.asarray, arrays))
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for wanted, got in zip(expected, found, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got.asnumpy(), wanted)


def test_numbers_of_a_host_loop_keep_the_type_that_they_came_with():
    """A NumPy scalar before a loop is one after it."""

    def f(a, b):
        s = np.float64(1.5)
        for i in range(1, b.size):
            b[i] += b[i - 1]
            s += i
        return a * s

    a, b = np.ones(3, np.float32), np.ones(3, np.float32)
    assert numba.njit(f)(dpnp.asarray(a), dpnp.asarray(b)).dtype == f(a, b).dtype == np.float64


def one_array_by_two_names(a, b):
    for _ in range(2):
        b = a + abs(b)
        a = b
    return a, b, a


def views_of_a_new_array(a, b):
    for k in range(2):
        c = a + k
        b = c[::-2]
        d = c[1:1]
        row = c.reshape(2, -1)[1]
    return c, b, d, row


def elements_of_a_new_array(a, b):
    c = a + 1
    for i in range(1, a.size):
        c[i] += c[i - 1]
        b = c
        d = b[2:]
    return c, b, d


def new_arrays_by_element(a, b):
    c = a
    for i in range(1, a.size):
        a[i] += a[i - 1]
        c = a + b[i]
        d = c[::2]
        b = c
    return c, b, d


@pytest.mark.parametrize("small", ["0", "100"])
@pytest.mark.parametrize(
    "function", [one_array_by_two_names, views_of_a_new_array, elements_of_a_new_array, new_arrays_by_element]
)
def test_arrays_that_share_memory_after_a_loop_share_it_on_the_device(function, small, monkeypatch):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", small)
    a, b = np.arange(8.0), np.arange(8.0) * 0.5
    expected = function(a.copy(), b.copy())
    found = numba.njit(function)(dpnp.asarray(a), dpnp.asarray(b))
    for position, (one, other) in enumerate(zip(expected, found, strict=True)):
        one += 100 * (position + 1)
        other += 100 * (position + 1)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(other), one)
    identical = [[one is other for other in expected] for one in expected]
    assert small == "0" or [[one is other for other in found] for one in found] == identical


@numba.njit
def at_least(x, low):
    if x < low:
        return low
    return x


def kept_number(a, b):
    least = np.min(a)
    s = least
    for i in range(1, b.size):
        b[i] += b[i - 1]
        s -= b[i]
    return least, s


def number_of_a_helper(a, b):
    least = np.min(a)
    for i in range(1, b.size):
        b[i] += b[i - 1] + at_least(least, 1.5)
        least -= b[i]
    return least, b


@pytest.mark.parametrize("function", [kept_number, number_of_a_helper])
def test_results_of_reductions_are_numbers_in_a_loop(function):
    a, b = np.arange(1.0, 6.0), np.arange(4.0, 9.0)
    expected = function(a.copy(), b.copy())
    found = numba.njit(function)(dpnp.asarray(a), dpnp.asarray(b))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(other), one)
