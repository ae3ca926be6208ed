"""NumPy arrays inside `kapi_runtime.device_context`: offloaded, with Numba's own types, copied at the edges only."""

import threading

import numba
import numpy as np
import pytest
from numba import prange

import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning, offload_reports
from kapi_numba_offload._numba_compat import CPUDispatcher
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises


@numba.njit
def add(a, b):
    return a + b


@numba.njit(parallel=True)
def scaled_sum(a, factor):
    b = a * factor + 1
    s = 0.0
    for i in prange(a.shape[0]):
        s += b[i]
    return b, s


@numba.njit(parallel=True)
def in_place(a, b):
    for i in prange(a.shape[0]):
        a[i] = b[i] * 2
    b += 1
    return b


def test_context_offloads_numpy_arrays(launches):
    """Inside the context the kernel runs on the device; outside Numba's own code does."""
    a, b = np.arange(4.0), np.ones(4)
    with kapi_runtime.device_context("opencl:cpu"):
        inside = add(a, b)
    assert len(launches) == 1
    outside = add(a, b)
    assert len(launches) == 1
    assert type(inside) is np.ndarray
    np.testing.assert_array_equal(inside, outside)


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("factor", [2, 0.5])
def test_results_have_numba_types(dtype, factor, launches):
    """Dtypes and types of results are what Numba gives outside of the context."""
    a = np.arange(1, 200).astype(dtype)
    expected = scaled_sum(a, factor)
    with kapi_runtime.device_context("opencl:cpu"):
        found = scaled_sum(a, factor)
    assert len(launches) in (2, 3)  # the sum is one or two
    assert found[0].dtype == expected[0].dtype
    assert type(found[1]) is type(expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-15)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_arrays_changed_in_place_are_copied_back():
    """Arguments have their new values, and a returned argument is the argument."""
    a, b = np.zeros(5, dtype=np.float32), np.arange(5, dtype=np.float32)
    with kapi_runtime.device_context("opencl:cpu"):
        result = in_place(a, b)
    assert result is b
    assert a.tolist() == [0, 2, 4, 6, 8]
    assert b.tolist() == [1, 2, 3, 4, 5]


def test_int32_sums_do_not_wrap():
    """Numba adds int32 in 64 bits; so does the kernel."""

    @numba.njit(parallel=True)
    def f(a):
        s = 0
        for i in prange(a.shape[0]):
            s += a[i] * a[i]
        return s

    a = np.full(7, 2**30, dtype=np.int32)
    with kapi_runtime.device_context("opencl:cpu"):
        assert f(a) == 7 * 2**60


def test_functions_without_kernels_stay_with_numba(launches, monkeypatch):
    """A plain loop is Numba's own, with a warning; an error where the fallback is off."""

    @numba.njit
    def running(a):
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1]
        return a

    with kapi_runtime.device_context("opencl:cpu"):
        with pytest.warns(OffloadFallbackWarning, match=r"variable `running`: .*\[host-call\]"):
            assert running(np.ones(4)).tolist() == [1, 2, 3, 4]
        for switch in ("0", "false", "No", "OFF"):
            monkeypatch.setenv("KAPI_OFFLOAD_FALLBACK", switch)
            with raises(KernelCompilationError, "offload-falls-back"):
                running(np.ones(4))
    assert launches == []


def test_what_runs_on_the_host_of_an_offloaded_function_gives_numba_results(launches):
    """One part is a kernel, the loop after it is Numba's."""

    @numba.njit
    def f(a):
        b = np.sin(a) + 1
        for i in range(1, b.shape[0]):
            b[i] += b[i - 1]
        return b

    a = np.arange(5.0)
    with kapi_runtime.device_context("opencl:cpu"), pytest.warns(OffloadFallbackWarning, match="sequential-loop"):
        found = f(a)
    np.testing.assert_allclose(found, np.cumsum(np.sin(a) + 1))
    assert len(launches) == 1


def test_functions_without_source_are_offloaded_or_reported(launches):
    scope = {"np": np, "numba": numba}
    exec("@numba.njit\ndef f(a):\n    return np.sin(a) + 1\n", scope)
    exec("@numba.njit\ndef g(a):\n    s = 0.0\n    for x in a:\n        s += x\n    return s\n", scope)
    with kapi_runtime.device_context("opencl:cpu"):
        np.testing.assert_allclose(scope["f"](np.ones(3)), np.sin(np.ones(3)) + 1)
        with pytest.warns(OffloadFallbackWarning, match="source in a file"):
            assert scope["g"](np.ones(3)) == 3
    assert len(launches) == 1


def test_defaults_keywords_and_tuples_are_offloaded(launches):
    @numba.njit
    def scaled(a, factor=2.0, offset=0.0):
        return a * factor + offset

    @numba.njit
    def summed(pair):
        return pair[0] + pair[1]

    a = np.arange(4.0)
    with kapi_runtime.device_context("opencl:cpu"):
        found = [scaled(a), scaled(a, offset=1.0), scaled(a=a, factor=3.0), summed((a, a))]
    assert len(launches) == 4
    for one, other in zip(found, [a * 2, a * 2 + 1, a * 3, a + a], strict=True):
        np.testing.assert_array_equal(one, other)
    (report,) = offload_reports(summed)
    assert [part.outcome for part in report.parts] == ["offloaded"]


def test_functions_that_make_their_arrays_are_offloaded(launches):
    @numba.njit
    def f(n):
        a = np.ones(n)
        s = 0.0
        for i in prange(n):
            s += a[i] * 2
        return s, a

    with kapi_runtime.device_context("opencl:cpu"):
        total, made = f(100)
    assert (total, type(made), made.sum()) == (200.0, np.ndarray, 100.0)
    assert len(launches) >= 1


def test_other_threads_are_outside(launches):
    """The context is the thread's own."""
    found = []
    with kapi_runtime.device_context("opencl:cpu"):
        thread = threading.Thread(target=lambda: found.append(add(np.ones(2), np.ones(2))))
        thread.start()
        thread.join()
    assert found[0].tolist() == [2, 2]
    assert launches == []


def test_dispatchers_are_left_to_numba_outside():
    """Numba's class is as it was."""
    with kapi_runtime.device_context("opencl:cpu"):
        assert "__call__" in vars(CPUDispatcher)
    assert "__call__" not in vars(CPUDispatcher)
