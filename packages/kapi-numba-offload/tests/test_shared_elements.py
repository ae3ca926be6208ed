"""Iterations of `prange` that update one element lose nothing: by atomics, or one after the other on the host."""

import warnings

import dpnp
import numba
import numpy as np
import pytest
from numba import njit, prange

from kapi_numba_offload import OffloadFallbackWarning, check_races

COUNT = 40_000
AT = np.arange(COUNT) * 7919 % 4
INTEGERS = np.arange(COUNT) % 10
HALVES = (np.arange(COUNT) % 10) * 0.5


def one(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] += 1


def variable(at, integers, halves, sums):
    for i in prange(at.size):
        w = integers[i] * 2
        w -= 1
        sums[at[i]] += w


def converted(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] += int(halves[i])


def outside(at, integers, halves, sums):
    n = at.shape[0] // 10_000
    for i in prange(at.size):
        sums[at[i]] -= n


def swapped(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] = integers[i] + sums[at[i]]


def several(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] = sums[at[i]] + integers[i] - 1


def neighbours(at, integers, halves, sums):
    for i in prange(sums.size - 1):
        for _ in range(at.size // 10):
            sums[i] += 1
            sums[i + 1] -= 2


def by_counters(at, integers, halves, sums):
    for i in prange(2):
        for index in np.ndindex(2, at.size // 10):
            sums[index[0] + i] += 1


def ever_shorter_rows(at, integers, halves, sums):
    for i in prange(2):
        row = sums
        for _ in range(2):
            row = row[1:]
            for _ in range(at.size // 10):
                row[i] += 1


@njit
def bump(sums, k, value):
    sums[k] += value


def helper(at, integers, halves, sums):
    for i in prange(at.size):
        bump(sums, at[i], integers[i])


def fraction(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] += halves[i] * 3


def product(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] *= 1 + 2 * (integers[i] % 2)


def largest(at, integers, halves, sums):
    for i in prange(at.size):
        sums[at[i]] = max(sums[at[i]], i)


def guarded(at, integers, halves, sums):
    for i in prange(at.size):
        if i > sums[at[i]]:
            sums[at[i]] = i


def run(function, dtype, **options):
    """The sums on the device and in Python, and the number of warnings."""
    expected = np.ones(4, dtype)
    function(AT, INTEGERS, HALVES, expected)
    sums = dpnp.asarray(np.ones(4, dtype))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", OffloadFallbackWarning)
        njit(**options)(function)(*map(dpnp.asarray, (AT, INTEGERS, HALVES)), sums)
    return sums.asnumpy(), expected, len(told)


FUNCTIONS = [
    one, variable, converted, outside, swapped, several, neighbours, by_counters, ever_shorter_rows, helper, largest,
    guarded, product,
]  # fmt: skip


# Each function has one of the dtypes by day, another than the one before it, and all of them at night.
@pytest.mark.parametrize(("function", "dtype"), [
    pytest.param(function, dtype, marks=() if (row + column) % 2 == 0 else pytest.mark.nightly)
    for row, function in enumerate(FUNCTIONS)
    for column, dtype in enumerate([np.int64, np.float64])
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow")
def test_sums_and_extrema_are_atomic(function, dtype):
    found, expected, told = run(function, dtype)
    np.testing.assert_array_equal(found, expected)
    assert told == 0


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(one, np.float16), (one, np.complex128), (fraction, np.int64)],
)  # fmt: skip
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.filterwarnings("ignore:overflow")
def test_updates_without_an_atomic_are_done_one_after_the_other(function, dtype, parallel):
    found, expected, told = run(function, dtype, parallel=parallel)
    np.testing.assert_array_equal(found, expected)
    assert told == 1


def test_updates_of_an_iteration_s_own_elements_stay_on_the_device():
    @numba.njit
    def scaled(a, b, rows, table):
        n = a.size
        for i in prange(n):
            a[n - 1 - i] *= 2
            b[i] //= 3
            for k in range(rows[i], rows[i + 1]):
                b[k] *= 1
            found = table[i]
            at = int(a[n - 1 - i]) % 3
            found[at] = max(found[at], 5)
            table[i, at] *= 3
            found *= 1
            rest = found[1:]
            rest /= 1

    a, b = dpnp.arange(6.0), dpnp.arange(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OffloadFallbackWarning)
        scaled(a, b, dpnp.arange(7), table := dpnp.zeros((6, 3)))
    assert (a.asnumpy() == np.arange(6.0) * 2).all()
    assert (b.asnumpy() == np.arange(6) // 3).all()
    assert (table.asnumpy() == 15 * (np.arange(3) == np.arange(10, -1, -2)[:, None] % 3)).all()


def best_behind_a_comparison(a):
    best = -1.0
    for i in prange(a.shape[0]):
        v = np.partition(a[i], 1)[1]
        if v > best:
            best = v
    return best


def bits(a):
    either, both = 0, -1
    for i in prange(a.shape[0]):
        v = int(np.partition(a[i], 1)[1])
        either |= v
        both &= v
    return either, both


def in_a_chain(a):
    total = 0.0
    for i in prange(a.shape[0]):
        v = np.partition(a[i], 1)[1]
        total = total + v - 2 * v
    return total


def of_products(a):
    total = np.zeros((a.shape[1], a.shape[1]))
    for i in prange(a.shape[0]):
        total += np.outer(a[i], a[i])
    return total


def of_rows(a):
    total = np.zeros(a.shape[1])
    for i in prange(a.shape[0]):
        total = total + a[i]
    return total


def largest_of_rows(a):
    found = np.full(a.shape[1], -1.0)
    for i in prange(a.shape[0]):
        found = np.maximum(found, a[i])
    return found


def counted(a):
    counts = np.zeros(4)
    for i in prange(a.shape[0]):
        counts[int(np.partition(a[i], 0)[0]) % 4] += 1
    return counts


# Threads lose iterations, so each function has them by day, and every third one is without them too; at night all.
@pytest.mark.parametrize(("function", "parallel"), [
    pytest.param(function, parallel, marks=() if parallel or row % 3 == 0 else pytest.mark.nightly)
    for row, function in enumerate(
        [best_behind_a_comparison, bits, in_a_chain, of_products, of_rows, largest_of_rows, counted]
    )
    for parallel in (False, True)
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_reductions_on_the_host_lose_no_iteration(function, parallel):
    a = (np.arange(3000.0) * 7919 % 101).reshape(1000, 3)
    found = njit(parallel=parallel)(function)(dpnp.asarray(a))
    np.testing.assert_allclose(found.asnumpy() if isinstance(found, dpnp.ndarray) else found, function(a))


def divided(a, at, x):
    for i in prange(at.size):
        a[at[i]] /= x[i]


def divided_twice(a, at, x):
    for i in prange(at.size):
        a[at[i]] = a[at[i]] / x[i]
        a[at[i]] *= 1 / x[i]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [divided, divided_twice])
def test_quotients_are_atomic(function, dtype, as_in_python, launches):
    rng = np.random.default_rng(1)
    at, x = rng.integers(0, 5, 3000), (1 + rng.random(3000) / 100).astype(dtype)
    as_in_python(function, [np.full(5, 3, dtype), at, x], rtol=1e-3 if dtype == "float32" else 1e-10)
    assert len(launches) >= 1


def narrow_updates(a, at, x):
    for i in prange(at.size):
        a[0, at[i]] += x[i]
        a[1, at[i]] *= 2 * x[i] + 1
        a[2, at[i]] ^= x[i]
        a[3, at[i]] = np.minimum(x[i], a[3, at[i]])
        a[4, at[i]] = a[4, at[i]] - x[i]
        a[5, at[i]] = (3 - x[i]) * a[5, at[i]]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64"])
def test_integers_of_every_width_have_atomic_updates(dtype, as_in_python, launches):
    """Different ones of elements that surely differ; those of few bits wrap, and change no neighbour."""
    rng = np.random.default_rng(2)
    at, x = rng.integers(0, 7, 3000), rng.integers(0, 100, 3000).astype(dtype)
    as_in_python(narrow_updates, [np.ones((6, 7), dtype), at, x])
    assert len(launches) >= 1


def sums_and_bits(a, at, x):
    for i in prange(at.size):
        a[at[i]] += x[i]
        a[at[i]] |= 4


def both_extrema(a, at, x):
    for i in prange(at.size):
        a[at[i]] = max(a[at[i]], x[i])
        a[at[i]] = min(a[at[i]], 20)


def extrema_of_nans(a, at, x):
    for i in prange(at.size):
        a[at[i]] = max(x[i] / 1.0 if x[i] else np.nan, a[at[i]])


def computed_of_itself(a, at, x):
    for i in prange(at.size):
        a[at[i]] = (a[at[i]] + x[i]) % 1000 + a[at[i]] % 7


def added_to_itself(a, at, x):
    for i in prange(at.size):
        a[at[i]] += a[at[i]] % 5 + x[i]


def taken_from_itself_in_each_inner_iteration(a, at, x):
    for i in prange(a.size):
        for j in prange(9):
            a[i] = a[i] - (a[i] + a[i] - a[i] // 2) + x[j]


@pytest.mark.parametrize(
    "function",
    [
        sums_and_bits, both_extrema, extrema_of_nans, computed_of_itself, added_to_itself,
        taken_from_itself_in_each_inner_iteration,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_updates_whose_order_shows_are_in_order(function, as_in_python):
    rng = np.random.default_rng(3)
    at, x = rng.integers(0, 7, 3000), rng.integers(0, 100, 3000)
    as_in_python(function, [np.ones(7, "float64" if function is extrema_of_nans else "int64"), at, x])


def rows_of_themselves(a, x):
    for i in prange(a.shape[0]):
        for j in prange(9):
            a[i] += a[i, ::-1] // 2 + x[j]


def a_row_by_its_name(a, x):
    for i in prange(a.shape[0]):
        for j in prange(9):
            row = a[i]
            row -= row // 3 + x[j]


@pytest.mark.parametrize("function", [rows_of_themselves, a_row_by_its_name])
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_rows_that_are_updated_by_themselves_are_in_order(function, as_in_python):
    rng = np.random.default_rng(5)
    as_in_python(function, [rng.integers(0, 100, (7, 5)), rng.integers(0, 100, 9)])


def from_both_ends(x, y, n):
    for i in prange(-n, n):
        x[i] += y[i + n]


def from_both_ends_by_shift(x, y, n):
    for i in prange(2 * n):
        k = i - n
        x[k] = max(x[k], y[i])


def from_the_end_backwards(x, y, n):
    for i in prange(2 * n):
        x[n - 1 - i] *= y[i]


@pytest.mark.parametrize("function", [from_both_ends, from_both_ends_by_shift, from_the_end_backwards])
def test_elements_from_both_ends_are_shared(function):
    """Some element is one from the start and one from the end: the simulator finds no race in its updates."""
    x, y = np.arange(6.0), np.arange(12.0) - 5
    ours = dpnp.asarray(x)
    check_races(njit(parallel=True)(function), ours, dpnp.asarray(y), 6)
    function(x, y, 6)
    np.testing.assert_array_equal(ours.asnumpy(), x)
