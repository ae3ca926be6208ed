"""Functions over CuPy's arrays: CuPy itself on a machine with a GPU, elsewhere what stands in for it and the driver."""

import importlib
import sys

import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
from kapi_numba_offload.libraries.arrays import queue_of
from kapi_numba_offload.libraries.cupy import CupyLibrary
from kapi_numba_offload.libraries.installed import library_of
from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.testing.reports import raises

cupy = importlib.import_module("cupy")  # or what stands in for it
ANSWERS = sys.modules["cupy_answers"]
DRIVER = getattr(sys.modules.get("driver_standin"), "DRIVER", None)
CALLS = getattr(sys.modules.get("cupy_standin"), "CALLS", None)

stand_in = pytest.mark.skipif(DRIVER is None, reason="the stand-ins keep a record, which CuPy does not")


@numba.njit
def fused(x, y):
    t = np.exp(-x) + y
    return t * t - 1


@numba.njit
def positive_sum(x, found):
    total = 0.0
    for i in prange(x.size):
        if x[i] > 0:
            total += x[i]
            found[i] = True
    return total


def pair(n=1000):
    rng = np.random.default_rng(5)
    return rng.standard_normal(n), rng.standard_normal(n)


@pytest.mark.skipif(DRIVER is None, reason="`tools/gpu.py` compares CuPy's answers")
def test_the_stand_in_answers_as_cupy_was_recorded_to():
    assert ANSWERS.answers(cupy) == ANSWERS.RECORDED["answers"]
    assert ANSWERS.differing_dtypes(cupy) == ANSWERS.RECORDED["dtypes"]
    assert ANSWERS.missing_names(cupy) == ANSWERS.RECORDED["missing"]


def test_arrays_are_of_cupy_s_library(launches):
    x, y = pair()
    found = fused(cupy.asarray(x), cupy.asarray(y))
    assert type(library_of(found)) is CupyLibrary
    assert len(launches) == 1
    np.testing.assert_allclose(found.get(), fused(x, y), rtol=1e-13)


def test_a_loop_s_sum_is_a_number_and_its_array_is_stored_to(launches):
    x, _ = pair()
    found = cupy.zeros(x.size, bool)
    total = positive_sum(cupy.asarray(x), found)
    assert type(total) is float
    assert launches
    np.testing.assert_allclose(total, x[x > 0].sum())
    np.testing.assert_array_equal(found.get(), x > 0)


def test_the_stream_of_a_call_is_the_current_one():
    """Also where an earlier call of the same types was on another one, and for arrays that were made on another one."""
    x, y = map(cupy.asarray, pair())
    expected = fused(x, y).get()
    for _ in range(2):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            cupy.cuda.Device().synchronize()
            assert queue_of(x).handle == stream.ptr
            found = fused(x, y)
            stream.synchronize()
        np.testing.assert_array_equal(found.get(), expected)
        assert queue_of(x).handle != stream.ptr
        np.testing.assert_array_equal(fused(x, y).get(), expected)


@stand_in
def test_kernels_and_cupy_s_own_functions_go_to_the_current_stream():
    @numba.njit
    def several(x):
        y = np.sort(x * 2)
        return np.sum(y * x)

    x = cupy.asarray(pair()[0])
    for stream in (cupy.cuda.Stream(), cupy.cuda.Stream.null, cupy.cuda.Stream()):
        DRIVER.launches.clear()
        CALLS.clear()
        with stream:
            several(x)
        assert {each.stream for each in DRIVER.launches} == {stream.ptr or 1}  # the legacy default stream's other name
        assert ("sort", 0, stream.ptr) in CALLS
        assert {handle for _, _, handle in CALLS} == {stream.ptr}


@stand_in
def test_device_of_a_call_is_that_of_its_arrays():
    """Whichever is current; what CuPy does is done there, too."""
    with cupy.cuda.Device(1), cupy.cuda.Stream() as there:
        x, y = map(cupy.asarray, pair())
        DRIVER.launches.clear()
        found = fused(x, y)
    assert {each.stream for each in DRIVER.launches} == {there.ptr}
    assert found.device.id == 1
    CALLS.clear()
    again = fused(x, y)
    assert again.device.id == 1
    np.testing.assert_array_equal(again.get(), found.get())
    made = numba.njit(lambda x: np.ones(3) + x[:3])(x)
    assert made.device.id == 1
    assert {device for _, device, _ in CALLS} <= {1}


@stand_in
def test_arrays_of_two_devices_are_refused_by_name():
    here = cupy.ones(4)
    with cupy.cuda.Device(1):
        there = cupy.ones(4)
    with raises(ExecutionPlacementError, "different-queues", words=False) as raised:
        fused(here, there)
    assert "`x` on NVIDIA" in str(raised.value)
    assert "`y` on NVIDIA" in str(raised.value)


def test_repeated_launches_are_a_graph_s():
    """More iterations than are worth a recording, and one that is left over."""

    @numba.njit
    def relaxed(a, b, count):
        for _ in range(count):
            b[1:-1] = 0.5 * (a[:-2] + a[2:])
            a[1:-1] = 0.5 * (b[:-2] + b[2:])

    a, b = pair(60)
    ours = cupy.asarray(a), cupy.asarray(b)
    relaxed(*ours, 601)
    relaxed.py_func(a, b, 601)
    np.testing.assert_allclose(ours[0].get(), a, rtol=1e-12)
    np.testing.assert_allclose(ours[1].get(), b, rtol=1e-12)


def test_what_cupy_lacks_runs_on_the_host_and_comes_back():
    function = numba.njit(lambda x: np.insert(x, 1, 7.0) * 2)
    with pytest.warns(kapi_numba_offload.OffloadFallbackWarning, match="insert"):
        found = function(cupy.arange(3.0))
    assert type(found) is cupy.ndarray
    assert found.get().tolist() == [0, 14, 2, 4]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "complex64"])
def test_dtypes_are_cupy_s(dtype):
    """Of whole-array code that is a kernel, and of the same function without it."""
    x = cupy.arange(1, 9, dtype=dtype)
    y = cupy.arange(2, 10, dtype="int32")
    function = lambda x, y: (x + y, x * 2, x / y, (x + 1).sum(), np.sqrt(x), x + 2.5)  # noqa: E731
    for one, other in zip(numba.njit(function)(x, y), function(x, y), strict=True):
        if isinstance(one, cupy.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one.get(), other.get(), rtol=2e-3 if dtype == "float16" else 1e-6)
        else:
            np.testing.assert_allclose(one, other.item(), rtol=1e-5)


def test_arguments_by_position_are_those_of_numpy_s_parameters():
    """CuPy's `argmin` has another parameter before `out`, and `histogram` has its last two the other way round."""

    @numba.njit
    def f(a, out, weights):
        np.argmin(a, 0, out)
        return np.histogram(a, 4, (0.0, 4.0), None, weights)

    a, weights = np.asarray([[3.0, 1.0], [1.5, 2.0]]), np.asarray([[1.0, 2.0], [3.0, 4.0]])
    out = cupy.full(2, -1)
    counts, edges = f(cupy.asarray(a), out, cupy.asarray(weights))
    assert out.get().tolist() == [1, 0]
    expected = np.histogram(a, 4, (0.0, 4.0), None, weights)
    np.testing.assert_allclose(counts.get(), expected[0])
    np.testing.assert_allclose(edges.get(), expected[1])


def test_memory_of_new_arrays_is_cupy_s_pool_s_and_its_values_are_stored(launches):
    """Nothing is read of what nobody wrote."""

    @numba.njit
    def filled(n):
        a = np.empty(n)
        a[:] = 3.0
        return a + cupy.zeros(n)

    assert filled(50).get().tolist() == [3.0] * 50


def test_numpy_arrays_with_cupy_s_are_refused_by_name():
    with raises(ExecutionPlacementError, "arrays-mixed", words=False) as raised:
        fused(cupy.ones(3), np.ones(3))
    assert "`cupy.asarray(y)`" in str(raised.value)
