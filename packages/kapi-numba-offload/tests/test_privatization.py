"""Sums into elements of small arrays: each work-item of a CPU has a row of its own."""

import warnings

import dpnp
import numpy as np
import pytest
from numba import njit, prange

from kapi_numba_offload import OffloadFallbackWarning
from kapi_numba_offload.libraries.arrays import device_facts, queue_of
from kapi_numba_offload.run.launching import launches as collected

RANDOM = np.random.default_rng(17)
COUNT = 20_011
DTYPES = ["int32", "uint32", "int64", "uint64", "float32", "float64"]

IS_CPU = device_facts(queue_of(dpnp.zeros(1))).is_cpu
"""Whether work-items have rows of their own."""


def added(k, w, h):
    for i in prange(k.size):
        h[k[i]] += w[i]


def taken_with_a_jump(k, w, h):
    for i in prange(k.size):
        if k[i] == 1:
            continue
        h[k[i]] -= w[i]


def guarded(k, w, h):
    for i in prange(k.size):
        x = w[i]
        if x > 3:
            h[k[i]] += x


def at_two_indices(k, w, h):
    for i in prange(k.size):
        h[k[i]] += w[i]
        h[-1] += 2


def with_a_reduction(k, w, h):
    total = 0
    for i in prange(k.size):
        h[k[i]] += w[i]
        total += 1
    h[0] += total


def of_a_nest(k, w, h):
    for i in prange(16):
        for j in prange(k.size // 16):
            h[k[i * (k.size // 16) + j]] += w[j]


def of_an_inner_loop(k, w, h):
    for i in prange(k.size):
        for j in range(3):
            h[k[i] - j] += w[i]


FUNCTIONS = [added, taken_with_a_jump, guarded, at_two_indices, with_a_reduction, of_a_nest, of_an_inner_loop]


def run(function, *arrays, options=None):
    """Arrays after a call on the device, and the names of the kernels."""
    given = [dpnp.asarray(each) for each in arrays]
    with warnings.catch_warnings(), collected() as seen:
        warnings.simplefilter("error", OffloadFallbackWarning)
        njit(**options or {})(function)(*given)
    return [each.asnumpy() for each in given], [kernel.__name__ for kernel, *_ in seen]


@pytest.mark.parametrize(
    ("function", "dtype"),
    [*((added, each) for each in DTYPES), *((each, "float32") for each in FUNCTIONS[1:]), (of_a_nest, "int64")],
)
def test_sums_are_those_of_the_loop(function, dtype):
    k = RANDOM.integers(-3, 7, COUNT)
    w = RANDOM.integers(0, 9, COUNT).astype(dtype)
    expected = RANDOM.integers(0, 9, 7).astype(dtype)
    (*_, found), kernels = run(function, k, w, expected)
    with np.errstate(over="ignore"):
        function(k, w, expected)
    np.testing.assert_array_equal(found, expected)
    assert ("add_up" in kernels) == IS_CPU


def both(k, w, h):
    for i in prange(k.size):
        h[k[i]] &= w[i]


def either(k, w, h):
    for i in prange(k.size):
        h[k[i]] |= w[i]


def one_of_both(k, w, h):
    for i in prange(k.size):
        h[k[i]] ^= w[i]


@pytest.mark.parametrize("function", [both, either, one_of_both])
def test_bits_are_those_of_the_loop(function):
    k, w, expected = (RANDOM.integers(0, most, size) for most, size in ((5, COUNT), (2**62, COUNT), (2**62, 5)))
    w |= RANDOM.integers(0, 2**62, COUNT) | RANDOM.integers(0, 2**62, COUNT)
    (*_, found), kernels = run(function, k, w, expected)
    function(k, w, expected)
    np.testing.assert_array_equal(found, expected)
    assert ("add_up" in kernels) == IS_CPU


def of_a_matrix(k, w, h):
    for i in prange(k.size):
        h[k[i], i % h.shape[1], -1] += w[i]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("indices", ["int32", "uint8", "uint64"])
def test_elements_of_several_axes(order, indices):
    k, w = RANDOM.integers(0, 5, COUNT).astype(indices), RANDOM.integers(0, 9, COUNT) * 1.0
    expected = np.zeros((5, 3, 2), order=order)
    (*_, found), kernels = run(of_a_matrix, k, w, expected)
    np.add.at(expected, (k.astype(int), np.arange(COUNT) % 3, -1), w)
    np.testing.assert_array_equal(found, expected)
    assert ("add_up" in kernels) == IS_CPU


def test_what_is_not_summed_into_stays_bit_for_bit():
    """The sign of a zero, and what is no number; a sum that includes one is none."""
    h = np.array([-0.0, np.nan, np.inf, 1.0, -0.0])
    k = np.full(COUNT, 3)
    w = np.zeros(COUNT)
    w[7] = np.nan
    (*_, found), kernels = run(added, k, w, h)
    assert ("add_up" in kernels) == IS_CPU
    assert np.signbit(found[[0, 4]]).all()
    np.testing.assert_array_equal(found, [0.0, np.nan, np.inf, np.nan, 0.0])


def read_elsewhere(k, w, h):
    for i in prange(k.size):
        h[0] += k[i]
        w[i] = h.size + h[1]


def index_of_itself(k, w, h):
    for i in prange(k.size):
        h[h[1]] += k[i]


def two_operations(k, w, h):
    for i in prange(k.size):
        h[2] += k[i]
        h[3] |= 4


@pytest.mark.parametrize("function", [read_elsewhere, index_of_itself, two_operations])
def test_an_array_with_another_use_keeps_its_atomics(function):
    k, w, expected = np.ones(COUNT, np.int64), np.zeros(COUNT, np.int64), np.zeros(4, np.int64)
    (_, stored, found), kernels = run(function, k, w, expected)
    function(k, w, expected)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(stored, w)
    assert "add_up" not in kernels


def test_an_array_under_two_names_keeps_its_atomics():
    """An element that is read may be one that was added to."""

    @njit
    def f(k, w, h):
        for i in prange(k.size):
            h[k[i]] += w[0] - w[0] + 1

    k = RANDOM.integers(0, 3, COUNT)
    for is_one in (True, False):
        h = dpnp.zeros(3, dtype=np.int64)
        with collected() as seen:
            f(dpnp.asarray(k), h if is_one else dpnp.ones(3, dtype=np.int64), h)
        assert (IS_CPU and not is_one) == ("add_up" in [kernel.__name__ for kernel, *_ in seen])
        if not is_one:
            np.testing.assert_array_equal(h.asnumpy(), np.bincount(k))


@pytest.mark.parametrize(("count", "size"), [(0, 4), (1, 4), (4000, 4), (COUNT, COUNT)])
def test_short_loops_and_large_arrays_keep_their_atomics(count, size):
    k, w, expected = RANDOM.integers(-size, size, count), np.ones(count), np.zeros(size)
    (*_, found), kernels = run(added, k, w, expected)
    np.add.at(expected, k, w)
    np.testing.assert_array_equal(found, expected)
    assert "add_up" not in kernels


def test_a_loop_that_checks_its_indices_names_them():
    k, w, h = np.full(COUNT, 4), np.ones(COUNT), np.zeros(4)
    with pytest.raises(IndexError, match="h"):
        run(added, k, w, h, options={"boundscheck": True})


def test_an_index_beyond_changes_no_element_of_the_array():
    given = dpnp.zeros(8)
    with collected() as seen:
        njit(added)(dpnp.full(COUNT, 4), dpnp.ones(COUNT), given[:4])
    assert ([kernel.__name__ for kernel, *_ in seen][-1] == "add_up") == IS_CPU
    # It is the element behind the view, as it is under Numba.
    np.testing.assert_array_equal(given.asnumpy(), [0, 0, 0, 0, COUNT, 0, 0, 0])
