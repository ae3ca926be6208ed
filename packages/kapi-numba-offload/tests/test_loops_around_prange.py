"""Small loops around `prange` loops, and around calls, are Numba's where its code does the same; else the device's."""

from types import FunctionType

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
from kapi_sim.errors import KernelLaunchError
from kapi_sim.testing.reports import raises

M = np.arange(20.0).reshape(4, 5) + 1


@pytest.fixture
def small_loops(monkeypatch):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "100")


def time_loop(a, b):
    for _ in range(3):
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                b[i, j] = a[i, j] * 0.5 + b[i, j] // 2
        a += b
    return a


def a_sum_in_each_iteration(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        s = 0.0
        for j in prange(a.shape[1]):
            s += a[k, j] * b[k, j]
        total = total * 0.5 + s
        b[k] += s
    return a * total


def repeated_calls(function, calls):
    """Results and arguments of calls, and where the loops of each ran."""
    dispatcher, found, where = numba.njit(function), [], []
    for _ in range(calls):
        own = [dpnp.asarray(M), dpnp.asarray(M) * 0.5]
        returned = dispatcher(*own)
        found.append([returned, *own])
        reasons = [each.reason or "" for each in kapi_numba_offload.offload_reports(dispatcher)[-1].parts]
        where.append(any("Numba computes" in each for each in reasons))
    return found, where


@pytest.mark.sycl
@pytest.mark.parametrize("function", [time_loop, a_sum_in_each_iteration])
def test_each_call_runs_the_same_code(function, small_loops, monkeypatch, assert_same):
    """From the first one on; the device gives the same."""
    found, where = repeated_calls(function, 4)
    assert where == [True] * 4
    expected = [M.copy(), M * 0.5]
    np.testing.assert_allclose(found[0][0].asnumpy(), function(*expected))
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")
    on_device, where = repeated_calls(function, 2)
    assert where == [False] * 2
    for each in (*found, *on_device):
        assert_same(tuple(each), tuple(found[0]))


def pairs(a, b):
    for _ in range(2):
        for i in prange(a.shape[0]):
            s = 0.0
            for j in range(a.shape[0]):
                s += a[j, 0] / (1.0 + abs(i - j))
            b[i, 0] = s


def pairs_in_a_function(a, b):
    for _ in range(2):
        for i in prange(a.shape[0]):
            b[i, 0] = weighted(a, i)


@numba.njit
def weighted(a, i):
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j, 0] / (1.0 + abs(i - j))
    return s


def rows_of_pairs(a, b):
    for _ in range(2):
        for i in prange(a.shape[0]):
            b[i] = np.sqrt(a[i])


@pytest.mark.sycl
@pytest.mark.parametrize(("function", "elements"), [(pairs, 25), (pairs_in_a_function, 25), (rows_of_pairs, 25)])
def test_loops_within_count_as_work(function, elements, monkeypatch):
    """A loop of 5 iterations that each go over 5 elements is as much work as 25 elements."""
    for most, is_host in ((elements, True), (elements - 1, False)):
        monkeypatch.setenv("KAPI_OFFLOAD_SMALL", str(most))
        given = dpnp.asarray(M), dpnp.zeros((4, 5))
        dispatcher = numba.njit(FunctionType(function.__code__, globals()))
        dispatcher(*given)
        (report,) = kapi_numba_offload.offload_reports(dispatcher)
        assert any("Numba computes" in (each.reason or "") for each in report.parts) is is_host


def test_loops_of_unknown_length_within_stay_on_the_device(small_loops, launches):
    @numba.njit
    def until(a, b):
        for _ in range(2):
            for i in prange(a.shape[0]):
                while a[i, 0] > 1:
                    a[i, 0] *= 0.5

    until(dpnp.asarray(M), dpnp.asarray(M))
    assert launches


def test_arrays_that_share_memory_are_the_devices(small_loops):
    """It refuses them, also after others of their shapes were Numba's."""
    dispatcher = numba.njit(time_loop)
    dispatcher(dpnp.asarray(M[:3]), dpnp.asarray(M[:3]))
    a = dpnp.asarray(M)
    with raises(KernelLaunchError, "arguments-overlap", words=False):
        dispatcher(a[:3], a[1:])


def test_a_loop_that_numba_does_not_compile_stays_on_the_device(small_loops, monkeypatch):
    monkeypatch.setattr("kapi_numba_offload.loops.host.host_loop.HostLoop.compiles", lambda *_: False)
    assert repeated_calls(time_loop, 2)[1] == [False] * 2


def test_a_loop_of_float32_stays_on_the_device(small_loops, launches):
    """Numba's types would be others."""
    dispatcher = numba.njit(time_loop)
    for _ in range(2):
        a = dpnp.asarray(M, dtype="float32")
        launches.clear()
        dispatcher(a, a * 1)
        assert launches


@pytest.mark.sycl
def test_statements_read_the_indices_of_what_they_store_to(monkeypatch):
    """These are no arrays, so that such a loop may be Numba's."""
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "100")

    def rows(a, b):
        for i in range(a.shape[0]):
            b[i, :] += a[i, :] * i
        return b

    found, where = repeated_calls(rows, 2)
    assert where == [True, True]
    for each in found:
        np.testing.assert_allclose(each[0].asnumpy(), rows(M.copy(), M * 0.5))


@numba.njit
def moved(a, by):
    """Store to what it is given, and return a new array."""
    old = a.copy()
    a[1:-1] = (old[:-2] + old[2:]) * by
    a[0] = a[1]
    return old / (old - old[0])


@numba.njit
def energies(a, b):
    column = a[:, 0:1]
    difference = column.T - column + 0.5
    for i in range(difference.shape[0]):
        for j in range(difference.shape[1]):
            if difference[i, j] > 1:
                difference[i, j] **= -1.5
    return np.sum(difference), twice(0.5 * np.sum(b))


@numba.njit
def twice(x):
    return x * 2


def calls_functions(a, b):
    for _ in range(3):
        c = moved(a, 0.5)
        b += np.minimum(c, 1) * 0.1
        b[0, 0], b[0, 1] = energies(a, b)
    return a * 2


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_loops_that_call_functions_are_compiled_with_them(small_loops):
    found, where = repeated_calls(calls_functions, 2)
    assert where == [True] * 2
    expected = [M.copy(), M * 0.5]
    with np.errstate(all="ignore"):
        outside = {**globals(), "moved": moved.py_func, "energies": energies.py_func, "twice": twice.py_func}
        by_numpy = FunctionType(calls_functions.__code__, outside)(*expected)
    for each in found:
        for own, other in zip(each, [by_numpy, *expected], strict=True):
            np.testing.assert_allclose(own.asnumpy(), other, rtol=1e-12)


@numba.njit
def added(a, b):
    a += b
    return 0


@numba.njit
def itself(a):
    return a


@numba.njit
def shortened(a):
    return a.astype(np.float32) * 0.1


@numba.njit("float32(float64)")
def third(x):
    return x / 3


def calls_with_a_signature(a, b):
    for k in range(3):
        a += b * third(k)
    return a


def changes_a_row_by_another(a, b):
    for _ in range(3):
        added(a[1:], a[:-1])
        a *= 0.5
    return a


def keeps_a_name(a, b):
    for _ in range(3):
        c = itself(a)
        a[1:] += c[:-1]
    return a


def has_another_dtype(a, b):
    for _ in range(3):
        a += shortened(b)
    return a


@pytest.mark.parametrize("function", [changes_a_row_by_another, keeps_a_name, has_another_dtype])
def test_loops_whose_functions_numba_does_otherwise_stay_on_the_device(function, small_loops, assert_same):
    """It stores while it reads, and has types of its own."""
    found, where = repeated_calls(function, 3)
    assert where == [False] * 3
    for each in found:
        assert_same(tuple(each), tuple(found[0]))


def test_function_with_a_signature_converts_its_numbers_on_the_host(small_loops, is_gpu):
    found, where = repeated_calls(calls_with_a_signature, 3)
    assert where == [not is_gpu] * 3
    for returned, *_ in found:
        np.testing.assert_allclose(returned.asnumpy(), calls_with_a_signature(M.copy(), M * 0.5), rtol=1e-15)


@numba.njit
def scaled(a, position):
    return np.sum(a[0, int(position)] * a)


def loop_with_index(a, position):
    for _ in range(2):
        a *= scaled(a, position)


def test_indices_are_checked_in_functions_that_a_loop_calls(small_loops):
    """As on the device."""
    dispatcher = numba.njit(loop_with_index)
    dispatcher(dpnp.asarray(M), 1.0)
    parts = kapi_numba_offload.offload_reports(dispatcher)[-1].parts
    assert any("Numba computes" in (each.reason or "") for each in parts)
    with pytest.raises(IndexError):
        dispatcher(dpnp.asarray(M), 9.0)
