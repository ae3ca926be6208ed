"""Lists and tuples of arrays and numbers in `prange` loops: indexed, iterated, with indices from the end."""

import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning

RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.random((6, 5)) * 4 - 2
OTHER = RANDOM.random((6, 5))
TABLE = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


def lists_of_arrays(a, b, o):
    arrays = [a, b]
    for i in prange(a.shape[0]):
        o[i] = arrays[0][i, 0] + arrays[-1][i, 1] + arrays[i % 2][i, 2]
        for x in arrays:
            o[i] += x[i, 3]
        for k in range(len(arrays)):
            o[i] += arrays[k][i, 4]


def lists_that_grew(a, b, o):
    arrays = []
    arrays.append(a)
    arrays.append(b)
    weights = [0.25, 0.5]
    for i in prange(a.shape[0]):
        for x, w in zip(arrays, weights):  # noqa: B905  # kernels have no `strict`
            o[i] += x[i, 0] * w
        for k, x in enumerate(arrays):
            o[i] += x[i, 1] * k


def lists_of_numbers(a, b, o):
    weights, lengths = [0.25, 0.5, 0.125], [1, 2, 3]
    for i in prange(a.shape[0]):
        for d in range(-1, 2):
            o[i] += a[i, d + 1] * weights[d]
        o[i] += lengths[i % 3] / 2 + len(lengths)


def elements_from_the_end(a, b, o):
    both, several = (a, b), [b, a]
    for i in prange(a.shape[0]):
        o[i] = both[1][i - 1, i - 3] + several[0][i - 2, 0] + TABLE[i - 3]
        x = both[0]
        o[i] += x[i - 4, -1]
        for y in (a, b):
            o[i] += y[i - 5, i - 3]


@pytest.mark.parametrize("function", [lists_of_arrays, lists_that_grew, lists_of_numbers, elements_from_the_end])
def test_elements_are_those_of_python(function, as_in_python, launches):
    as_in_python(function, [MATRIX.copy(), OTHER.copy(), np.zeros(6)])
    assert len(launches) == 1


def by_a_tuple(label, bins, other):
    both = (bins, other)
    for i in prange(label.shape[0]):
        both[0][label[i] % 3] += 1.0


def by_a_name_of_its_array(label, bins, other):
    both = (bins, other)
    for i in prange(label.shape[0]):
        x = both[0]
        x[label[i] % 3] += 1.0


def by_a_loop_over_it(label, bins, other):
    for i in prange(label.shape[0]):
        for x in (bins, other):
            x[label[i] % 3] += 1.0


def by_functions_on_some_paths(label, bins, other):
    def get(k):
        return other[k]

    for i in prange(label.shape[0]):
        bins[0] += 1.0 + (get(i % 3 - 3) if i % 2 else 2.0)


@pytest.mark.parametrize("function", [by_a_tuple, by_a_name_of_its_array, by_functions_on_some_paths])
def test_what_kernels_would_do_otherwise_is_the_hosts(function, as_in_python):
    """Additions to one element, and indices from the end, where the array is not told by its name."""
    label = RANDOM.integers(0, 1000, 100_000)
    with pytest.warns(OffloadFallbackWarning, match="not-in-kernel"):
        as_in_python(function, [label, np.ones(3), np.ones(3)])


def list_of_an_iteration(label, out):
    for i in prange(out.shape[0]):
        t = [j * label[i] for j in range(3)]
        out[i] = t[1] + t[2]


def array_of_an_iteration(label, out):
    for i in prange(out.shape[0]):
        out[i] = np.array([label[i] * j for j in range(3)]).sum()


@pytest.mark.parametrize("function", [list_of_an_iteration, array_of_an_iteration])
def test_comprehensions_of_iterations_are_named(function, as_in_python):
    """Their variables belong to them, and none are carried from one iteration to the next."""
    with pytest.warns(OffloadFallbackWarning, match="a comprehension") as caught:
        as_in_python(function, [RANDOM.integers(0, 1000, 1000), np.ones(1000)])
    assert "not-in-kernel" in str(caught[0].message)


@pytest.mark.filterwarnings("error")
def test_additions_that_collide_in_a_loop_over_arrays_are_atomic(as_in_python):
    as_in_python(by_a_loop_over_it, [RANDOM.integers(0, 1000, 100_000), np.ones(3), np.ones(3)])
