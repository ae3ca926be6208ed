"""USM arrays that are no dpnp arrays: dpctl's, subclasses, and objects that are known by their protocol alone."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange


class Wrapper:
    """An array by `__sycl_usm_array_interface__` and nothing else."""

    def __init__(self, array):
        self.array = array

    @property
    def __sycl_usm_array_interface__(self):
        return self.array.__sycl_usm_array_interface__


def as_tensor(array):
    return array.get_array()


def total(a):
    return np.sum(a)


def doubled(a):
    return a + a


def in_place(a):
    a += 1
    a[1:] *= 2
    return a, a[0]


def loop(a):
    s = 0.0
    for i in prange(a.shape[0]):
        a[i] = a[i] * 2
        s += a[i]
    return s


def host_loop(a):
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
    return a


def functions(a):
    return np.cumsum(a) - a.max(), a.shape, a.dtype.itemsize, a[::-1] - np.sort(a)


FUNCTIONS = [total, doubled, in_place, loop, host_loop, functions]


def values(found):
    if isinstance(found, tuple):
        return [values(each) for each in found]
    if isinstance(found, Wrapper):
        found = found.array
    if hasattr(found, "sycl_queue"):
        found = dpnp.asarray(found).asnumpy()
    return found.tolist() if isinstance(found, (np.ndarray, np.generic)) else found


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("made", [Wrapper, as_tensor])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_foreign_array_is_one_like_others(function, made):
    """Results and stores are those for dpnp's array of the same memory."""
    memory = dpnp.arange(8.0)[::2]
    expected_memory = np.arange(8.0)[::2]
    assert values(numba.njit(function)(made(memory))) == values(function(expected_memory))
    assert memory.asnumpy().tolist() == expected_memory.tolist()


def test_foreign_array_that_is_returned_is_the_argument():
    """A function returns the same object that was passed, in tuples, too."""
    x = Wrapper(dpnp.arange(3.0))

    def f(a, pair):
        return a, (pair[1], a + 1)

    found, (same, other) = numba.njit(f)(x, (x, x))
    assert found is x
    assert same is x
    assert other.asnumpy().tolist() == [1, 2, 3]
