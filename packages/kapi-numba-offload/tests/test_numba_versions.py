"""Small calls of NumPy arrays in the context of the CPU, which Numba computes: its results are NumPy's."""

import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
import kapi_runtime


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")
    with kapi_runtime.device_context("cpu"):
        yield


def moved_up(a):
    a[1:] = a[:-1]
    return a


def shifted(a):
    a[:-2] = a[:-2] + a[2:]
    return a


def updated(a):
    a[1:] = a[:-1]
    a[:-2] += a[2:]
    return a


def reversed_in_place(a):
    a[:] = a[::-1] + 1
    return a


def by_a_name(a):
    b = a[::-1] + 1
    c = b * 2
    a[:] = c
    return a, b


def added_to_itself(a):
    d = a[::-1] - a
    a += d
    return a


def cleared(a):
    b = a[::-1]
    c = b + a
    a[:] = 0.0
    return a, c


def through_a_view(a):
    v = a[1:]
    v[:] = a[:-1]
    return a


def swapped(a):
    b = np.ones_like(a)
    a, b = b, a
    c = b
    c[:-1] += b[1:]
    return c, a, b


def through_a_call(a):
    moved(a)
    return a * 2


@numba.njit(parallel=True)
def moved(a):
    a[:] = a[::-1] + 1


@numba.njit
def tail(a):
    return a[1:]


def through_a_result(a):
    b = tail(a)
    b[:] = a[:-1]
    return a * 2, b


@numba.njit(parallel=True)
def doubled(a, b):
    a[:] = b * 2 + 1


def through_parts_given(a):
    b = a * 3
    doubled(a[1:], a[:-1])
    return a + b


def views_of_before_a_loop(a):
    b, c = a[1:], a[:-1]
    for _ in range(3):
        b[:] = c + 1
    return a


def swapped_within_an_iteration(a):
    b = a * 2
    for _ in range(3):
        b[1:] = a[:-1] + 1
        a, b = b, a
        b[1:] = a[:-1] * 2
    return a, b


def swapped_in_a_branch(a):
    b = a * 2
    for k in range(4):
        if k % 2:
            b = a
        b[1:] = a[:-1] + 1
        a = a + b
    return a, b


def handed_on_by_a_loop(a):
    b, c = a * 2, a * 3
    for _ in range(4):
        c[1:] = b[:-1] + 1
        b = c
    return a, b, c


def a_loop_that_is_none(a):
    b = a * 2
    while True:
        b[1:] = a[:-1] + 1
        a, b = b, a
        break
    b[1:] = a[:-1] * 2
    return a, b


def rows_of_rows(a):
    m = np.empty((4, a.size))
    m[:] = a
    for _ in range(3):
        for row in m:
            row[1:] = row[:-1] + 1
    return m


def by_entire_names(a):
    b = a * 2
    a, b = b, a
    c = a
    c += b
    b *= c
    c -= c * a
    return a, b, c


def in_rows(a):
    m = a.reshape(10, -1)
    for i in prange(m.shape[0]):
        row = m[i]
        row[1:] = row[:-1]
    return m


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("size", [10, 1000, 60_000])
@pytest.mark.parametrize(
    "function",
    [
        moved_up, shifted, updated, reversed_in_place, by_a_name, added_to_itself, cleared, through_a_view, swapped,
        through_a_call, through_a_result, by_entire_names, in_rows, through_parts_given, views_of_before_a_loop,
        swapped_within_an_iteration, swapped_in_a_branch, handed_on_by_a_loop, a_loop_that_is_none, rows_of_rows,
    ],
)  # fmt: skip
def test_statements_that_store_what_others_read_are_done_in_order(monkeypatch, function, size, parallel):
    """Numba's parallel code fuses them, and reads elements that it has stored."""
    found = numba.njit(parallel=parallel)(function)(np.arange(float(size)))
    monkeypatch.setitem(globals(), "moved", moved.py_func)
    monkeypatch.setitem(globals(), "doubled", doubled.py_func)
    monkeypatch.setitem(globals(), "tail", tail.py_func)
    expected = function(np.arange(float(size)))
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours, theirs)


def test_arrays_that_share_memory_are_read_before_stores():
    def stored(a, b):
        a[:] = b[::-1] + 1
        return a

    compiled = numba.njit(parallel=True)(stored)
    apart = np.arange(100.0), np.arange(100.0)
    np.testing.assert_array_equal(compiled(*apart), stored(np.arange(100.0), np.arange(100.0)))
    shared, expected = np.arange(100.0), np.arange(100.0)
    np.testing.assert_array_equal(compiled(shared, shared), stored(expected, expected))


def methods(a):
    return a.sum(), a.mean(), a.std(), a.var(), -a


def functions(a):
    return np.sum(a) * a, np.mean(a) * a, np.std(a) * a, np.var(a) * a


@pytest.mark.parametrize("size", [1, 100, 20_000])
@pytest.mark.parametrize("is_strided", [False, True])
def test_sums_of_float32_are_as_near_as_those_of_numpy(launches, size, is_strided):
    """Numba adds one element after the other in float32: at 20,000 elements it is wrong by 5e-6."""
    a = np.random.default_rng(size).random((2, size)).astype(np.float32)
    a = a[:, ::3] if is_strided else a
    exact = [getattr(a.astype(np.float64), name)() for name in ("sum", "mean", "std", "var")]
    np.testing.assert_allclose(numba.njit(methods)(a)[:4], exact, rtol=2e-7)
    for found, total in zip(numba.njit(parallel=True)(functions)(a), exact, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, np.float32(total) * a, rtol=3e-7)
    assert launches == []


def test_updates_that_an_array_cannot_hold_are_errors():
    @numba.njit
    def halved(a):
        a[1:] += a[:-1] * 0.5

    with pytest.raises(TypeError, match="Cannot cast"):
        halved(np.arange(10))


def test_defaults_and_closures_stay():
    factor = 3.0

    @numba.njit
    def f(a, b=2.0, c=1.0):
        a[1:] += a[:-1] * factor
        return a * b + c

    np.testing.assert_array_equal(f(np.arange(5.0)), f.py_func(np.arange(5.0)))
    np.testing.assert_array_equal(f(np.arange(5.0), 4.0), f.py_func(np.arange(5.0), 4.0))
    np.testing.assert_array_equal(f(np.arange(5.0), b=4.0, c=2.0), f.py_func(np.arange(5.0), b=4.0, c=2.0))


@pytest.mark.parametrize(("size", "is_parallel"), [(1000, False), (60_000, True)])
def test_short_calls_run_on_one_thread(size, is_parallel):
    """A static rule by the work of the call: the result is the same, and what Numba compiled tells how."""

    @numba.njit(parallel=True)
    def f(a):
        return a[::-1].copy()[1:] + a[1:]

    a = np.arange(float(size))
    np.testing.assert_array_equal(f(a), f.py_func(a))
    # Numba's own dispatcher has the parallel code, and another one the code for one thread.
    assert bool(f.signatures) == is_parallel


def swapped_each_step(a):
    b = a.copy()
    for _ in range(20):
        b[1:-1] = a[1:-1] + 0.2 * (a[2:] - 2 * a[1:-1] + a[:-2])
        a, b = b, a
    return a, b


def rotated_each_step(a):
    b, c = a.copy(), np.empty_like(a)
    for t in range(20):
        c[1:-1] = 2 * b[1:-1] - a[1:-1] + 0.1 * (b[2:] - 2 * b[1:-1] + b[:-2])
        c[0] = t
        c[-1] = 0.0
        a, b, c = b, c, a
    return a, b


def handed_on_each_step(a):
    n = 0
    while True:
        b = a.copy()
        b[1:-1] = 0.25 * a[:-2] + 0.5 * a[1:-1] + 0.25 * a[2:]
        n += 1
        if np.max(np.abs(b - a)) < 1e-9 or n > 20:
            break
        a = b
    return b


def counted_each_step(a):
    for _ in range(20):
        n = np.zeros_like(a)
        n[1:-1] = a[:-2] + a[2:]
        a = np.where(n > 2, n - a, a)
    return a


@pytest.mark.parametrize(
    "function", [swapped_each_step, rotated_each_step, handed_on_each_step, counted_each_step]
)  # fmt: skip
def test_swapped_arrays_have_no_race(function):
    """Its statements read no array that they store to, whichever name it has in the next iteration."""
    a = np.random.default_rng(0).random(5_000)
    compiled = numba.njit(parallel=True)(function)
    found, expected = compiled(a.copy()), function(a.copy())
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert compiled.signatures  # of the function's own dispatcher, which compiles for all threads


def test_reports_name_the_function():
    compiled = numba.njit(parallel=True)(updated)
    found = kapi_numba_offload.explain(compiled, np.arange(10.0))
    assert [each.reason for each in found.parts] == ["its arrays are small, and Numba computes where they are"]
