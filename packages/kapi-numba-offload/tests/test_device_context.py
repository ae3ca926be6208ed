"""NumPy arrays inside `kapi_runtime.device_context`: offloaded, with Numba's own types, copied at the edges only."""

import threading

import numba
import numpy as np
import pytest
from numba import prange

import kapi_runtime
from _kapi_numba_hooks import CPUDispatcher


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
    with kapi_runtime.device_context("cpu"):
        inside = add(a, b)
    assert len(launches) == 1
    outside = add(a, b)
    assert len(launches) == 1
    assert type(inside) is np.ndarray
    np.testing.assert_array_equal(inside, outside)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("factor", [2, 0.5])
def test_results_have_numbas_types(dtype, factor, launches):
    """Dtypes and types of results are what Numba gives outside of the context."""
    a = np.arange(1, 200).astype(dtype)
    expected = scaled_sum(a, factor)
    with kapi_runtime.device_context("cpu"):
        found = scaled_sum(a, factor)
    assert len(launches) == 2
    assert found[0].dtype == expected[0].dtype
    assert type(found[1]) is type(expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-15)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_arrays_changed_in_place_are_copied_back():
    """Arguments have their new values, and a returned argument is the argument."""
    a, b = np.zeros(5, dtype=np.float32), np.arange(5, dtype=np.float32)
    with kapi_runtime.device_context("cpu"):
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
    with kapi_runtime.device_context("cpu"):
        assert f(a) == 7 * 2**60


def test_functions_without_kernels_stay_numbas(launches):
    """A plain loop is Numba's own, inside the context as outside, without a warning."""

    @numba.njit
    def running(a):
        for i in range(1, a.shape[0]):
            a[i] += a[i - 1]
        return a

    with kapi_runtime.device_context("cpu"):
        assert running(np.ones(4)).tolist() == [1, 2, 3, 4]
    assert launches == []


def test_other_threads_are_outside(launches):
    """The context is the thread's own."""
    found = []
    with kapi_runtime.device_context("cpu"):
        thread = threading.Thread(target=lambda: found.append(add(np.ones(2), np.ones(2))))
        thread.start()
        thread.join()
    assert found[0].tolist() == [2, 2]
    assert launches == []


def test_dispatchers_are_numbas_own_outside():
    """Numba's class is as it was."""
    with kapi_runtime.device_context("cpu"):
        assert "__call__" in vars(CPUDispatcher)
    assert "__call__" not in vars(CPUDispatcher)
