"""`kapi_runtime.compat`, numba.cuda's host API, on CUDA: by the double of the driver."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numba import float32

import kapi_runtime as kapi
import kapi_runtime.compat as cuda
from kapi_runtime.cuda.queues.streams import LEGACY, PER_THREAD
from kapi_runtime.platform.numba_cuda_arrays import HostReadableArray
from kapi_sim.testing.reports import raises


@kapi.kernel
def add_one(item: kapi.Item, values):
    values[item.get_id(0)] += 1


@pytest.fixture(autouse=True)
def device(gpu):
    """CUDA's device is the current one, whatever else is installed."""
    with kapi.select_device("cuda:0") as current:
        yield current
    kapi.close()


def test_device_has_numba_cuda_s_names(gpu, device):
    assert device.compute_capability == (9, 0)
    assert cuda.gpus[device.id] == device == cuda.gpus.current()
    assert device.supports_float16
    device.reset()
    major, minor = cuda.runtime.get_version()
    assert device.driver_version == f"{major}.{minor}"


def test_default_streams_are_the_driver_s():
    assert cuda.legacy_default_stream().handle == cuda.default_stream().handle == LEGACY
    assert cuda.per_thread_default_stream().handle == PER_THREAD


def test_external_stream_is_taken_by_its_handle(gpu, device):
    theirs = cuda.stream()
    ours = cuda.external_stream(ptr=theirs.handle)
    assert ours == theirs
    assert ours.device == device


def test_events_take_streams_as_numba_cuda_s(gpu):
    start, end, stream = cuda.event(), cuda.event(), cuda.stream()
    start.record(0)
    end.record(stream=stream)
    end.wait(stream=0)
    assert cuda.event_elapsed_time(evtstart=start, evtend=end) == 0.25
    recorded = [arguments[1] for name, arguments in gpu.calls if name == "cuEventRecord"]
    assert {LEGACY, stream.handle} <= set(recorded)


def test_values_travel_to_the_device_and_back(gpu):
    for source in (np.arange(6.0), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(12)[::2]):
        values = cuda.to_device(source)
        np.testing.assert_array_equal(values.copy_to_host(), source)
        assert values.is_f_contiguous() == np.empty_like(source).flags.f_contiguous
        into = np.zeros_like(source)
        assert values.copy_to_host(into, stream=cuda.stream()) is into
        np.testing.assert_array_equal(into, source)
        np.testing.assert_array_equal(values.ravel("F").copy_to_host(), source.ravel("F"))
        values.copy_to_device(source + 1)
        np.testing.assert_array_equal(values.copy_to_host(), source + 1)
    padded = cuda.device_array((3, 2), "float32", strides=(16, 4), stream=cuda.stream())
    padded.copy_to_device(np.full((3, 2), 7, "float32"))
    assert padded.strides == (16, 4)
    assert padded.copy_to_host().tolist() == [[7] * 2] * 3
    assert [part.copy_to_host().tolist() for part in cuda.to_device(np.arange(5)).split(2)] == [[0, 1], [2, 3], [4]]


def test_array_of_another_library_is_taken_as_it_is(lib):
    theirs = lib.array(np.arange(4.0))
    for ours in (
        cuda.as_cuda_array(theirs),
        cuda.to_device(theirs),
        cuda.from_cuda_array_interface(theirs.__cuda_array_interface__, owner=theirs),
    ):
        assert ours.__cuda_array_interface__["data"] == theirs.__cuda_array_interface__["data"]
        assert ours.copy_to_host().tolist() == [0, 1, 2, 3]
    assert cuda.is_cuda_array(theirs)
    assert not cuda.is_cuda_array(np.ones(3))


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_kernels_are_given_the_host_s_array_in_place(gpu, make):
    gpu.packed_size = 16  # the extent, and the address of the array
    values = make(8, "int32")
    values[:] = np.arange(8)
    assert isinstance(values, HostReadableArray)
    for part in (values, values[2:]):
        add_one[kapi.Range(part.size)](part)
        packed = int.from_bytes(gpu.launches[-1].packed[8:], "little")
        assert packed == part.ctypes.data
    launches = len(gpu.launches)
    add_one[kapi.Range(8)](copied := np.array(values))  # the host's own memory: the CPU runs it
    assert len(gpu.launches) == launches
    assert (copied == values + 1).all()


def test_arrays_of_the_host_are_mapped_in_a_block(gpu):
    gpu.packed_size = 16  # the extent, and the address of the array
    one, other = np.arange(4.0), np.arange(12.0)[::-2]
    with cuda.mapped(one, other, stream=cuda.stream()) as (first, second):
        assert {size for size, _ in gpu.registered.values()} == {one.nbytes, 11 * 8}
        assert first.copy_to_host().tolist() == one.tolist()
        assert second.copy_to_host().tolist() == other.tolist()
        add_one[kapi.Range(4)](first)
        assert int.from_bytes(gpu.launches[-1].packed[8:], "little") == one.ctypes.data
    assert gpu.registered == {}
    with cuda.mapped(one) as alone:
        assert alone.shape == (4,)


def test_arrays_of_the_host_are_pinned_in_a_block(gpu):
    one, other = np.arange(4.0), np.arange(6)
    with cuda.pinned(one, other):
        assert sorted(gpu.registered) == sorted(each.ctypes.data for each in (one, other))
    assert gpu.registered == {}
    with pytest.raises(ZeroDivisionError), cuda.pinned(one):
        _ = 1 // int(one[0])
    assert gpu.registered == {}
    with pytest.raises(kapi.DriverError), cuda.pinned(one, one):
        pass
    assert gpu.registered == {}
    with raises(kapi.DtypeError, "argument-type"), cuda.pinned([1, 2]):
        pass


def test_memory_is_let_go_after_the_outermost_block(gpu):
    def frees():
        return gpu.names().count("cuMemFree")

    before, stream = frees(), cuda.stream()
    with cuda.defer_cleanup():
        with cuda.defer_cleanup():
            for _ in range(3):
                cuda.device_array(4)
        thread = threading.Thread(target=lambda: cuda.device_array(4, stream=stream))
        thread.start()
        thread.join()
        assert frees() == before
    assert frees() == before + 4
    cuda.device_array(4)
    assert frees() == before + 5


def square(x):
    return x * x


def test_functions_are_compiled_to_ptx(gpu):
    for code, returns in (
        cuda.compile(square, (float32,), cc=(8, 0), lineinfo=True),
        cuda.compile_ptx(square, (float32,), device=True, cc=(8, 0), abi="c"),
        cuda.compile(pyfunc=square, sig=(float32,), device=True, cc=(8, 9), abi_info={"abi_name": "square"}),
    ):
        assert returns == float32
        assert ".target sm_8" in code
        assert ".visible .func" in code
    for compiled in (cuda.compile_for_current_device, cuda.compile_ptx_for_current_device):
        code, _ = compiled(square, (float32,), device=True, abi="c", abi_info={"abi_name": "power"})
        assert ".target sm_90" in code
        assert "power(" in code
    with raises(kapi.LimitError, "device-too-old"):
        cuda.compile(square, (float32,), cc=(5, 0))
    with raises(kapi.LimitError, "device-lacks"):
        cuda.compile(square, (float32,), output="ltoir")
