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


def what_each_turn_assigns(a):
    t = 0.0

    def inner(x):
        return x * t

    for i in range(a.size):
        t = a[i]
        a[i] = inner(2.0)
    return a * t


def what_each_turn_adds(a):
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


@pytest.mark.parametrize("function", [what_each_turn_assigns, what_each_turn_adds, what_each_iteration_assigns])
def test_a_loop_stays_where_a_function_reads_what_it_assigns(function):
    """Moved into a function of its own, it would assign a variable of that."""
    with pytest.warns(OffloadFallbackWarning, match="what a function reads that is defined outside of it"):
        found = numba.njit(function)(dpnp.asarray(A))
    np.testing.assert_array_equal(found.asnumpy(), function(A.copy()))
