"""Elements that iterations share, updated through what is no array's own name: no update is lost."""

import numba
import numpy as np
import pytest
from numba import prange

from kapi_numba_offload import OffloadFallbackWarning

LABELS = np.random.default_rng(5).integers(0, 1000, 100_000)


def by_a_function_within(label, bins, rows):
    def put(k):
        bins[k] += 1.0

    for i in prange(label.shape[0]):
        put(label[i] % 3)


def by_a_function_that_is_given_the_array(label, bins, rows):
    def put(x, k):
        x[k] += 1.0

    for i in prange(label.shape[0]):
        put(bins, label[i] % 3)


def by_a_row(label, bins, rows):
    for i in prange(label.shape[0]):
        row = rows[label[i] % 3]
        row[0] += 1.0
        row[1:] += 2.0


@numba.njit
def found_and_counted(x, k):
    for j in range(3):
        if j == k:
            x[j] += 1.0
            return j
    return -1


def by_a_helper_that_returns_from_a_loop(label, bins, rows):
    for i in prange(label.shape[0]):
        found_and_counted(bins, label[i] % 3)


@pytest.mark.parametrize(
    "function",
    [by_a_function_within, by_a_function_that_is_given_the_array, by_a_row, by_a_helper_that_returns_from_a_loop],
)
def test_additions_are_atomic(function, as_in_python, launches):
    as_in_python(function, [LABELS.copy(), np.ones(3), np.zeros((3, 4))])
    assert launches


def several_at_once(label, bins, rows):
    for i in prange(label.shape[0]):
        k = label[i] % 3
        bins[k], _ = bins[k] + 1, 0


def by_a_row_in_two_statements(label, bins, rows):
    for i in prange(label.shape[0]):
        row = rows[label[i] % 3]
        c = row[0]
        row[0] = c + 1


def the_largest_of_a_row(label, bins, rows):
    for i in prange(label.shape[0]):
        row = rows[label[i] % 3]
        row[0] = max(row[0], 1.0 * label[i])


@pytest.mark.parametrize(
    "function",
    [several_at_once, by_a_row_in_two_statements],
)
def test_what_is_not_atomic_is_the_hosts(function, as_in_python):
    with pytest.warns(OffloadFallbackWarning, match="update"):
        as_in_python(function, [LABELS.copy(), np.ones(3), np.zeros((3, 4))])


@pytest.mark.filterwarnings("error")
def test_the_largest_of_a_row_is_atomic(as_in_python):
    as_in_python(the_largest_of_a_row, [LABELS.copy(), np.ones(3), np.zeros((3, 4))])
