"""Bodies of `prange` loops: helpers with rows, masks, arrays of their own, other loops."""

import math

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning

WIDTH = 3


@numba.njit
def span(edges):
    return edges[-1] - edges[0]


@numba.njit
def bin_of(x, edges):
    n = edges.shape[0] - 1
    if x == edges[-1]:
        return n - 1
    at = int(n * (x - edges[0]) / (edges[-1] - edges[0]))
    if at < 0 or at >= n:
        return -1
    return at


@numba.njit
def total_of(row):
    total = 0.0
    for j in range(row.shape[0]):
        total += row[j]
    return total


def doubled_total(row):
    return np.sum(row * 2)


@numba.njit
def extremes(row):
    return row.min(), row.max()


@numba.njit
def fill(row, value):
    for j in range(row.shape[0]):
        row[j] += value


@numba.njit
def first_then_filled(row):
    row[0] = 100.0
    return 1.0


def last_of_a_helper(a, e, o):
    for i in prange(a.shape[0]):
        o[i] = a[i, 0] + span(e)


def branches_of_a_helper(a, e, o):
    for i in prange(a.shape[0]):
        o[i] = bin_of(a[i, 1], e)


def rows_to_helpers(a, e, o):
    for i in prange(a.shape[0]):
        o[i] = total_of(a[i]) + doubled_total(a[i, 1:])


def tuples_of_helpers(a, e, o):
    for i in prange(a.shape[0]):
        low, high = extremes(a[i])
        o[i] = high - low


def helpers_that_store(a, e, o):
    for i in prange(a.shape[0]):
        fill(a[i], i)


def selected_rows(a, e, o):
    for i in prange(a.shape[0]):
        row = a[i]
        o[i] = row[row > 0.5].sum() + a[i][a[i] < 0.5].size


def selected_by_name(a, e, o):
    for i in prange(a.shape[0]):
        near = np.logical_and(a[i] > 0.2, a[i] < 0.9)
        values = e[near]
        o[i] = values.mean() if len(values) > 0 else -1.0


def selected_by_two_names(a, e, o):
    for i in prange(a.shape[0]):
        low = a[i] < 0.5
        both = low & (e > 0.1)
        o[i] = np.sum(e[both] * a[i][both]) + e[low].prod() + np.count_nonzero(e[low])


def nested(a, e, o):
    for i in prange(a.shape[0]):
        total = 0.0
        for j in prange(a.shape[1]):
            a[i, j] += 1
            total += a[i, j]
        o[i] = total


def arrays_of_constant_length(a, e, o):
    width = 2
    for i in prange(a.shape[0]):
        one = np.zeros(width)
        other = np.ones((WIDTH, width + 1), np.float32)
        one[1] = a[i, 0]
        o[i] = one.sum() + other[2, 2] + one[-1]


def arrays_as_long_as_a_row(a, e, o):
    for i in prange(a.shape[0]):
        kept = np.empty(a.shape[1])
        for j in range(a.shape[1]):
            kept[j] = a[i, a.shape[1] - 1 - j]
        for j in range(a.shape[1]):
            o[i] += kept[j] * e[j]


def several_at_once(a, e, o):
    for i in prange(a.shape[0]):
        for x, y in zip(a[i], e):  # noqa: B905  # kernels have no `strict`
            o[i] += x * y
        for j, y in enumerate(e):
            o[i] += j * y
        for x in a[i].flat:
            o[i] += x


def indices(a, e, o):
    for i in prange(a.shape[0]):
        for j, k in np.ndindex(2, 3):
            if k == 1:
                continue
            o[i] += a[i, j] * k
        for j in np.ndindex(a[i].shape):
            o[i] += a[i][j]


@numba.njit
def counted(row):
    total = 0.0
    for j in range(1, len(row)):
        total += row[j]
    for (j,), x in np.ndenumerate(row):
        total += x * j
    return total


def all_elements(a, e, o):
    for i in prange(o.shape[0]):
        for at in np.ndindex(a.shape):
            o[i] += a[at] * at[1]
        for at, x in np.ndenumerate(a):
            o[i] += x * at[0] - at[1]
        for (j, k), x in np.ndenumerate(a):
            if j == k:
                continue
            o[i] -= x * j
        for at, x in np.ndenumerate(a[i]):
            o[i] += x * at[0] + a[i][at]
        for x in a.flat:
            o[i] += x
        o[i] += counted(a[i])


def adjacent_rows(a, e, o):
    for i in prange(a.shape[0]):
        a[i, :] = np.minimum(a[i, :], a[i, 0] + a[i, :])


def products(a, e, o):
    for _i in prange(1):
        o[:] = a @ e
        e[:] += np.dot(a[0] * 2, a[1:].T[:, ::-1])
        o[1:] -= e @ a[1:].T


FUNCTIONS = [
    last_of_a_helper, branches_of_a_helper, rows_to_helpers, tuples_of_helpers, helpers_that_store, selected_rows,
    selected_by_name, selected_by_two_names, nested, arrays_of_constant_length, arrays_as_long_as_a_row,
    several_at_once, indices, all_elements, adjacent_rows, products,
]  # fmt: skip


def arguments():
    random = np.random.default_rng(11)
    return [random.random((5, 4)), np.asarray([0.0, 0.25, 0.5, 1.0]), np.zeros(5)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_bodies_are_kernels_with_numpy_results(function, launches):
    expected = arguments()
    function(*expected)
    given = [dpnp.asarray(each) for each in arguments()]
    numba.njit(function)(*given)
    assert len(launches) == 1 or function is adjacent_rows  # a statement of all rows at once on a GPU
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other)


def test_a_helper_that_stores_with_another_operand_is_not_written_out():
    """Its left operand is read before it stores."""

    @numba.njit
    def f(a, o):
        for i in prange(a.shape[0]):
            o[i] = a[i, 0] + first_then_filled(a[i])

    a, _, o = arguments()
    given = dpnp.asarray(a), dpnp.asarray(o)
    with pytest.warns(OffloadFallbackWarning, match="not-in-kernel"):
        f(*given)
    np.testing.assert_allclose(given[1].asnumpy(), a[:, 0] + 1)


def test_a_kernel_is_made_for_each_length_of_an_array():
    @numba.njit
    def f(o, n):
        for i in prange(o.shape[0]):
            t = np.ones(n)
            o[i] = t.sum()

    for n in (2, 5, 2):
        o = dpnp.zeros(3)
        f(o, n)
        assert o.asnumpy().tolist() == [n] * 3


def test_an_array_of_many_elements_stays_on_the_host():
    @numba.njit
    def f(o, n):
        for i in prange(o.shape[0]):
            t = np.ones(n)
            o[i] = t.sum()

    o = dpnp.zeros(3)
    with pytest.warns(OffloadFallbackWarning, match="a temporary array of 5000 elements"):
        f(o, 5000)
    assert o.asnumpy().tolist() == [5000] * 3


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32"])
def test_iterations_that_collide_in_an_element_lose_nothing(dtype):
    """A histogram, in each spelling, and sums of columns; each element is that of the loop run in order."""

    @numba.njit
    def f(at, weights, bins, other, columns, matrix):
        for i in prange(at.shape[0]):
            bins[at[i]] += weights[i]
            other[at[i]] = other[at[i]] + 1
            columns[:] += matrix[i]

    random = np.random.default_rng(5)
    at, weights = random.integers(0, 4, 20_000), random.integers(0, 9, 20_000).astype(dtype)
    matrix = random.integers(0, 9, (20_000, 3)).astype(dtype)
    given = [dpnp.asarray(each) for each in (at, weights)]
    bins, other, columns = (dpnp.zeros(size, dtype=dtype) for size in (4, 4, 3))
    f(*given, bins, other, columns, dpnp.asarray(matrix))
    assert bins.asnumpy().tolist() == np.bincount(at, weights).tolist()
    assert other.asnumpy().tolist() == np.bincount(at).tolist()
    assert columns.asnumpy().tolist() == matrix.sum(0).tolist()


WEIGHTS = np.array([1.0, 2.0, 4.0])


def test_a_small_array_from_outside_is_a_constant_of_the_loop(launches):
    offsets = np.array([10, 20])

    @numba.njit(parallel=True)
    def f(a, o):
        for i in prange(a.shape[0]):
            o[i] = a[i] * WEIGHTS[i % 3] + offsets[i % 2]

    a, o = dpnp.arange(9.0), dpnp.zeros(9)
    for weight in (5.0, 1.0):
        WEIGHTS[0] = weight
        f(a, o)
        np.testing.assert_array_equal(o.asnumpy(), np.arange(9.0) * np.resize(WEIGHTS, 9) + np.resize(offsets, 9))
    assert len(launches) == 2


def test_random_numbers_and_bits_of_a_loop_are_those_of_the_host(launches):
    @numba.njit(parallel=True)
    def f(uniform, normal, integers, fused):
        for i in prange(uniform.shape[0]):
            uniform[i] = kapi_runtime.random.uniform(7, i)
            normal[i] = kapi_runtime.random.normal(7, i, dtype=np.float64, stream=2)
            integers[i] = kapi_runtime.random.randint(7, i, -3, 4) + kapi_runtime.clz(integers[i])
            fused[i] = math.fma(fused[i], 10, -1)

    given = dpnp.zeros(50, dtype=np.float32), dpnp.zeros(50), dpnp.ones(50, dtype=np.int32), dpnp.full(50, 0.1)
    f(*given)
    random = kapi_runtime.random
    assert given[0].asnumpy().tolist() == [random.uniform(7, i) for i in range(50)]
    assert given[1].asnumpy().tolist() == [random.normal(7, i, 2, np.float64) for i in range(50)]
    assert given[2].asnumpy().tolist() == [random.randint(7, i, -3, 4) + 31 for i in range(50)]
    assert set(given[3].asnumpy().tolist()) == {2.0**-54}
    assert len(launches) == 1
