"""NumPy's functions of rows are parts of kernels: sorted rows, running sums, elements at other indices, medians."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
from kapi_sim.errors import KernelCompilationError

RNG = np.random.default_rng(11)
ROWS = RNG.permutation(np.repeat(np.arange(-20.0, 20.0), 5))[:195].reshape(15, 13)
WITH_NANS = np.where((RNG.random(ROWS.shape) < 0.3) & (np.arange(15)[:, None] > 9), np.nan, ROWS)


def sorted_rows(a, out):
    for i in prange(a.shape[0]):
        out[i] = np.sort(a[i])


def sorted_in_place(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i]
        out[i].sort()


def sorted_selection(a, out):
    for i in prange(a.shape[0]):
        found = np.sort(a[i][a[i] > 0])
        out[i, : found.size] = found
        out[i, 9] = found.size


def by_order(a, out):
    for i in prange(a.shape[0]):
        order = np.argsort(a[i], kind="mergesort")
        for k in range(order.size):
            out[i, k] = order[k] * 1000 + a[i, order[k]]


def running(a, out):
    for i in prange(a.shape[0]):
        out[i] = np.cumsum(a[i])
        out[i] += np.cumprod(a[i] / 16)
        total = (a[i] * 2).cumsum()
        out[i, 1:] -= total[:-1] / 3


def running_in_place(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i] / 2
        out[i] = np.cumsum(out[i])
        out[i, 2:] = np.cumsum(out[i, :-2])


def at_other_indices(a, out):
    for i in prange(a.shape[0]):
        out[i] = np.roll(a[i], i - 4) + np.flip(a[i]) * 64
        out[i, 1:] += np.diff(a[i]) * 4096
        out[i] = np.clip(out[i], -1e5, i * 1000)


def moved_in_place(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i]
        out[i] = np.roll(out[i], 3)
        out[i, 1:] = out[i, :-1] * 2
        out[i, :-1] += out[i, 1:]


def own_rows(a, out):
    for i in prange(a.shape[0]):
        row = a[i].copy()
        row[0] = 7
        other = np.zeros_like(row)
        other[1:] = row[:-1]
        kept = a[i] * 2
        kept[3:] = other[3:]
        ones = np.ones_like(a[i])
        out[i] = row + 100 * other + 10000 * kept + ones


def medians(a, out):
    for i in prange(a.shape[0]):
        out[i, 0] = np.median(a[i])
        out[i, 1] = np.median(a[i, :6])
        out[i, 2] = np.percentile(a[i], 30)
        out[i, 3] = np.quantile(a[i, 2:], 0.75)


def median_of_a_window(a, out):
    for i in prange(1, a.shape[0] - 1):
        for j in range(2, a.shape[1] - 1):
            out[i, j] = np.median(a[i - 1 : i + 2, j - 2 : j + 2])


def sum_of(row):
    ordered = np.sort(row)
    return ordered[0] * 10 + ordered[-1] + np.abs(np.diff(ordered)).max()


def in_a_helper(a, out):
    for i in prange(a.shape[0]):
        out[i, 0] = sum_of(a[i])
        out[i, 1] = sum_of(a[i, ::2])


def product_in_place(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i]
        out[i, :] = np.dot(out[i, :], a[:13, :])
        out[i] += a[:13] @ out[i]


FUNCTIONS = [
    sorted_rows, sorted_in_place, sorted_selection, by_order, running, running_in_place, at_other_indices,
    moved_in_place, own_rows, medians, median_of_a_window, in_a_helper, product_in_place,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_they_are_kernels_with_the_numbers_of_numpy(function, as_in_python, launches):
    """Nans come last in sorted rows, and make medians nan."""
    with np.errstate(invalid="ignore"):
        as_in_python(function, [WITH_NANS.copy(), np.full(ROWS.shape, -1.0)], rtol=1e-12)
    assert len(launches) == 1


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_arrays_of_rows_have_the_dtypes_of_numpy(dtype, as_in_python):
    """A sum of bytes has 64 bits, a difference of them wraps."""

    def f(a, out):
        for i in prange(a.shape[0]):
            out[i] = np.cumsum(a[i])
            out[i, 1:] += np.diff(np.sort(a[i]))
            copy = a[i].copy()
            copy[0] = a[i, 1]
            out[i] += copy

    a = (ROWS % 251).astype(dtype)
    as_in_python(f, [a, np.zeros(ROWS.shape, "float32" if dtype == "float32" else "int64")], rtol=1e-6)


def test_one_compiled_function_serves_rows_of_several_lengths(launches):
    """The room that a row takes is that of the launch."""
    compiled = numba.njit(sorted_rows)
    for length in (1, 2, 40, 200):
        a = RNG.permutation(3.0 * length * np.arange(length * 2)).reshape(2, length)
        compiled(dpnp.asarray(a), found := dpnp.zeros(a.shape))
        np.testing.assert_array_equal(found.asnumpy(), np.sort(a))
    assert len(launches) == 4


def test_long_rows_have_no_room():
    """A work-item has room for 1,024 elements; running sums that are stored need none."""
    a = RNG.random((2, 1025))
    found = dpnp.zeros(a.shape)
    with pytest.raises(KernelCompilationError, match=r"does not bound by 1024: `out\[i\] = np\.sort\(a\[i\]\)`"):
        kapi_numba_offload.offload(fallback=False)(sorted_rows)(dpnp.asarray(a), found)

    @numba.njit
    def sums(a, out):
        for i in prange(a.shape[0]):
            out[i] = np.cumsum(a[i])

    sums(dpnp.asarray(a), found)
    np.testing.assert_allclose(found.asnumpy(), np.cumsum(a, axis=1), rtol=1e-12)


def all_reductions(a, out):
    for i in prange(a.shape[0]):
        row = a[i]
        out[i, 0] = np.dot(row, a[0])
        out[i, 1] = np.vdot(row, a[0])
        out[i, 2] = row @ a[1]
        out[i, 3] = np.linalg.norm(row)
        out[i, 4] = np.var(row)
        out[i, 5] = row.std()
        out[i, 6] = row.mean()
        out[i, 7] = np.sum(row)
        out[i, 8] = row.prod()
        out[i, 9] = np.count_nonzero(row)
        out[i, 10] = np.any(row)
        out[i, 11] = np.all(row)
        out[i, 12] = row.min()
        out[i, 13] = np.max(row)
        out[i, 14] = np.argmin(row)
        out[i, 15] = row.argmax()


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "uint64", "float32", "float64", "complex64", "complex128"]
)
def test_reductions_of_rows_have_numpy_s_numbers_for_every_dtype(dtype):
    rng = np.random.default_rng(5)
    a = rng.integers(-5, 6, (30, 7)).astype(dtype)
    if a.dtype.kind in "iu":
        ends = np.iinfo(dtype)
        a = rng.integers(ends.min // 9, ends.max // 9, (30, 7), dtype)
        a[3], a[4] = ends.min, ends.max
    elif a.dtype.kind == "c":
        a += 1j * rng.integers(-5, 6, a.shape)
    expected = np.zeros((30, 16), "complex128" if a.dtype.kind == "c" else "float64")
    out = dpnp.asarray(expected)
    with np.errstate(over="ignore"):
        all_reductions(a, expected)
    numba.njit(all_reductions)(dpnp.asarray(a), out)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5 if dtype in ("float32", "complex64") else 1e-12)


def products_of_expressions(a, b, out):
    for i in prange(a.shape[0]):
        halved, doubled = a[i] * 0.5, a[i] * 2
        out[i, 0] = np.dot(halved, halved)
        out[i, 1] = doubled @ doubled
        out[i, 2] = np.dot(a[i] + b[i], a[i])
        out[i, 3] = np.dot(halved, b[i]) + np.dot(a[i], b[i])


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize("other", ["int8", "int64", "float32"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32"])
def test_products_of_expressions_wrap_as_their_own_type_does(dtype, other):
    rng = np.random.default_rng(6)
    a, b = rng.integers(-9000, 9000, (20, 7)).astype(dtype), rng.integers(-100, 100, (20, 7)).astype(other)
    if dtype == "int32":
        a *= 1000
    expected = np.zeros((20, 4))
    out = dpnp.asarray(expected)
    products_of_expressions(a, b, expected)
    numba.njit(products_of_expressions)(dpnp.asarray(a), dpnp.asarray(b), out)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5)
