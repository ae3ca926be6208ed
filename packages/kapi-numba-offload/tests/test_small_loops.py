"""Loops over small arrays are NumPy's, in the memory of the arrays; results are what they are on the device."""

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload
from kapi_sim.errors import KapiError

M = np.arange(20.0).reshape(4, 5) + 1


@pytest.fixture(autouse=True)
def small_loops(monkeypatch, no_small_loops):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "100")


def time_loop(a, b):
    for _ in range(4):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a[1:-1] = (b[:-2] + b[2:]) / 2
    return a


def rows(a, b):
    for k in range(a.shape[0]):
        for i in range(a.shape[0]):
            a[i, :] = np.minimum(a[i, :], a[i, k] + a[k, :])
    return a, b


def overlapping(a, b):
    for _ in range(3):
        a[1:] += a[:-1]
        b[::-1] -= b
    return a


def new_arrays(a, b):
    for k in range(3):
        c = a * k
        a = c + b
        n = k
    return a, c, n


def views(a, b):
    for k in range(2):
        row = a[k]
        row *= 2
    return row, a


def returns(a, b):
    for k in range(a.shape[0]):
        c = a[k] * 2
        if c.sum() > 30:
            return c
    return b


def dots(a, b):
    for i in range(1, 4):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
    return a


def division(a, b):
    for _ in range(2):
        b[:] = a / (a - a[0])
    return b


@pytest.mark.parametrize("function", [time_loop, rows, overlapping, new_arrays, views, returns, dots, division])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_small_loops_leave_what_they_leave_on_the_device(function, dtype, launches, monkeypatch, assert_same):
    def called():
        own = [dpnp.asarray(M.astype(dtype)), dpnp.asarray(M.astype(dtype)) * 0.5]
        found = numba.njit(function)(*own)
        return *(found if isinstance(found, tuple) else (found,)), *own

    found = called()
    assert not launches
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")
    assert_same(found, called())


def test_what_is_given_back_is_the_array_that_was_given():
    a, b = dpnp.asarray(M), dpnp.asarray(M)
    assert numba.njit(time_loop)(a, b) is a


def test_larger_arrays_and_other_memory_stay_on_the_device(launches):
    function = numba.njit(time_loop)
    for kind, size in (("device", 30), ("shared", 4)):
        function(dpnp.ones((size, size), usm_type=kind), dpnp.ones((size, size), usm_type=kind))
        assert launches
        launches.clear()


def test_rows_count_and_not_their_matrix(launches):
    a = dpnp.ones((30, 30))
    numba.njit(rows)(a, a)
    assert not launches


def test_loops_are_told_and_stay_where_fallback_is_off(launches):
    function = kapi_numba_offload.offload(time_loop)
    (part,) = kapi_numba_offload.explain(function, dpnp.asarray(M), dpnp.asarray(M)).parts
    assert (part.where, part.moved) == ("host", 0)
    assert "small" in part.reason
    strict = kapi_numba_offload.offload(fallback=False)(time_loop)
    strict(dpnp.asarray(M), dpnp.asarray(M))
    assert launches


def test_loops_over_arrays_of_two_queues_are_refused_all_the_same():
    import dpctl

    first, second = (dpnp.ones((4, 4), sycl_queue=dpctl.SyclQueue()) for _ in range(2))
    with pytest.raises((KapiError, ValueError)):
        numba.njit(time_loop)(first, second)
