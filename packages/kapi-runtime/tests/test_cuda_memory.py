"""Arrays of kapi's own on CUDA devices, copies, sharing, and NumPy arrays as arguments."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda.memory import allocations
from kapi_runtime.cuda.memory.arrays import cuda_fields
from kapi_runtime.cuda.memory.cuda_array import array_of_fields
from kapi_runtime.cuda.queues import queue as queues
from kapi_runtime.platform.dlpack import CUDA, CUDA_HOST, CUDA_MANAGED, read_capsule
from kapi_sim.errors import ImplicitCopyWarning
from kapi_sim.testing.reports import raises


@pytest.fixture
def queue(gpu):
    return kapi.default_queue("cuda:0")


@kapi.kernel
def double(item: kapi.Item, x, y):
    i = item.get_id(0)
    y[i] = x[i] * 2


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_arrays_of_each_kind_hold_values_and_views_share_them(queue, kind):
    array = getattr(kapi.memory, f"{kind}_array")((4, 6), "int32", queue=queue, fill=3)
    array[1:3, ::2] = np.arange(6).reshape(2, 3)
    wanted = np.full((4, 6), 3, np.int32)
    wanted[1:3, ::2] = np.arange(6).reshape(2, 3)
    assert (kapi.memory.asnumpy(array) == wanted).all()
    assert (array.T[::-1, 1].asnumpy() == wanted.T[::-1, 1]).all()
    assert (array.reshape(24)[5:].asnumpy() == wanted.ravel()[5:]).all()
    assert (array.T.reshape(24).asnumpy() == wanted.T.ravel()).all()
    assert (array.usm_type, array.ndim, array.size, array.nbytes, len(array)) == (kind, 2, 24, 96, 4)
    assert int(array[1, 2]) == 1
    assert float(array[0, 0]) == complex(array[0, 0]) == 3
    assert bool(array[0, 0])
    assert "CudaArray([3" in repr(array[0])


def test_memory_is_freed_with_the_last_view(gpu, queue):
    array = kapi.memory.device_array(10, queue=queue)
    view = array[3:]
    address = array.__cuda_array_interface__["data"][0]
    del array
    gc.collect()
    assert address in gpu.memory
    del view
    gc.collect()
    assert address not in gpu.memory


def test_interface_has_stream_and_strides(queue):
    own = kapi.queue("cuda:0")
    array = kapi.memory.asarray(np.zeros((2, 3), np.float32), queue=own)
    interface = array.T.__cuda_array_interface__
    assert (interface["stream"], interface["shape"], interface["strides"]) == (own.handle, (3, 2), (4, 12))
    assert array.__cuda_array_interface__["strides"] is None
    assert array[:0].__cuda_array_interface__["data"][0] == 0


@pytest.mark.parametrize(("kind", "number"), [("device", CUDA), ("shared", CUDA_MANAGED), ("host", CUDA_HOST)])
def test_dlpack_shares_the_memory_and_lets_the_stream_wait(gpu, queue, kind, number):
    array = getattr(kapi.memory, f"{kind}_array")((2, 3), "float32", queue=queue, fill=1)
    assert array.__dlpack_device__() == (number, 0)
    gpu.calls.clear()
    read = read_capsule(array, 48)
    assert (read.pointer, read.shape) == (array.__cuda_array_interface__["data"][0], (2, 3))
    assert [(name, arguments[0]) for name, arguments in gpu.calls if name == "cuStreamWaitEvent"] == [
        ("cuStreamWaitEvent", 48)
    ]
    assert (np.from_dlpack(array, device="cpu") == 1).all()
    for keywords in ({"stream": 0}, {"dl_device": (CUDA, 1)}, {"dl_device": (1, 0), "copy": False}):
        with pytest.raises(BufferError):
            array.__dlpack__(**keywords)


def test_asarray_copies_only_what_is_not_there(gpu, lib, queue):
    host = np.arange(5, dtype=np.int16)
    array = kapi.memory.asarray(host, queue=queue)
    assert kapi.memory.asarray(array) is array
    assert kapi.memory.asarray(array, copy=True) is not array
    assert (kapi.memory.asarray(array, "float32").asnumpy() == host).all()
    theirs = lib.array(np.arange(3, dtype=np.float32))
    shared = kapi.memory.asarray(theirs)
    assert shared.__cuda_array_interface__["data"][0] == theirs.data.ptr
    with pytest.raises(ValueError, match="copy=False"):
        kapi.memory.asarray(host, queue=queue, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        kapi.memory.asarray(array, "float64", copy=False)


def test_copies_between_arrays_and_the_host(queue):
    source, target = kapi.memory.asarray(np.arange(6.0), queue=queue), kapi.memory.device_array(6, queue=queue)
    kapi.memory.copy(source, target)
    host = np.zeros(6)
    kapi.memory.copy(target, host)
    assert (host == np.arange(6)).all()
    kapi.memory.copy(host + 1, target)
    assert (target.asnumpy() == np.arange(6) + 1).all()


@pytest.mark.parametrize("library", ["array", "tensor"])
def test_copies_between_arrays_of_libraries_and_the_host(gpu, lib, queue, library):
    make = getattr(lib, library)
    theirs, ours = make(np.zeros(6, np.float32)), kapi.memory.asarray(np.arange(6, dtype=np.float32), queue=queue)
    kapi.memory.copy(ours, theirs)
    assert (theirs.host == np.arange(6)).all()
    kapi.memory.copy(np.full(6, 7, np.float32), theirs)
    assert (theirs.host == 7).all()
    kapi.memory.copy(theirs, ours)
    assert (ours.asnumpy() == 7).all()
    host = np.zeros(6, np.float32)
    kapi.memory.copy(theirs, host, depends=[]).wait()
    assert (host == 7).all()
    with raises(kapi.DtypeError, "copy-unlike"):
        kapi.memory.copy(make(np.zeros((4, 6), np.float32).T), np.zeros((6, 4), np.float32))
    with raises(kapi.DtypeError, "copy-without-array"):
        kapi.memory.copy(np.float64(1), theirs)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_array_of_more_bytes_than_there_are_addresses_is_refused(queue, kind):
    with raises(kapi.UsmAllocationError, "device-memory-short"):
        getattr(kapi.memory, f"{kind}_array")(2**62, "float64", queue=queue)


def test_launch_of_an_array_of_a_queue_runs_on_that_queue_s_device(gpu):
    gpu.devices = 2
    gpu.packed_size = 40
    there = kapi.queue("cuda:1")
    for size in (4, 0):
        array = kapi.memory.asarray(np.ones(size, np.float32), queue=there)
        assert cuda_fields(array).owner.ordinal == array.device.ordinal == 1
    array = kapi.memory.asarray(np.ones(4, np.float32), queue=there)
    double[kapi.Range(4)](array, array)
    assert gpu.launches[-1].stream == there.handle
    other = kapi.memory.asarray(np.ones(4, np.float32), queue=kapi.queue("cuda:0"))
    with raises(kapi.ExecutionPlacementError, "different-queues"):
        double[kapi.Range(4)](array, other)


def test_destructors_say_nothing_when_the_interpreter_has_ended_their_modules(gpu, queue, monkeypatch):
    """Python sets a module's names to None at exit, before what other modules hold is destroyed."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    own = kapi.queue("cuda:0")
    array = kapi.memory.device_array(10, queue=own)
    for module in (allocations, queues):
        monkeypatch.setattr(module, "driver", None)
    del array, own
    gc.collect()
    assert said == []


def test_copy_of_another_queue_s_array_waits_for_its_work(gpu, queue):
    source = kapi.memory.asarray(np.arange(6.0), queue=kapi.queue("cuda:0"))
    target = kapi.memory.device_array(6, queue=queue)
    gpu.calls.clear()
    target[...] = source
    names = gpu.names()
    assert names.index("cuStreamWaitEvent") < names.index("cuMemcpyAsync")


def test_like_takes_kind_shape_and_type(queue):
    host = kapi.memory.host_array(3, "int32", queue=queue)
    shared = kapi.memory.shared_array((2, 1), "float32", queue=queue)
    made = kapi.memory.like(host, shared)
    assert (made.usm_type, made.shape, made.dtype) == ("shared", (2, 3), np.float64)


def test_what_arrays_of_ours_refuse(gpu, queue):
    array = kapi.memory.device_array(3, queue=queue)
    with raises(kapi.DtypeError, "index-type"):
        array[[0, 1]]
    with pytest.raises(TypeError):
        np.asarray(array)
    with pytest.raises(TypeError):
        len(array[0])
    with pytest.raises(kapi.DtypeError):
        array_of_fields(3)
    gpu.attributes["MANAGED_MEMORY"] = 0
    with raises(kapi.LimitError, "device-lacks"):
        kapi.memory.shared_array(3, queue=queue)


def test_device_context_moves_numpy_arrays_in_and_out(gpu):
    x, y = np.arange(10.0), np.zeros(10)
    gpu.calls.clear()
    with kapi.device_context("cuda:0") as queue, pytest.warns(ImplicitCopyWarning):
        with kapi.device_context("cuda:0", warn=True):
            double[kapi.Range(10)](x, y)
    assert queue == kapi.default_queue("cuda:0")
    copies = [name for name in gpu.names() if name.startswith("cuMemcpy") or name == "cuLaunchKernel"]
    assert copies == ["cuMemcpyHtoDAsync"] * 2 + ["cuLaunchKernel"] + ["cuMemcpyDtoHAsync"] * 2


def test_device_that_reads_the_host_s_memory_needs_no_copy(gpu):
    gpu.attributes["PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES"] = 1
    x, y = np.arange(10.0), np.zeros(10)
    with kapi.device_context("cuda:0"):
        double[kapi.Range(10)](x, y)
    assert not [name for name in gpu.names() if name.startswith("cuMemcpy")]
    assert len(gpu.launches) == 1


@pytest.mark.parametrize("kind", ["shared", "host"])
def test_view_is_the_same_memory_and_keeps_it(gpu, queue, kind):
    array = getattr(kapi.memory, f"{kind}_array")((3, 4), "int16", queue=queue, fill=1)
    gpu.calls.clear()
    seen = kapi.memory.view(array[:, 1:].T)
    assert "cuEventRecord" in gpu.names()  # its queue is waited for
    assert seen.ctypes.data == array.__cuda_array_interface__["data"][0] + 2
    assert (seen.shape, seen.strides, seen.dtype) == ((3, 3), (2, 8), np.int16)
    seen[0, 0] = 7
    assert array.asnumpy()[0, 1] == 7
    address = seen.ctypes.data - 2
    del array
    gc.collect()
    assert address in gpu.memory
    del seen
    gc.collect()
    assert address not in gpu.memory


def test_view_of_device_memory_is_refused(lib, queue):
    for array in (kapi.memory.device_array(3, queue=queue), lib.array(np.zeros(3))):
        with pytest.raises(kapi.ExecutionPlacementError) as refused:
            kapi.memory.view(array)
        assert refused.value.code == "view-of-device-memory"


def test_copy_with_events_is_submitted_after_them_and_not_waited_for(gpu, lib, queue):
    other = kapi.queue("cuda:0")
    pinned = kapi.memory.view(kapi.memory.host_array(6, queue=queue, fill=2))
    target, back = kapi.memory.device_array(6, queue=queue), np.zeros(6)
    mark = kapi.Event(timing=False)
    mark.record(other)
    gpu.calls.clear()
    gpu.pending = True
    copied = kapi.memory.copy(pinned, target, depends=[mark])
    again = kapi.memory.copy(target, back, depends=[copied])
    gpu.pending = False
    assert isinstance(copied, kapi.HostEvent)
    at = {"cuStreamWaitEvent": 0, "cuMemcpyHtoDAsync": -1, "cuMemcpyDtoHAsync": -1, "cuEventRecord": -1}
    calls = [(name, given[at[name]]) for name, given in gpu.calls if name in at]
    assert [name for name, _ in calls] == [
        *("cuStreamWaitEvent", "cuMemcpyHtoDAsync", "cuEventRecord"),
        *("cuStreamWaitEvent", "cuMemcpyDtoHAsync", "cuEventRecord"),
    ]
    assert {handle for _, handle in calls} == {queue.handle}
    again.wait()
    assert (back == 2).all()
    double[kapi.Range(6)](lib.array(np.zeros(6)), lib.array(np.zeros(6)))


def test_copy_between_streams_is_ordered_on_both(gpu, queue):
    other = kapi.queue("cuda:0")
    source, target = kapi.memory.device_array(6, queue=other, fill=3), kapi.memory.device_array(6, queue=queue)
    gpu.calls.clear()
    kapi.memory.copy(source, target, depends=[])
    waits = [given[0] for name, given in gpu.calls if name == "cuStreamWaitEvent"]
    names = gpu.names()
    assert waits == [queue.handle, other.handle]
    assert names.index("cuStreamWaitEvent") < names.index("cuMemcpyAsync")
    assert (target.asnumpy() == 3).all()


def test_copy_that_overlaps_or_writes_what_is_read_only_is_refused(gpu, queue):
    shared = kapi.memory.shared_array(8, queue=queue, fill=1)
    seen = kapi.memory.view(shared)
    for source, target in ((shared[:6], shared[2:]), (seen[:6], shared[2:])):
        with pytest.raises(kapi.KernelLaunchError) as refused:
            kapi.memory.copy(source, target, depends=[])
        assert refused.value.code == "copy-overlap"
    seen[:] = np.arange(8)
    kapi.memory.copy(seen[:6], shared[2:])
    assert seen.tolist() == [0, 1, 0, 1, 2, 3, 4, 5]
    seen.flags.writeable = False
    with pytest.raises(kapi.DtypeError):
        kapi.memory.copy(shared, seen, depends=[])


def test_copy_s_arrays_stay_alive_until_it_is_done(gpu, queue):
    target = kapi.memory.device_array(6, queue=queue)
    address = target.__cuda_array_interface__["data"][0]
    gpu.pending = True
    copied = kapi.memory.copy(np.ones(6), target, depends=[])
    del target
    gc.collect()
    assert address in gpu.memory
    gpu.pending = False
    copied.wait()
    gc.collect()
    assert address not in gpu.memory
