"""Arrays of as many elements as a row turns out to have, in `prange` loops: positions, different values, counts."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
from kapi_sim.errors import KernelCompilationError

RNG = np.random.default_rng(3)
ROWS = RNG.integers(-3, 4, (12, 9)).astype(float)
ROWS[2, :4] = np.nan
ROWS[3] = 0.0
ROWS[4, 5] = -0.0
KEYS = RNG.integers(0, 5, (12, 9))


def positions(a, out):
    for i in prange(a.shape[0]):
        found = np.nonzero(a[i])[0]
        for j in range(found.shape[0]):
            out[i, j] = found[j] * 10 + a[i, found[j]]
        (more,) = np.nonzero(a[i] > 0)
        out[i, : len(more)] += a[i][more]
        flat = np.flatnonzero(a[i : i + 2, :4] > 0)
        out[i, 7] = flat.sum()
        pairs = np.argwhere(a[i] > 1)
        for k in range(pairs.shape[0]):
            out[i, 8] += pairs[k, 0]


def positions_by_name(a, out):
    for i in prange(a.shape[0]):
        found = np.where(a[i] > 0)
        first = found[0]
        for j in found[0]:
            out[i, 0] += a[i, j] * j
        out[i, 1] = a[i][found].sum()
        if first.size > 0:
            out[i, 2] = first[-1]
        rows, columns = np.nonzero(a[i : i + 3, :4] > 0)
        for k in range(rows.size):
            out[i, 3] += rows[k] * 10 + columns[k]


def in_a_loop(a, out):
    for i in prange(a.shape[0]):
        for j in range(3):
            found = np.flatnonzero(a[i] > j - 1)
            out[i, j] = found.size
            if found.size > 1:
                found = found[1:]
            out[i, j + 3] = found.sum()


def of_empty_rows(a, out):
    for i in prange(a.shape[0]):
        found = np.nonzero(a[i, :i])[0]
        out[i, 0] = found.size
        out[i, 1] = np.unique(a[i, :i]).size
        out[i, 2] = a[i, found].sum()


def different(a, out):
    for i in prange(a.shape[0]):
        values = np.unique(a[i])
        out[i, : values.size] = values
        out[i, 8] = values.size * 100
        for k, x in enumerate(np.unique(a[i : i + 2, :4])):
            out[i, k % 9] += (a[i] == x).sum()


def at_positions(a, out):
    for i in prange(a.shape[0]):
        order = np.argsort(a[0], kind="mergesort")[:3]
        out[i, :3] = a[i, order] + a[i][order] * 100
        out[i, 3:6] = a[0][order - 9]
        out[i, 6] = a[order, 0].sum()
        some = a[:, order]
        out[i, 7] = some[i, 1] + some.sum()
        first = np.flatnonzero(a[i])
        second = np.flatnonzero(a[i][first] > 0)
        out[i, 8] = a[i][first[second]].sum()


def where_true(a, out):
    for i in prange(a.shape[0]):
        out[i, 0] = a[i, a[i] > 1].sum()
        out[i, 1] = a[a[:, 0] > 0, i % 9].sum()


FUNCTIONS = [positions, positions_by_name, in_a_loop, of_empty_rows, different, at_positions, where_true]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_they_are_kernels_with_the_numbers_of_numpy(function, as_in_python, launches):
    as_in_python(function, [ROWS.copy(), np.full(ROWS.shape, -1.0)], rtol=1e-12)
    assert len(launches) == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "float32", "float64", "complex64"])
def test_positions_and_values_of_every_dtype(dtype, as_in_python):
    def f(a, keys, mask, out):
        for i in prange(a.shape[0]):
            values = np.unique(a[i])
            out[i, : values.size] = values
            found = np.flatnonzero(a[i])
            out[i, 1:] += a[i][found].size + a[i, keys[i, 1:]]
            out[i, 0] += a[i][mask[i]].size

    def positions_alone(a, keys, mask, out):
        for i in prange(a.shape[0]):
            found = np.flatnonzero(a[i])
            out[i, : found.size] = a[i][found]
            some = a[i, keys[i]]
            out[i, 8] = some[3]

    a = np.abs(np.nan_to_num(ROWS)).astype(dtype)
    kind = "complex128" if a.dtype.kind == "c" else "float64"
    function = positions_alone if a.dtype.kind == "c" else f
    as_in_python(function, [a, KEYS - 9, ROWS > 0, np.zeros(ROWS.shape, kind)])


def counts(keys, weights, out):
    for i in prange(keys.shape[0]):
        found = np.bincount(keys[i], minlength=6)
        out[i, :6] = found[:6]
        out[i, 6] = np.bincount(keys[i]).size
        out[i, 7] = np.bincount(keys[i], weights[i])[-1]
        out[i, 8] = np.argmax(found)


def test_counts_of_bytes_have_room(as_in_python, launches):
    keys = KEYS.astype(np.uint8)
    keys[0, 0] = 255
    as_in_python(counts, [keys, ROWS, np.zeros(ROWS.shape)])
    assert len(launches) == 1


def test_counts_of_other_integers_are_of_any_length():
    compiled = kapi_numba_offload.offload(fallback=False)(counts)
    with pytest.raises(KernelCompilationError, match="length that values decide, np.bincount"):
        compiled(dpnp.asarray(KEYS), dpnp.asarray(ROWS), dpnp.zeros(ROWS.shape))


def test_truth_values_that_an_iteration_makes_select(launches):
    @numba.njit
    def f(a, out):
        for i in prange(a.shape[0]):
            mask = np.zeros(9, np.bool_)
            mask[3] = True
            out[i] = a[i][mask].sum()

    a, found = RNG.random((4, 9)), dpnp.zeros(4)
    f(dpnp.asarray(a), found)
    np.testing.assert_array_equal(found.asnumpy(), a[:, 3])
    assert len(launches) == 1


def test_array_that_may_hold_truth_values_or_numbers_is_no_index(launches):
    @numba.njit
    def f(a, out):
        for i in prange(a.shape[0]):
            first = a[i, 0] > 2
            mask = np.array([first, first, first])
            out[i] = a[i][mask].sum()

    a, found = RNG.random((4, 3)), dpnp.zeros(4)
    with pytest.warns(kapi_numba_offload.OffloadFallbackWarning, match="an index that is an array"):
        f(dpnp.asarray(a), found)
    np.testing.assert_array_equal(found.asnumpy(), 0)
