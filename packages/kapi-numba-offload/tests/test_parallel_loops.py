"""`prange` loops over USM arrays, against the same Python run over NumPy arrays."""

import math

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.testing.reports import raises

WEIGHT = 0.5


@numba.njit
def square_plus(x, y):
    return x * x + y


def stencil(a, b, n):
    for i in prange(1, n - 1):
        b[i] = square_plus(a[i - 1] + a[i + 1], 1) * WEIGHT


def backwards(a, b, n):
    for i in prange(n - 1, -1, -2):
        b[i] = a[-1 - i] + i


def transpose(a, b, n):
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            b[j, i] = a[i, j] * n


def three_deep(a, b, n):
    for i in prange(2):
        for j in prange(1, 3):
            for k in prange(0, n, 3):
                b[i, j, k] = a[i, j, k] + 100 * i + 10 * j + k


def slices(a, b, n):
    for i in prange(a.shape[0]):
        b[i, :] = a[i, :] * 2 + np.sum(a[i])
        row = a[i]
        b[i, 1:] += row[:-1]
        b[i, 0] = row.max() - np.dot(row, row)


def inner_loops(a, b, n):
    for i in prange(a.shape[0]):
        t = 0.0
        for j in range(n):
            if j == 2:
                continue
            t += math.sqrt(a[i, j])
        while t > 10:
            t /= 2
        b[i] = t


def skips(a, b, n):
    for i in prange(n):
        if a[i] < 3:
            continue
        b[i] = -a[i]


def private_memory(a, b, n):
    for i in prange(n):
        window = np.zeros(3)
        for k in range(3):
            window[k] = a[(i + k) % n]
        b[i] = window[0] + 2 * window[1] + window[2]


def tuple_of_arrays(pair, b, n):
    x, y = pair[0], pair[1]
    for i in prange(n):
        b[i] = x[i] * y[i]


def serial_inner_prange(a, b, n):
    for i in prange(a.shape[0]):
        t = 0.0
        for j in prange(a.shape[1]):
            t += a[i, j]
        b[i] = t


MATRIX = np.arange(12.0).reshape(3, 4)
VECTOR = np.arange(8.0)
CASES = [
    (stencil, VECTOR, np.zeros(8), 8),
    (backwards, VECTOR, np.zeros(8), 8),
    (transpose, MATRIX, np.zeros((4, 3)), 2),
    (three_deep, np.arange(48.0).reshape(2, 3, 8), np.zeros((2, 3, 8)), 8),
    (slices, MATRIX, np.zeros((3, 4)), 0),
    (inner_loops, MATRIX, np.zeros(3), 4),
    (skips, VECTOR, np.zeros(8), 8),
    (private_memory, VECTOR, np.zeros(8), 8),
    (serial_inner_prange, MATRIX, np.zeros(3), 0),
]


@pytest.mark.parametrize(("function", "a", "b", "n"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_loop_gives_what_python_gives(function, a, b, n, launches):
    """One kernel, and the values of the same loop over NumPy arrays."""
    on_host, on_device = b.copy(), dpnp.asarray(b)
    numba.njit(parallel=True)(function)(dpnp.asarray(a), on_device, n)
    function(a, on_host, n)
    np.testing.assert_allclose(on_device.asnumpy(), on_host)
    assert len(launches) == 1


def test_loop_over_arrays_of_a_tuple():
    """Arrays may come in tuples."""
    a, b = dpnp.arange(4.0), dpnp.zeros(4)
    numba.njit(tuple_of_arrays)((a, a + 1), b, 4)
    assert b.asnumpy().tolist() == [0, 2, 6, 12]


def several(a):
    total, largest, smallest, count = 10.0, -np.inf, 100, 0
    for i in prange(a.shape[0]):
        total += a[i] * 2
        total -= 1
        largest = max(largest, a[i])
        smallest = min(a[i], smallest)
        if a[i] > 3:
            count = count + 1
    return total, largest, smallest, count


def bits(a, start):
    x, y, z, p = start, start, start, 1
    for i in prange(len(a)):
        x |= a[i]
        y &= a[i]
        z = z ^ a[i]
        p *= a[i]
    return x, y, z, p


def nested_total(a):
    s = 0
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            s += a[i, j] * (i + 1)
    return s


def test_several_reductions_in_one_loop(launches):
    """Sums, extrema and counts with any initial value, in one kernel; they come back as Python's numbers."""
    values = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.float32)
    found = numba.njit(several)(dpnp.asarray(values))
    assert found == several(values)
    assert [type(each) for each in found] == [float, float, float, int]
    assert len(launches) in (1, 5)  # on a GPU, each of the four has one of its own besides the loop's


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_bitwise_reductions_and_products(dtype):
    """`|`, `&`, `^` and `*` of elements have 64 bits, as in Numba."""
    values = np.array([3, 5, 6, 7], dtype=dtype)
    found = numba.njit(bits)(dpnp.asarray(values), 12)
    assert found == numba.njit(bits)(values, 12)
    assert {type(each) for each in found} == {int}


def test_reduction_over_a_nest_and_many_iterations():
    """More iterations than work-items, over two axes."""
    values = np.arange(300 * 700).reshape(300, 700)
    assert numba.njit(nested_total)(dpnp.asarray(values)) == (values * np.arange(1, 301)[:, None]).sum()


@pytest.mark.parametrize("length", [0, 1, 63, 65])
def test_reduction_of_few_elements(length):
    """No iteration leaves the initial value, a few leave most work-items idle."""
    values = np.arange(length, dtype=np.float64)
    total, largest, _, count = numba.njit(several)(dpnp.asarray(values))
    assert (total, count) == (10 + 2 * values.sum() - length, max(0, length - 4))
    assert largest == (values.max() if length else -np.inf)


def test_time_steps_swap_their_arrays(launches):
    """A loop on the host runs one kernel for each step, arrays change places between."""

    @numba.njit
    def steps(a, b, n):
        for _ in range(n):
            for i in prange(1, a.shape[0] - 1):
                b[i] = (a[i - 1] + a[i + 1]) * 0.5
            a, b = b, a
        return a

    a = np.arange(8.0) ** 2
    expected = steps.py_func(a.copy(), a.copy(), 5)
    result = steps(dpnp.asarray(a), dpnp.asarray(a), 5)
    np.testing.assert_allclose(result.asnumpy(), expected)
    assert len(launches) == 5


def test_elements_are_swapped_in_an_iteration():
    """The right side is read before the left side is written."""

    @numba.njit
    def swap(a, b):
        for i in prange(a.shape[0]):
            a[i], b[i] = b[i], a[i]

    a, b = dpnp.arange(4), dpnp.arange(4) * 10
    swap(a, b)
    assert (a.asnumpy().tolist(), b.asnumpy().tolist()) == ([0, 10, 20, 30], [0, 1, 2, 3])


def test_loop_of_numpy_arrays_runs_on_the_host(launches):
    """In a function with both, a loop over NumPy arrays is Numba's own."""

    @numba.njit
    def both(host, a):
        for i in prange(host.shape[0]):
            host[i] += i
        return a + 1

    host = np.zeros(4)
    result = both(host, dpnp.ones(4))
    assert host.tolist() == [0, 1, 2, 3]
    assert result.asnumpy().tolist() == [2] * 4
    assert len(launches) == 1


def test_loop_that_mixes_numpy_and_usm_arrays_is_refused():
    """Both names and the line."""

    @numba.njit
    def mixed(host, a):
        for i in prange(host.shape[0]):
            a[i] = host[i]

    with raises(ExecutionPlacementError, "arrays-mixed"):
        mixed(np.zeros(4), dpnp.ones(4))
