"""Arrays of kapi's own on CUDA devices, copies, sharing, and NumPy arrays as arguments."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda.cuda_array import array_of_fields
from kapi_runtime.platform.dlpack import CUDA, CUDA_HOST, CUDA_MANAGED, read_capsule
from kapi_sim.errors import ImplicitCopyWarning


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


def test_interface_tells_stream_and_strides(queue):
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
    with pytest.raises(IndexError):
        array[[0, 1]]
    with pytest.raises(TypeError):
        np.asarray(array)
    with pytest.raises(TypeError):
        len(array[0])
    with pytest.raises(kapi.DtypeError):
        array_of_fields(3)
    gpu.attributes["MANAGED_MEMORY"] = 0
    with pytest.raises(kapi.LimitError, match="managed"):
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
