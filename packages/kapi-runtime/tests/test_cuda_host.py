"""The host API on CUDA means what it means on SYCL: classes, marks, callbacks, numba.cuda's names, PTX of others."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_runtime.compat as cuda
from kapi_ptx import PtxTarget, compile_kernel
from kapi_sim.language import KernelOptions

PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p, .param .f32 f) { ret; }
"""


@kapi.kernel
def fill(item: kapi.Item, x):
    x[item.get_id(0)] = 1


@pytest.fixture
def queue(gpu):
    return kapi.queue("cuda:0")


def test_devices_queues_and_events_are_the_classes_at_the_top(gpu, lib, queue):
    device = kapi.select_device("cuda:0")
    try:
        assert isinstance(device, kapi.Device)
        assert isinstance(device.summary, kapi.DeviceSummary)
        assert device.summary.has_usm
        assert isinstance(queue, kapi.Queue)
        assert repr(queue).startswith("<Queue: stream 0x")
        assert repr(device) == "<Device: NVIDIA H200 (cuda:0)>"
        x = lib.array(np.zeros(10))
        for _ in range(2):  # the slow path, and by a plan
            host_event, _ = kapi.call_kernel_async(fill, kapi.Range(10), [], x)
            assert isinstance(host_event, kapi.HostEvent)
            assert host_event.status is kapi.EventStatus.complete
    finally:
        kapi.close()


def test_classes_are_not_made_by_calling_them():
    for handle in (kapi.Queue, kapi.Device):
        with pytest.raises(kapi.KernelLaunchError) as refused:
            handle("cuda:0")
        assert refused.value.code == "handle-made"


def test_device_has_the_attributes_of_every_device(gpu):
    device = kapi.select_device("cuda:0")
    kapi.close()
    assert (device.vendor, device.sub_group_sizes, device.has_aspect_fp64, device.has_aspect_cpu) == (
        *("NVIDIA", [32], True),
        False,
    )
    assert device.max_mem_alloc_size == device.global_mem_size == 1 << 37
    assert device.attributes["COMPUTE_CAPABILITY_MAJOR"] == 9
    with pytest.raises(kapi.DeviceNotFoundError) as refused:
        device.split(1)
    assert refused.value.code == "sub-devices"


def test_mark_lets_another_queue_wait(gpu, queue):
    other, mark = kapi.queue("cuda:0"), kapi.Event(timing=False)
    mark.wait(other)
    assert "cuStreamWaitEvent" not in gpu.names()
    mark.record(queue)
    mark.wait(other)
    assert ("cuStreamWaitEvent", (other.handle, mark.device_event.native, 0)) in gpu.calls


def test_mark_of_the_current_device_is_on_its_default_queue(gpu):
    mark = kapi.Event()
    with next(each for each in kapi.devices if each.filter_string == "cuda:0"):
        mark.record()
    assert ("cuEventRecord", (mark.device_event.native, 1)) in gpu.calls


@pytest.mark.parametrize("source", [3, None, "cuda:0"])
def test_what_is_no_queue_is_refused(gpu, source):
    with pytest.raises(kapi.KernelLaunchError) as refused:
        kapi.Event().record(source or object())
    assert refused.value.code == "no-queue"


def test_callbacks_are_called_in_order_and_waited_for(gpu, queue):
    gpu.pending, called = True, []
    for number in range(3):
        queue.add_callback(lambda *given: called.append((*given, threading.current_thread().name)), number)
    queue.synchronize()
    assert called == [(queue, kapi.EventStatus.complete, number, "kapi-callbacks") for number in range(3)]


def test_callback_of_a_lost_context_is_not_called_and_reported(gpu, queue, monkeypatch):
    reported, called = [], []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_value))
    gpu.fail["cuEventSynchronize"] = 700
    queue.add_callback(lambda *given: called.append(given))
    queue.synchronize()
    assert not called
    assert reported[0].code == "context-lost"


def test_async_done_is_awaited(queue):
    async def main():
        return await queue.async_done()

    assert asyncio.run(main()) is queue


def test_numba_cuda_s_names(gpu):
    kapi.select_device("cuda:0")
    try:
        assert cuda.is_available()
        assert cuda.detect()
        assert cuda.get_current_device() in list(cuda.gpus)
        assert "cuda:0" in [each.filter_string for each in cuda.list_devices()]
        assert cuda.default_stream() == kapi.default_queue("cuda:0")
        stream, values = cuda.stream(), np.arange(4.0)
        array = cuda.to_device(values, stream)
        assert array.usm_type == "device"
        assert (array.asnumpy() == values).all()
        assert array.__cuda_array_interface__["stream"] == stream.handle
        target = cuda.device_array_like(values)
        assert cuda.to_device(values, to=target) is target
        assert (target.asnumpy() == values).all()
        assert cuda.to_device(values + 1, copy=False, to=target) is target
        assert (target.asnumpy() == values).all()
        assert [each(3, "int8").usm_type for each in (cuda.device_array, cuda.mapped_array)] == ["device", "host"]
        assert isinstance(cuda.pinned_array(3), np.ndarray)
        assert cuda.managed_array(3).usm_type == "shared"
        start, end = cuda.event(), cuda.event()
        start.record(stream)
        end.record(stream)
        assert cuda.event_elapsed_time(start, end) == 0.25
        cuda.synchronize()
        assert cuda.external_stream(stream) is stream
        code, returns = cuda.compile_for_current_device(_double_of, _types("float32"), device=True)
        assert ".version" in code
        assert "sm_90" in code
        assert str(returns) == "float32"
    finally:
        cuda.close()


def test_ptx_and_cubins_of_others_are_launched(gpu, lib):
    x = lib.array(np.zeros(4, np.float32))
    twice = kapi.load_ptx(PTX, "twice", {"p": "float32[:]", "f": "float32"})
    twice[kapi.Range(4)](x, 2.0)
    assert (gpu.launches[-1].entry, gpu.launches[-1].block) == ("twice", (4, 1, 1))
    cubin = _double().CUBIN + b'{"most": null}\n' + PTX.encode()
    kapi.load_ptx(cubin, "twice", {"p": "float32[:]", "f": "float32"})[kapi.Range(4)](x, 2.0)
    assert len(gpu.launches) == 2
    for code, entry in ((PTX, "thrice"), ("no PTX", "twice"), (cubin, "thrice")):
        with pytest.raises(kapi.KernelCompilationError):
            kapi.load_ptx(code, entry, {})


def test_module_of_kapi_s_own_is_launched(gpu, lib):
    module = compile_kernel(fill.py_func, _types("item", "array"), target=PtxTarget(80), options=KernelOptions())
    loaded = kapi.load_ptx(module)
    loaded[kapi.Range(10)](lib.array(np.zeros(10)))
    assert gpu.launches[-1].entry == module.entry_point


def _types(*names):
    from numba import types

    from kapi_types import ArrayType, ItemType

    known = {"item": ItemType(1), "array": ArrayType(types.float64, 1, "C")}
    return tuple(known.get(name) or getattr(types, name) for name in names)


def _double_of(x):
    return x * 2


def _double():
    import cuda_double

    return cuda_double
