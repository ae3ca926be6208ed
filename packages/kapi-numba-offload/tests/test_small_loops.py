"""Loops over small arrays are NumPy's, in the memory of the arrays; results are what they are on the device."""

import types

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
        n = k + 1
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


# Each function has one of the dtypes by day, another than the one before it, and all of them at night.
@pytest.mark.sycl
@pytest.mark.parametrize(("function", "dtype"), [
    pytest.param(function, dtype, marks=() if (row + column) % 2 == 0 else pytest.mark.nightly)
    for row, function in enumerate([time_loop, rows, overlapping, new_arrays, views, returns, dots, division])
    for column, dtype in enumerate(["float64", "float32"])
])  # fmt: skip
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


@pytest.mark.sycl
def test_larger_arrays_and_other_memory_stay_on_the_device(launches):
    function = numba.njit(time_loop)
    for kind, size in (("device", 30), ("shared", 4)):
        function(dpnp.ones((size, size), usm_type=kind), dpnp.ones((size, size), usm_type=kind))
        assert launches
        launches.clear()


def test_rows_count_and_not_their_matrix(launches, no_group_does_a_loop):
    a = dpnp.ones((30, 30))
    numba.njit(rows)(a, a)
    assert not launches


@pytest.mark.sycl
def test_loops_are_reported_and_stay_where_fallback_is_off(launches):
    function = kapi_numba_offload.offload(time_loop)
    (part,) = kapi_numba_offload.explain(function, dpnp.asarray(M), dpnp.asarray(M)).parts
    assert (part.where, part.moved) == ("host", 0)
    assert "small" in part.reason
    strict = kapi_numba_offload.offload(fallback=False)(time_loop)
    strict(dpnp.asarray(M), dpnp.asarray(M))
    assert launches


@pytest.mark.sycl
def test_loops_over_arrays_of_two_queues_are_refused_all_the_same():
    import dpctl

    first, second = (dpnp.ones((4, 4), sycl_queue=dpctl.SyclQueue()) for _ in range(2))
    with pytest.raises((KapiError, ValueError)):
        numba.njit(time_loop)(first, second)


def without_options(function):
    """A copy: other tests switch fallback off for the same function."""
    return types.FunctionType(function.__code__, function.__globals__)


def crossed(a, b):
    for _ in range(2):
        a += b
        b *= a
    return a, b


def shifted(a, b):
    for _ in range(3):
        a[1:] = a[:-1]
        b[:, 1:] = b[:, :-1] + a[:, 1:]
        a[:, :] = a[::-1, :]
        b[:] = b[:, ::-1] * 2
    return a


def int_types(a, b):
    for k in range(3):
        b += (a[k] // 2) * k - a[k] % 3
    return b


def test_products_of_larger_matrices_are_small_loops(launches):
    """A call of one costs more than the product of a row and a matrix."""

    @numba.njit
    def products(a, b):
        for i in range(a.shape[0]):
            b[i] = a[i] @ a.T

    a, b = dpnp.asarray(np.arange(900.0).reshape(30, 30)), dpnp.zeros((30, 30))
    products(a, b)
    assert "its arrays are small" in str(kapi_numba_offload.offload_reports(products)[0].text(2))
    np.testing.assert_allclose(b.asnumpy(), a.asnumpy() @ a.asnumpy().T)


def test_axes_with_one_index_do_not_count(launches):
    """Of a stack of images, an iteration works on one."""

    @numba.njit
    def stack(a):
        for i in range(a.shape[0]):
            for j in range(a.shape[3]):
                a[i, :, :, j] *= np.reshape(a[i, :, :, j], (4, 5)) + 1
        return a

    a = np.arange(2000.0).reshape(10, 4, 5, 10)
    found = stack(dpnp.asarray(a))
    assert "its arrays are small" in str(kapi_numba_offload.offload_reports(stack)[0].text(2))
    np.testing.assert_array_equal(found.asnumpy(), a * (a + 1))


@pytest.mark.sycl
def test_windows_of_larger_arrays_are_small(launches, monkeypatch):
    """A slice of so many elements is that long, whatever its array."""

    @numba.njit
    def smooth(a, b, k):
        for i in range(a.shape[0] - k):
            for j in range(a.shape[1] - 2):
                window = a[i : i + k, j : j + 2].copy()
                b[i, j, :] = np.sum(window, axis=0) * 0.5

    a = np.arange(900.0).reshape(30, 30)
    for k, is_small in ((3, True), (28, True), (29, False)):
        found, expected = dpnp.zeros((30, 30, 4))[..., ::2], np.zeros((30, 30, 2))
        with monkeypatch.context() as patched:
            patched.setenv("KAPI_OFFLOAD_SMALL", "57")
            smooth(dpnp.asarray(a), found, k)
        text = str(kapi_numba_offload.offload_reports(smooth)[0].text(2))
        assert ("its arrays are small" in text) is is_small
        smooth.py_func(a, expected, k)
        np.testing.assert_allclose(found.asnumpy(), expected)


@pytest.mark.sycl
@pytest.mark.parametrize("function", [time_loop, rows, new_arrays, dots, int_types, shifted])
def test_small_loops_are_compiled_and_leave_the_same(function, launches, monkeypatch, assert_same):
    """By Numba, where the types are the same for it, from the first call on."""
    dispatcher = numba.njit(without_options(function))

    def called():
        own = [dpnp.asarray(M), dpnp.asarray(M) * 0.5]
        found = dispatcher(*own)
        return *(found if isinstance(found, tuple) else (found,)), *own

    by_numba = called()
    parts = kapi_numba_offload.offload_reports(dispatcher)[-1].parts
    assert any("Numba computes" in (each.reason or "") for each in parts)
    assert not launches
    assert_same(called(), by_numba)
    monkeypatch.setattr("kapi_numba_offload.loops.host.host_loop.HostLoop.compiles", lambda *_: False)
    assert_same(called(), by_numba)
    parts = kapi_numba_offload.offload_reports(dispatcher)[-1].parts
    assert any("NumPy computes" in (each.reason or "") for each in parts)


@pytest.mark.parametrize("function", [overlapping, views, crossed])
def test_small_loops_in_which_arrays_may_share_memory_stay_with_numpy(function, monkeypatch, assert_same):
    """NumPy reads all of an operation before it stores, Numba one element after the other."""
    dispatcher = numba.njit(function)

    def called():
        own = dpnp.asarray(M)
        return dispatcher(own[:3], own[1:])

    by_numpy = called()
    for _ in range(2):
        assert_same(called(), by_numpy)


def transposed(a):
    for _ in range(3):
        x = a.transpose()
        a += x
    return a


def reshaped(a):
    for _ in range(3):
        x = a.reshape((4, 4))
        a[1:] -= x[:-1]
    return a


def listed(a):
    for _ in range(3):
        for i, row in enumerate(a):
            row[1:] += a[i, :-1]
    return a


def with_an_output(a):
    for _ in range(3):
        b = a * 2
        np.subtract(b, a.T, a)
        np.add(a[:-1], b[:-1], a[1:])
    return a


@pytest.mark.parametrize("function", [transposed, reshaped, listed, with_an_output])
def test_small_loops_that_change_an_array_by_itself_are_not_left_to_numba(function, monkeypatch):
    """A method or a loop may return a view, and a function may store to an array that it reads."""
    dispatcher, expected = numba.njit(function), function(M[:, :4].copy())
    for _ in range(3):
        np.testing.assert_array_equal(dispatcher(dpnp.asarray(M[:, :4])).asnumpy(), expected)


@pytest.mark.parametrize("scale", [np.float32(0.1), 0.1])
def test_small_loops_whose_types_are_others_for_numba_stay_with_numpy(scale, monkeypatch):
    """A product of float32 is float32, and float64 for Numba if the other factor is Python's."""

    @numba.njit
    def f(a, scale):
        for _ in range(2):
            a = a * scale
        return a

    for _ in range(3):
        found = f(dpnp.ones(4, dtype="float32"), scale)
    assert found.dtype == np.float32
    reasons = [each.reason or "" for each in kapi_numba_offload.offload_reports(f)[0].parts]
    assert not any("Numba computes" in each for each in reasons)


def test_a_compiled_small_loop_does_not_reach_beyond_its_arrays(monkeypatch):

    @numba.njit
    def f(a, b, last):
        for k in range(last):
            a[:] = b * b[k]

    a, b = dpnp.ones(4), dpnp.ones(4)
    f(a, b, 4)
    f(a, b, 4)
    with pytest.raises(IndexError):
        f(a, b, 1000)


def recurrence_over_columns(a, b):
    for j in range(2, a.shape[1]):
        a[:, j] = 0.5 * a[:, j - 1] + 0.25 * a[:, j - 2] + b[:, j] * b[:, j - 1]


def test_a_recurrence_over_columns_is_one_launch_on_a_gpu(as_on_a_gpu, launches):
    a, b = np.random.default_rng(3).random((2, 1500, 40))
    on_device = [dpnp.asarray(each) for each in (a, b)]
    numba.njit(recurrence_over_columns)(*on_device)
    recurrence_over_columns(a, b)
    np.testing.assert_allclose(on_device[0].asnumpy(), a)
    assert len(launches) == 1
