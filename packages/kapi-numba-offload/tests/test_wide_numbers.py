"""Python's integers with arrays whose type does not hold them: an error, as NumPy has it, or an exact comparison."""

import dpnp
import numpy as np
import pytest
from numba import njit


@njit
def added(a, n):
    return a + n


@njit
def added_in_place(a, n):
    a += n
    return a


@njit
def stored(a, n):
    a[1:] = n
    return a


@njit
def stored_sums(a, n):
    a[:] = n + 1
    return a


@njit
def least(a, n):
    return np.minimum(a, n)


@njit
def summed(a, n):
    return np.sum(a * n)


@njit
def second(a, n):
    b = a + 1
    c = b * n
    return c


@njit
def in_iterations(a, n):
    for k in range(3):
        a += n * (k * 40)
    return a


@njit
def filled(a, n):
    return np.full_like(a, n)


@njit
def compared(a, n):
    return (a < n) + (n <= a) * 2 + (a == n) * 4


@njit
def stored_literals(a, n):
    a[:] = 300
    return a


FUNCTIONS = [
    added,
    added_in_place,
    stored,
    stored_sums,
    least,
    summed,
    second,
    in_iterations,
    filled,
    compared,
    stored_literals,
]


@pytest.mark.nightly(one_in=3)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint64"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_numbers_match_numpy_or_are_refused(function, dtype):
    """One after the other: what was found for a number that fits says nothing of one that does not."""
    for number in (3, 300, -1, 2**40, 2):
        on_host = np.array([1, 2, 3], dtype)
        try:
            expected = function.py_func(on_host.copy(), number)
        except OverflowError:
            with pytest.raises(OverflowError):
                function(dpnp.asarray(on_host), number)
            continue
        found = function(dpnp.asarray(on_host), number)
        if expected.ndim == 0:
            assert type(found) is type(expected.item())
        else:
            assert found.dtype == expected.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(found), expected)
