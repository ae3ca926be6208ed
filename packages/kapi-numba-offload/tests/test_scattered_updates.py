"""Plain loops that update elements at indices from an array: kernels where the order of the updates does not show."""

import contextlib
import warnings

import dpnp
import numpy as np
import pytest
from numba import njit

import kapi_numba_offload
import kapi_runtime

COUNT = 150_000
RANDOM = np.random.default_rng(5)
AT = RANDOM.integers(0, 50, COUNT)


def multiplied(a, at, x):
    for i in range(at.size):
        a[at[i]] *= 2 * x[i] + 1


def largest(a, at, x):
    for i in range(at.size):
        a[at[i]] = max(a[at[i]], x[i])


def smallest(a, at, x):
    for i in range(at.size):
        if a[at[i]] > x[i]:
            a[at[i]] = x[i]


def of_all_bits(a, at, x):
    for i in range(at.size):
        a[at[i]] |= x[i]


def added_and_multiplied(a, at, x):
    for i in range(at.size):
        a[at[i]] *= 3
        a[at[i]] += x[i]


def largest_and_smallest(a, at, x):
    for i in range(at.size):
        a[at[i]] = max(a[at[i]], x[i])
        a[at[i]] = min(a[at[i]], 20)


def of_others(a, at, x):
    for i in range(at.size):
        a[at[i]] = max(a[at[i]], a[0] + x[i])


def from_the_end(a, at, x):
    for i in range(at.size):
        a[-1 - at[i]] *= x[i]


def largest_by_numpy(a, at, x):
    for i in range(at.size):
        a[at[i]] = np.maximum(x[i], a[at[i]])


def smallest_by_choice(a, at, x):
    for i in range(at.size):
        a[at[i]] = a[at[i]] if a[at[i]] < x[i] else x[i]


def largest_by_choice(a, at, x):
    for i in range(at.size):
        a[at[i]] = x[i] if x[i] > a[at[i]] else a[at[i]]


def no_less(a, at, x):
    for i in range(at.size):
        if a[at[i]] <= x[i]:
            a[at[i]] = x[i]


INTEGERS, FLOATS = RANDOM.integers(-100, 100, COUNT), RANDOM.random(COUNT) - 0.5
WITH_NANS = np.where(RANDOM.random(COUNT) < 0.1, np.nan, FLOATS)
KERNELS = [
    (multiplied, INTEGERS), (largest, INTEGERS), (smallest, INTEGERS), (of_all_bits, INTEGERS), (largest, WITH_NANS),
    (smallest, WITH_NANS), (smallest, FLOATS), (from_the_end, INTEGERS),
    (largest_by_numpy, INTEGERS),
    (smallest_by_choice, INTEGERS), (largest_by_choice, WITH_NANS), (no_less, INTEGERS),
]  # fmt: skip
OTHERS = [
    (multiplied, FLOATS), (added_and_multiplied, INTEGERS), (largest_and_smallest, INTEGERS), (of_others, INTEGERS),
    (multiplied, INTEGERS.astype(np.int8)), (largest, INTEGERS.astype(np.uint8)), (multiplied, INTEGERS + 1j),
    (largest_by_numpy, WITH_NANS), (smallest_by_choice, WITH_NANS),
    (no_less, WITH_NANS),
]  # fmt: skip


@pytest.mark.parametrize("context", [None, "cpu"])
@pytest.mark.parametrize(
    ("function", "values", "is_kernel"), [*((*each, True) for each in KERNELS), *((*each, False) for each in OTHERS)]
)
def test_scattered_updates_give_what_numba_gives(function, values, is_kernel, context):
    """Exactly: floats are kernels where they are extrema."""
    start = np.ones(50, values.dtype)
    if values is WITH_NANS:
        start[3] = np.nan
    expected = start.copy()
    njit(function)(expected, AT, values)
    found = start.copy()
    given = [found, AT, values]
    if context is None:
        given = [dpnp.asarray(each) for each in given]
    with kapi_runtime.device_context(context) if context else contextlib.nullcontext(), warnings.catch_warnings():
        warnings.simplefilter("ignore", kapi_numba_offload.OffloadFallbackWarning)
        explained = kapi_numba_offload.explain(njit(function), *given)
    np.testing.assert_array_equal(dpnp.asnumpy(given[0]) if context is None else found, expected)
    assert ([each.where for each in explained.parts] == ["kernel"]) == is_kernel
