"""Functions that an offloaded function defines for itself: they see each value of the variables that they read."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning

A = np.array([3.0, -1.0, 4.0, 1.0, -5.0])


def by_a_factor(a):
    k = a.size

    def inner(x):
        return x * k + 1

    out = np.empty_like(a)
    for i in prange(a.size):
        out[i] = inner(a[i])
    return out


def by_an_array(a):
    doubled = a * 2
    inner = lambda i: doubled[i] + 1  # noqa: E731  # this is what is tested
    out = np.empty_like(a)
    for i in prange(a.size):
        out[i] = inner(i)
    return out


def within_an_iteration(a):
    out = np.empty_like(a)
    for i in prange(a.size):
        t = a[i] * 2

        def inner(x):
            return x * t  # noqa: B023  # each iteration has its own

        out[i] = inner(2.0)
    return out


@pytest.mark.parametrize("function", [by_a_factor, by_an_array, within_an_iteration])
def test_functions_of_outer_variables_are_part_of_a_kernel(function, launches):
    found = numba.njit(function)(dpnp.asarray(A))
    np.testing.assert_array_equal(found.asnumpy(), function(A))
    assert launches


def assigned_in_each_iteration(a):
    t = 0.0

    def inner(x):
        return x * t

    for i in range(a.size):
        t = a[i]
        a[i] = inner(2.0)
    return a * t


def added_in_each_iteration(a):
    t = 0.0
    inner = lambda x: x * t  # noqa: E731  # this is what is tested
    for i in range(a.size):
        t += a[i]
        a[i] = inner(2.0)
    return a * t


def what_each_iteration_assigns(a):
    t = 0.0

    def inner(x):
        return x * t

    out = np.empty_like(a)
    for i in prange(a.size):
        t = a[i]
        out[i] = inner(2.0)
    return out


@pytest.mark.parametrize("function", [assigned_in_each_iteration, added_in_each_iteration, what_each_iteration_assigns])
def test_a_loop_stays_where_a_function_reads_what_it_assigns(function):
    """Moved into a function of its own, it would assign a variable of that."""
    with pytest.warns(OffloadFallbackWarning, match="what a function reads that is defined outside of it"):
        found = numba.njit(function)(dpnp.asarray(A))
    np.testing.assert_array_equal(found.asnumpy(), function(A.copy()))


M = np.random.default_rng(3).random((6, 5)) * 4 - 2


def loops_over_rows(a, o):
    s = 5.0

    def square(x):
        return x * x

    def total(row):
        s = 0.0
        for j in range(row.shape[0]):
            s += square(row[j])
        return s

    norm = lambda r: np.sqrt((r * r).sum())  # noqa: E731  # this is what is tested
    for i in prange(a.shape[0]):
        o[i] = total(a[i]) + norm(a[i, 1:]) + s


def by_name_and_by_default(a, o):
    def pick(row, k=1, scale=-2):
        if k > 2:
            return row[-1] * scale
        return row[k] * scale

    for i in prange(a.shape[0]):
        o[i] = pick(a[i]) + pick(a[i], 2) + pick(a[i], k=3) + pick(scale=i, row=a[i])


def on_some_paths(a, o):
    def pick(row, k):
        return row[k]

    for i in prange(a.shape[0]):
        o[i] = pick(a[i], i - 1) if i > 0 else 0.5
        k = 0
        while k < 5 and pick(a[i], k) > 0:
            k += 1
        if i > 1 and pick(a[i], i - 2) > 0:
            o[i] += 1
        o[i] += k


def rows_of_rows(a, o):
    def doubled(row):
        return row * 2

    for i in prange(a.shape[0]):
        o[i] = doubled(a[i])[1] + doubled(a[i, 1:]).sum()


def rows_and_stores(a, o):
    def fill(row, out):
        for j in range(row.shape[0]):
            out[j] = row[j] + 1

    def last(i):
        return a[i, -1]

    for i in prange(a.shape[0]):
        o[i] = last(i)
        row = a[i]

        def ends(k):
            return row[k] + row[-k - 1]  # noqa: B023  # each iteration has its own

        o[i] += ends(0) + ends(1)
        fill(a[i], a[i])


@numba.njit
def scaled(row, k=1, scale=2.0):
    return row[k] * scale


def helpers_by_name_and_by_default(a, o):
    for i in prange(a.shape[0]):
        o[i] = scaled(a[i]) + scaled(a[i], 2) + scaled(a[i], scale=3.0) + scaled(row=a[i], k=-1)


@pytest.mark.parametrize(
    "function",
    [
        loops_over_rows,
        by_name_and_by_default,
        on_some_paths,
        rows_of_rows,
        rows_and_stores,
        helpers_by_name_and_by_default,
    ],
)
def test_functions_of_rows_are_part_of_a_kernel(function, launches):
    """Each call gives what Python gives, its arguments by position, by name or as defaults."""
    on_host, on_device = np.zeros(6), dpnp.zeros(6)
    numba.njit(function)(dpnp.asarray(M), on_device)
    function(M.copy(), on_host)
    np.testing.assert_allclose(on_device.asnumpy(), on_host)
    assert len(launches) == 1


def by_name_on_the_host(a, o):
    def pick(row, k=1, scale=2):
        return row[k] * scale

    last = 0.0
    for i in prange(a.shape[0]):
        last = pick(a[i], scale=3) + pick(k=0, row=a[i])
        o[i] = last
    return last


def test_functions_given_arguments_by_name_on_the_host():
    """Numba takes what is given by name as if it were given by position."""
    on_host, on_device = np.zeros(6), dpnp.zeros(6)
    with pytest.warns(OffloadFallbackWarning, match="value-after-loop"):
        found = numba.njit(by_name_on_the_host)(dpnp.asarray(M), on_device)
    assert found == pytest.approx(by_name_on_the_host(M, on_host))
    np.testing.assert_allclose(on_device.asnumpy(), on_host)


@numba.njit
def row_by_another_name(x):
    row = x[0]
    row += 1.0
    return row[0]


@numba.njit
def sorted_in_place(x):
    x[0].sort()
    return x[0, 0]


@numba.njit
def by_an_output(x):
    np.add(x[0], 1.0, x[0])
    return x[0, 0]


@numba.njit
def by_a_function_of_its_own(x):
    return row_by_another_name(x) + row_by_another_name(x)


@numba.njit
def of_its_own(x):
    row = x[0].copy()
    row += 1.0
    return row[0]


@pytest.mark.parametrize(
    "updating", [row_by_another_name, sorted_in_place, by_an_output, by_a_function_of_its_own, of_its_own]
)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_operands_are_read_before_a_function_updates_them(updating):
    """Whether that is a kernel or not, each operand of an expression is what it is where Python reads it."""

    def f(a, o):
        for i in prange(o.shape[0]):
            o[i] = a[i, 0, 0] * 10 + updating(a[i]) + a[i, 0, 1]
            a[i, 0, 1] += updating(a[i])

    a = np.arange(24.0)[::-1].reshape(4, 3, 2).copy()
    expected, o = np.zeros(4), dpnp.zeros(4)
    given = dpnp.asarray(a)
    numba.njit(f)(given, o)
    for i in range(4):
        left = a[i, 0, 0] * 10
        middle = updating.py_func(a[i])
        expected[i] = left + middle + a[i, 0, 1]
        before = a[i, 0, 1]
        a[i, 0, 1] = before + updating.py_func(a[i])
    np.testing.assert_array_equal(o.asnumpy(), expected)
    np.testing.assert_array_equal(given.asnumpy(), a)
