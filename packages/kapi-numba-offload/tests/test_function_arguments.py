"""Functions that are arguments of an offloaded function: it is made for them, and loops that call them are kernels."""

import dpnp
import numba
import numpy as np
import pytest
from numba import njit, prange


@njit
def square(x, y):
    return (x - y) ** 2


@njit
def separately(x, y):
    return abs(x - y)


def scaled_by(c):
    @njit
    def scaled(x, y):
        return c * x + y

    return scaled


@njit
def applied(f, x, y):
    return f(x, y)


def called(x, y, out, f):
    for i in prange(x.size):
        out[i] = f(x[i], y[i])


def handed_on(x, y, out, f):
    for i in prange(x.size):
        out[i] = applied(f, x[i], y[i])


def named_again(x, y, out, f):
    g = f
    for i in prange(x.size):
        out[i] = g(x[i], y[i])


def by_default(x, y, out, f=square):
    for i in prange(x.size):
        out[i] = f(x[i], y[i])


def in_a_nest(x, y, out, f):
    total = 0.0
    for i in prange(x.size):
        for j in range(y.size):
            total += f(x[i], y[j])
        out[i] = f(x[i], y[0])
    out[0] = total


FUNCTIONS = [called, handed_on, named_again, by_default, in_a_nest]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_loops_that_call_an_argument_are_kernels(function, launches):
    """Each function that is given makes kernels of its own; there is no fallback."""
    host = np.arange(4.0), np.array([1.0, 5.0, 2.0, 7.0])
    dispatcher = numba.njit(function)
    for given in (
        (square,),
        (separately,),
        (scaled_by(3.0),),
        (scaled_by(4.0),),
        () if function is by_default else (square,),
    ):
        expected, found = np.zeros(4), dpnp.full(4, -77.0)
        function(*host, expected, *given)
        launches.clear()
        dispatcher(*map(dpnp.asarray, host), found, *given)
        assert launches
        np.testing.assert_allclose(found.asnumpy(), expected)


@njit
def sum_of_row(row):
    return np.sum(row) + row[-1]


def of_rows(m, out, f):
    for i in prange(m.shape[0]):
        out[i] = f(m[i])


def of_the_full_array(m, out, f):
    out[:] = f(m[:, 0])


@pytest.mark.parametrize("function", [of_rows, of_the_full_array], ids=lambda each: each.__name__)
def test_arguments_that_take_rows_and_arrays(function, launches):
    m, out = np.arange(12.0).reshape(3, 4), np.zeros(3)
    function(m, out, sum_of_row)
    found = dpnp.full(3, -77.0)
    numba.njit(function)(dpnp.asarray(m), found, sum_of_row)
    assert launches
    assert found.asnumpy().tolist() == out.tolist()


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_an_argument_that_is_assigned_anew_is_none():
    """The array that it names is known only when the function runs; the host runs the loop."""

    @njit
    def f(x, y, out, g):
        if x.size > 3:
            g = separately
        for i in prange(x.size):
            out[i] = g(x[i], y[i])

    out = dpnp.zeros(4)
    f(dpnp.arange(4.0), dpnp.ones(4), out, separately)
    assert out.asnumpy().tolist() == [1, 0, 1, 2]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_plain_loops_that_call_an_argument_are_compiled():
    @njit
    def pairs(x, f):
        energy = 0.0
        for i in range(x.shape[0]):
            for j in range(i + 1, x.shape[0]):
                energy += f(x[i], x[j])
        return energy

    x = np.linspace(0, 1, 30)
    assert pairs(dpnp.asarray(x), square) == pytest.approx(pairs.py_func(x, square.py_func))
