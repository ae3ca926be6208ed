"""Iterations of `prange` loops that a work-group of a GPU does together: rows and other inner loops."""

import math
import warnings

import dpnp
import numba
import numpy as np
import pytest

RANDOM = np.random.default_rng(41)

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")


def softmax(x, y):
    for i in numba.prange(x.shape[0]):
        m = np.max(x[i])
        e = np.exp(x[i] - m)
        y[i] = e / e.sum()


def normalized_in_place(x, y):
    for i in numba.prange(x.shape[0]):
        total = 0.0
        for k in range(x.shape[1]):
            total += x[i, k] ** 2
        length = math.sqrt(total)
        for k in range(x.shape[1]):
            x[i, k] /= length
        y[i, 0] = x[i, -1] + x[i, 0]


def statistics(x, y):
    for i in numba.prange(x.shape[0]):
        y[i, 0] = x[i].mean()
        y[i, 1] = x[i].var()
        y[i, 2] = np.argmax(x[i])
        y[i, 3] = np.argmin(x[i])
        y[i, 4] = np.max(x[i]) - x[i].min()
        y[i, 5] = np.any(x[i] > 0.9)
        y[i, 6] = np.all(x[i] > -1)
        y[i, 7] = np.prod(x[i] * 0.5 + 1)
        y[i, 8] = np.count_nonzero(x[i] > 0.5)


def by_hand(x, y):
    for i in numba.prange(x.shape[0]):
        large, where, count, last = x[i, 0], 0, 0, -1
        for k in range(1, x.shape[1]):
            if x[i, k] >= large:
                large = x[i, k]
                where = k
            if x[i, k] < 0:
                continue
            count += 1
            last = k
        y[i, 0], y[i, 1], y[i, 2] = large, where, count
        y[i, 3] = last
        small = np.inf
        for k in range(x.shape[1] - 1, 2, 1):
            small = min(small, x[i, k])
        for k in range(2, x.shape[1], 3):
            small = min(small, x[i, k])
        y[i, 4] = small


def columns(x, y):
    for j in numba.prange(x.shape[1]):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i, j]
        for i in range(x.shape[0]):
            x[i, j] -= total / x.shape[0]
        y[j, 0] = total


def of_three_axes(x, y):
    a = x.reshape(x.shape[0], 4, -1)
    for i in numba.prange(x.shape[0]):
        y[i, :] = np.max(a[i])
        y[i, 0] = np.argmax(a[i])
        for j in range(1, 4):
            for k in range(j, a.shape[2]):
                a[i, j, k] += a[i, 0, k]


def with_branches(x, y):
    for i in numba.prange(x.shape[0]):
        if x[i, 0] > 0.5:
            y[i, 1] = x[i].sum()
            continue
        for number in range(3):
            x[i] = x[i] * 0.5 + x[i].mean()
            if x[i, 0] > 2:
                break
            y[i, number] = x[i, number]
        else_ = x[i, 1]
        while else_ < 1:
            else_ = else_ * 2 + np.abs(x[i]).sum() + 0.1
        y[i, 4] = else_


def neighbours(x, y):
    for i in numba.prange(x.shape[0]):
        for k in range(1, x.shape[1]):
            x[i, k] = x[i, k] + x[i, k - 1]
        y[i, 0] = x[i].sum()


def with_temporaries(x, y):
    for i in numba.prange(x.shape[0]):
        w = np.empty(9)
        for k in range(9):
            w[k] = x[i, k]
        y[i, 0] = np.median(w) + x[i].sum()


def triangle(x, y):
    for i in numba.prange(x.shape[0]):
        total = 0.0
        for k in range(i, x.shape[1]):
            total += x[i, k]
        for k in range(i):
            total -= x[i, k]
        y[i, 0] = total


def products(x, y):
    m = x[:, : x.shape[0]]
    for i in numba.prange(x.shape[0]):
        v = m @ x[i, : x.shape[0]]
        y[i, :7] = v / np.abs(v).max() + x[i] @ x.T * 0.25
        y[i, 7] = np.sum(np.dot(x[:, 1:], x[i, 1:])) + (x[i, :7] @ m).max()


def symmetric(x, y):
    c = np.zeros((x.shape[1], x.shape[1]))
    for i in numba.prange(x.shape[1]):
        c[i:, i] = c[i, i:] = x[:, i] @ x[:, i:] / (x.shape[0] - 1.0)
    y[:, :] = c[: y.shape[0], -y.shape[1] :]


PROGRAMS = {
    softmax: True, normalized_in_place: True, statistics: True, by_hand: True, columns: True, of_three_axes: True,
    with_branches: True, neighbours: False, with_temporaries: False, triangle: True,
    products: False, symmetric: True,
}  # fmt: skip
"""The programs, and whether work-groups can do their iterations."""


def are_together(launches):
    """Whether some kernel has work-groups of several work-items for iterations."""
    return any(getattr(space, "local_range", (1,))[0] > 1 for kernel, space, _ in launches if "line" in kernel.__name__)


def run(function, x):
    """Arrays after a program, on the device and in Python."""
    y = np.zeros_like(x) if function is softmax else np.zeros((x.shape[0], 9))
    ours = dpnp.asarray(x.copy()), dpnp.asarray(y.copy())
    theirs = x.copy(), y.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numba.njit(function)(*ours)
    with np.errstate(all="ignore"):
        function(*theirs)
    return ours, theirs


@pytest.mark.parametrize("length", [9, 250, 375])
@pytest.mark.parametrize("function", PROGRAMS)
def test_results_are_those_of_python(function, length, launches):
    shape = (300 + length, 7) if function is columns else (7, 600 + length if function is symmetric else 4 * length)
    x = RANDOM.random(shape) - 0.1
    ours, theirs = run(function, x)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-10, atol=1e-12)
    assert are_together(launches) == PROGRAMS[function]


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8", "uint64", "bool", "complex128"])
def test_sums_of_each_dtype(dtype, launches):
    @numba.njit
    def f(x, y):
        for i in numba.prange(x.shape[0]):
            y[i] = x[i].sum()

    x = (RANDOM.random((5, 400)) * 5).astype(dtype)
    y = dpnp.zeros(5, dtype=x[0].sum().dtype)
    f(dpnp.asarray(x), y)
    np.testing.assert_allclose(y.asnumpy(), x.sum(1), rtol=1e-5)
    assert are_together(launches) == (dtype != "complex128")


@pytest.mark.parametrize("indices", [(), (0,), (7,), (399,), (5, 300), tuple(range(400))])
def test_nans_come_first(indices, launches):
    @numba.njit
    def f(x, y):
        for i in numba.prange(x.shape[0]):
            y[i, 0], y[i, 1] = np.max(x[i]), np.min(x[i])
            y[i, 2], y[i, 3] = np.argmax(x[i]), np.argmin(x[i])
            y[i, 4], y[i, 5] = np.nanmax(x[i]), np.nanmin(x[i])
            most = x[i, 0]
            for k in range(x.shape[1]):
                most = max(most, x[i, k])
            y[i, 6] = most

    x = RANDOM.integers(0, 5, (3, 400)).astype("float64")
    x[1, list(indices)] = np.nan
    y = dpnp.zeros((3, 7))
    f(dpnp.asarray(x), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [x.max(1), x.min(1), x.argmax(1), x.argmin(1), np.nanmax(x, 1), np.nanmin(x, 1)]
    most = [max(row.tolist()) if not np.isnan(row[0]) else np.nan for row in x]
    np.testing.assert_array_equal(y.asnumpy(), np.stack([*expected, most], 1))
    assert are_together(launches)


def test_reductions_of_the_parallel_loop(launches):
    def f(x):
        total, most = 0.0, -np.inf
        for i in numba.prange(x.shape[0]):
            own = 0.0
            for k in range(x.shape[1]):
                own += x[i, k]
                total += x[i, k] * 2
            most = max(most, own)
        return total, most

    x = RANDOM.random((3000, 70))
    np.testing.assert_allclose(numba.njit(f)(dpnp.asarray(x)), f(x))
    assert are_together(launches)


def test_rows_without_elements(launches):
    def f(x, y):
        for i in numba.prange(y.size):
            total = 2.5
            for k in range(min(i, x.shape[0])):
                total += x[k]
            y[i] = total

    x, y = np.ones(90), np.zeros(200)
    expected, found = y.copy(), dpnp.asarray(y)
    numba.njit(f)(dpnp.asarray(x), found)
    f(x, expected)
    np.testing.assert_array_equal(found.asnumpy(), expected)


def test_one_array_by_two_names():
    """The rows of one array that is read and stored to by two names are computed one after the other."""

    def f(x, y):
        for i in numba.prange(x.shape[0]):
            for k in range(1, x.shape[1]):
                y[i, k] = x[i, k - 1] + 1

    x = np.zeros((4, 300))
    a = dpnp.asarray(x)
    numba.njit(f)(a, a)
    f(x, x)
    np.testing.assert_array_equal(a.asnumpy(), x)


def both_signs(x, y, n):
    for i in numba.prange(x.shape[0]):
        for k in range(y.shape[1]):
            x[i, k - n] = y[i, k]


def counter_of_both_signs(x, y, n):
    for i in numba.prange(x.shape[0]):
        for k in range(-n, n):
            x[i, k] += y[i, k + n] * x[i, k]


def reversed_rows(x, y, n):
    for i in numba.prange(x.shape[0]):
        for k in range(n):
            x[i, n - 1 - k] += y[i, k]
        for k in range(x.shape[1] - 1):
            x[i, x.shape[1] - k - 2] *= y[i, k]


def shifted_rows(x, y, n):
    for i in numba.prange(x.shape[0]):
        for k in range(n, y.shape[1]):
            x[i, k - n] = y[i, k]
        x[i, 0] += x[i, 1]


@pytest.mark.parametrize("function", [both_signs, counter_of_both_signs, reversed_rows, shifted_rows])
def test_iterations_together_have_no_element_from_both_ends(function, launches):
    x, y = RANDOM.random((3, 400)), RANDOM.random((3, 800))
    ours = dpnp.asarray(x), dpnp.asarray(y), 400
    numba.njit(function)(*ours)
    function(x, y, 400)
    np.testing.assert_array_equal(ours[0].asnumpy(), x)
    assert are_together(launches) == function.__name__.endswith("_rows")


def test_many_short_rows_are_work_items(launches):
    numba.njit(softmax)(dpnp.ones((50, 8)), dpnp.zeros((50, 8)))
    assert not are_together(launches)
