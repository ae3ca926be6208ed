"""Loops over device arrays that are run like earlier ones: what these resolved serves where nothing differs."""

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_runtime
from kapi_numba_offload.loops.parallel_loop import ParallelLoop

pytestmark = pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")

LENGTH = 600  # iterations of plain loops that are enough for a GPU
BASE = np.arange(2.0 * LENGTH) / 8 - 1


def stored(a, b, k):
    for i in prange(a.shape[0]):
        b[i] = a[i] * k + b[i]
    return b.shape[0]


def reduced(a, b, k):
    total, most, count = 0.0, -1e9, 0
    for i in prange(2, a.shape[0]):
        total += a[i] * k - b[i - 2]
        most = max(most, b[i])
        if a[i] > 2:
            count += 1
    return total, most, count


def at_a_distance(a, b, k):
    """A plain loop: the sign of a number, and where its arrays are, decide whether iterations are independent."""
    for i in range(a.shape[0] - 8):
        b[i + k] = a[i] * 2 + k
    return b.shape[0]


def in_a_loop(a, b, k):
    """The number is another one in each iteration."""
    for step in range(4):
        for i in range(a.shape[0] - 8):
            b[i + step] = a[i] * step + k
    return b.shape[0]


def late(a, b, k):
    """A row that is read after a store to what may be its array."""
    for i in prange(a.shape[0] - 1):
        row = a[i : i + 2] * 1.0
        b[i] = k
        b[i] += row.sum()
    return b.shape[0]


def of_two(xp):
    return xp.asarray(BASE[:LENGTH]), xp.asarray(BASE[LENGTH:]), 3


def in_one(first, second, k=3):
    """Parts of one array."""

    def make(xp):
        both = xp.asarray(BASE)
        return both[first], both[second], k

    return make


VARIATIONS = {
    "shorter": lambda xp: (xp.asarray(BASE[:450]), xp.asarray(BASE[:450]), 3),
    "longer second": lambda xp: (xp.asarray(BASE[:450]), xp.asarray(BASE), 3),
    "few": lambda xp: (xp.asarray(BASE[:9]), xp.asarray(BASE[:9]), 1),
    "no element": lambda xp: (xp.asarray(BASE[:0]), xp.asarray(BASE[:0]), 0),
    "integers": lambda xp: (xp.arange(LENGTH), xp.asarray(BASE[LENGTH:]), 3),
    "strides": in_one(slice(0, None, 2), slice(1, None, 2)),
    "backwards": in_one(slice(LENGTH - 1, None, -1), slice(0, LENGTH)),
    "neighbours": in_one(slice(0, LENGTH), slice(LENGTH, None)),
    "the same view": in_one(slice(0, LENGTH), slice(0, LENGTH)),
    "shifted by one": in_one(slice(0, LENGTH), slice(1, LENGTH + 1)),
    "shifted back": in_one(slice(8, LENGTH), slice(0, LENGTH - 8)),
    "none": lambda xp: (*of_two(xp)[:2], 0),
    "negative": lambda xp: (*of_two(xp)[:2], -3),
    "another number": lambda xp: (*of_two(xp)[:2], 5),
    "a truth value": lambda xp: (*of_two(xp)[:2], True),
    "int64": lambda xp: (*of_two(xp)[:2], np.int64(3)),
    "an element": lambda xp: (*of_two(xp)[:2], xp.asarray(3)),
}
RACES = ("backwards", "the same view", "shifted by one", "shifted back")
"""Variations whose iterations share elements, which a program with `prange` has to keep apart."""


def values(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("function", [stored, reduced, at_a_distance, in_a_loop, late])
@pytest.mark.usefixtures("as_on_a_gpu")
def test_what_differs_from_earlier_calls_counts(function):
    """Each variation comes between calls of the first kind: it must neither use their launch nor spoil it."""
    offloaded = numba.njit(function)
    for name, make in VARIATIONS.items():
        if name in RACES and function in (stored, late):
            continue
        if name == "no element" and function is reduced:
            continue  # its first elements
        for each in (of_two, of_two, make, make, of_two):
            expected_args, args = each(np_copies), each(dpnp)
            expected = function(*expected_args)
            found = offloaded(*args)
            np.testing.assert_allclose(values(found), values(expected), rtol=1e-12)
            for one, other in zip(args[:2], expected_args[:2], strict=True):
                np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-12)


class np_copies:  # NumPy, but that its arrays are copies as the device's are
    arange = staticmethod(np.arange)
    asarray = staticmethod(np.array)


def row_sums(a, b, count):
    for i in prange(a.shape[0]):
        total = 0.0
        for j in range(count):
            total += a[i, j] * 0.5
        b[i, 0] = total


def test_iterations_of_groups_depend_on_numbers_and_on_memory(as_on_a_gpu):
    """A number decides how long inner loops are, and so whether groups do iterations; memory that is shared, too."""
    offloaded = numba.njit(row_sums)
    a = np.arange(12.0 * 700).reshape(12, 700) / 64
    for count, is_shared in ((700, 0), (700, 0), (3, 0), (700, 1), (700, 1), (700, 0), (0, 0), (650, 0), (3, 1)):
        expected, given = a.copy(), dpnp.asarray(a)
        other, result = (expected, given) if is_shared else (a * 0, dpnp.asarray(a * 0))
        row_sums(expected, other, count)
        offloaded(given, result, count)
        np.testing.assert_allclose(result.asnumpy(), other, rtol=1e-12)


@numba.njit(parallel=True)
def coordinates(rows, columns):
    i_of, j_of = np.empty((rows, columns), dtype=np.uint32), np.empty((rows, columns), dtype=np.uint32)
    for i in prange(rows):
        i_of[i, :] = i
    for j in prange(columns):
        j_of[:, j] = j
    return i_of, j_of


@numba.njit
def counted(count):
    made = np.empty(count)
    for i in range(count):
        made[i] = made[i - 1] + i if i else 1.0
    return made


@numba.njit("float64[:](float64)", parallel=True)
def thirds(count):
    made = np.empty(int(count))
    for i in prange(int(count)):
        made[i] = i * count / 3
    return made


@numba.njit(parallel=True)
def digits(count):
    """A loop that is no kernel: kernels have no text."""
    made = np.empty(count)
    for i in prange(count):
        made[i] = len(str(i * 7))
    return made


def with_helpers(a, rows, columns):
    i_of, j_of = coordinates(rows, columns=columns)
    return a * i_of + j_of, counted(rows), thirds(rows), digits(rows)


@pytest.mark.parametrize("has_gpu", [False, True])
def test_functions_that_make_arrays_of_numbers(request, has_gpu, is_gpu, launches):
    """On a GPU these are kernels, if all of their work is; Numba runs those with other loops, and their arrays move."""
    if has_gpu:
        request.getfixturevalue("as_on_a_gpu")
    offloaded = numba.njit(with_helpers)
    for rows, columns in ((4, 5), (4, 5), (3, 300), (0, 2)):
        a = np.arange(float(rows * columns)).reshape(rows, columns)
        expected = with_helpers(a, rows, columns)
        for found, other in zip(offloaded(dpnp.asarray(a), rows, columns), expected, strict=True):
            assert found.dtype == other.dtype
            np.testing.assert_allclose(found.asnumpy(), other)
    names = {kernel.__name__.split("_line")[0] for kernel, *_ in launches}
    assert ("coordinates" in names) == (has_gpu or is_gpu)
    assert names.isdisjoint(("counted", "thirds", "digits"))


def added_to_rows(p, q):
    for i in range(p.shape[0]):
        p[i, :] = p[i, :] * 0.5 + q[i]


@pytest.mark.usefixtures("as_on_a_gpu")
def test_lifted_loops_see_memory_that_is_shared():
    """A row that a later iteration reads, after calls with arrays of their own."""
    offloaded = numba.njit(added_to_rows)
    a = np.arange(60.0 * 60).reshape(60, 60) / 64
    for part in (None, None, np.s_[1], np.s_[:, 1], np.s_[59, ::-1], None, np.s_[1]):
        expected, given = a.copy(), dpnp.asarray(a)
        added_to_rows(expected, a[0].copy() if part is None else expected[part])
        offloaded(given, dpnp.asarray(a[0]) if part is None else given[part])
        np.testing.assert_allclose(given.asnumpy(), expected, rtol=1e-12)


def reduced_along_axes(a):
    return (
        np.sum(a, axis=0),
        a.max(axis=1),
        np.mean(a, axis=1),
        np.min(a[1:], axis=0),
        a.sum(),
        np.prod(a[:, :2], axis=1),
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool", "complex128"])
def test_reductions_of_arrays_agree_with_numpy(dtype):
    a = (np.arange(40.0).reshape(5, 8) % 7 - 2).astype(dtype)
    offloaded = numba.njit(reduced_along_axes)
    for _ in range(2):
        for found, expected in zip(offloaded(dpnp.asarray(a)), reduced_along_axes(a), strict=True):
            on_host = found.asnumpy() if hasattr(found, "asnumpy") else found
            np.testing.assert_allclose(on_host, expected, rtol=1e-5 if dtype == "float32" else 1e-12)
            assert not hasattr(found, "asnumpy") or found.dtype == expected.dtype


def of_arrays_made_here(length, k):
    a, b = np.ones(length), np.zeros(length)
    for i in prange(length):
        b[i] = a[i] * k
    return b


@pytest.mark.parametrize("number", [3, 3.0, True])
def test_launch_of_an_earlier_call_serves_in_a_context(monkeypatch, number):
    """Python's numbers are NumPy's of 64 bits there."""
    resolved, resolve = [], ParallelLoop._resolved
    monkeypatch.setattr(ParallelLoop, "_resolved", lambda *given: resolved.append(None) or resolve(*given))
    offloaded = numba.njit(of_arrays_made_here)
    with kapi_runtime.device_context("opencl:cpu"):
        found = [offloaded(LENGTH, number) for _ in range(3)]
    np.testing.assert_array_equal(dpnp.asnumpy(found[-1]), np.full(LENGTH, float(number)))
    assert len(resolved) == 1
