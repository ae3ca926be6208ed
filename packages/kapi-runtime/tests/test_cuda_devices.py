"""CUDA's devices and queues by the host API, marks, profiling, and what `python -m kapi_runtime` says of them."""

from __future__ import annotations

import sys
import threading
import types

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda.devices.device import device_at
from kapi_runtime.cuda.platform import CudaPlatform
from kapi_runtime.cuda.queues import events
from kapi_runtime.cuda.queues.queue import queue_of_stream


@kapi.kernel
def fill(item: kapi.Item, x):
    x[item.get_id(0)] = 1


def test_devices_are_found_by_name_and_number(gpu):
    gpu.devices = 2
    platform = CudaPlatform()
    first, second = platform.devices()
    assert platform.device("cuda:1") is second
    assert platform.device("cuda") is platform.device("h200") is platform.default_device() is first
    assert platform.device("cuda:7") is None
    assert platform.device(types.SimpleNamespace(type="cuda", index=1)) is second
    assert platform.device(3) is None
    assert kapi.select_device("cuda:1") == second
    kapi.close()
    with second:
        assert kapi.devices.current == second
        assert kapi.default_queue().device == second
    assert {first, second, device_at(1)} == {first, second}
    assert "cuda:1" in repr(second)


def test_summary_and_limits_are_the_driver_s(gpu):
    device = device_at(0)
    summary = device.summary
    assert (summary.filter_string, summary.compute_capability, summary.compute_units) == ("cuda:0", (9, 0), 132)
    assert "NVIDIA H200 (default)" in str(summary)
    assert CudaPlatform().limits(device).max_work_item_sizes == (64, 1024, 1024)
    assert kapi.current_context("cuda:0").get_memory_info() == (1 << 36, 1 << 37)


@pytest.mark.parametrize("is_there", [True, False])
def test_findings_report_whether_libdevice_is_there(gpu, monkeypatch, is_there):
    if is_there:
        pytest.importorskip("cuda.pathfinder")
    else:
        monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)  # cannot be imported
    problems = " ".join(CudaPlatform().findings().problems)
    assert ("libdevice" in problems) is not is_there


def test_findings_and_versions(gpu):
    found = CudaPlatform().findings()
    assert len(found.devices) == 1
    assert "13.0" in found.driver
    assert ("compute", "9.0") in CudaPlatform().versions(device_at(0))
    gpu.attributes["COMPUTE_CAPABILITY_MAJOR"] = 6
    device_at(0).__dict__.pop("compute_capability", None)
    assert "below 7.5" in CudaPlatform().findings().left_out[0]


def test_streams_of_libraries_are_queues(gpu, lib):
    def stream(module, **fields):
        made = type("Stream", (), fields)
        made.__module__ = module
        return made()

    assert queue_of_stream(stream("cupy.cuda.stream", ptr=40, device_id=0)).handle == 40
    assert queue_of_stream(stream("torch.cuda", cuda_stream=0, device_index=0)) == kapi.default_queue("cuda:0")
    assert queue_of_stream(stream("numba.cuda", handle=types.SimpleNamespace(value=48))).handle == 48
    ours = kapi.queue("cuda:0")
    assert queue_of_stream(stream("other", __cuda_stream__=lambda self: (0, ours.handle))) == ours
    assert kapi.external_queue(ours) is ours
    assert queue_of_stream(object()) is None
    assert ours != kapi.queue("cuda:0")
    assert "stream 0x" in repr(ours)
    assert "legacy" in repr(kapi.default_queue("cuda:0"))


def test_queue_waits_and_destroys_its_stream(gpu):
    queue = kapi.queue("cuda:0")
    with queue.auto_synchronize():
        pass
    queue.synchronize()
    assert queue.is_done
    assert gpu.names().count("cuEventRecord") == 3
    handle = queue.handle
    del queue
    assert ("cuStreamDestroy", (handle,)) in gpu.calls


def test_wait_lets_other_threads_run_and_handles_signals(gpu):
    queue = kapi.queue("cuda:0")
    gpu.pending = True
    seen = []

    def end():
        seen.append(threading.current_thread().name)
        gpu.pending = False

    timer = threading.Timer(0.02, end)
    timer.start()
    queue.synchronize()
    assert seen
    assert "cuEventSynchronize" not in gpu.names()  # the main thread asks, so that Ctrl-C is heard
    timer.join()
    gpu.pending = True
    other = threading.Thread(target=queue.synchronize)
    other.start()
    other.join()
    assert "cuEventSynchronize" in gpu.names()


def test_marks_are_timed_on_one_device(gpu):
    gpu.devices = 2
    queue, elsewhere = kapi.queue("cuda:0"), kapi.queue("cuda:1")
    start, end, other, untimed = kapi.Event(), kapi.Event(), kapi.Event(), kapi.Event(timing=False)
    assert start.query()
    with pytest.raises(kapi.KernelLaunchError) as refused:
        start.elapsed_time(end)
    assert refused.value.code == "event-unrecorded"
    for mark, on in ((start, queue), (end, queue), (other, elsewhere), (untimed, queue)):
        mark.record(on)
        mark.synchronize()
        mark.wait(queue)
    assert start.elapsed_time(end) == 0.25
    for mark, code in ((other, "events-of-devices"), (untimed, "event-without-times")):
        with pytest.raises(kapi.KernelLaunchError) as refused:
            start.elapsed_time(mark)
        assert refused.value.code == code
    assert "complete" in repr(start)


def test_profiling_stamps_work_between_two_marks(gpu, lib):
    x = lib.array(np.zeros(10))
    fill[kapi.Range(10)](x)
    gpu.calls.clear()
    with kapi.profiling() as recording:
        fill[kapi.Range(10)](x)
        kapi.memory.asarray(np.zeros(4), queue=kapi.default_queue("cuda:0"))
    launch, copy = recording.entries
    assert (launch.kind, launch.name, launch.end - launch.start) == ("launch", "fill", 250_000)
    assert (copy.kind, copy.name, copy.nbytes) == ("copy", "host to device", 32)
    assert launch.submit <= launch.start
    names = [name for name in gpu.names() if name != "cuEventCreate"]
    at = names.index("cuLaunchKernel")
    assert names[at - 1] == "cuEventRecord"
    assert "cuEventRecord" in names[at + 1 :]


def test_events_are_used_again(gpu):
    queue = kapi.queue("cuda:0")
    queue.synchronize()
    made = gpu.names().count("cuEventCreate")
    for _ in range(5):
        queue.synchronize()
    assert gpu.names().count("cuEventCreate") == made
    assert events._pools


def test_context_of_another_library_is_given_back(gpu):
    device_at(0)
    gpu._context = 0xAB
    kapi.queue("cuda:0").synchronize()
    assert gpu._context == 0xAB
    gpu._context = 0
    kapi.queue("cuda:0")
    assert gpu._context == 0xC0


@pytest.mark.parametrize("ordinal", [0, 1])
def test_work_on_a_further_device_leaves_a_thread_the_device_that_libraries_begin_with(gpu, ordinal):
    """CUDA's runtime takes the current context for its device: PyTorch's next tensor would be on another one."""
    gpu.devices = 2
    gpu._context = 0
    with kapi.device_context(f"cuda:{ordinal}", warn=False):
        values = kapi.memory.device_array(3, fill=1)
    kapi.memory.asnumpy(values)
    assert gpu._context in (0, 0xC0)
