"""Order on CUDA devices: streams of libraries, events between them, and what stays alive."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda.queues import keep_alive
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, x, y):
    i = item.get_id(0)
    y[i] = x[i] + 1


def pair(lib):
    return lib.array(np.ones(100, np.float32)), lib.tensor(np.ones(100, np.float32))


def ordered(gpu):
    """The calls that set, wait for and launch, each with its stream."""
    told = []
    for name, arguments in gpu.calls:
        if name == "cuEventRecord":
            told.append(("record", arguments[1], arguments[0]))
        elif name == "cuStreamWaitEvent":
            told.append(("wait", arguments[0], arguments[1]))
        elif name == "cuLaunchKernel":
            told.append(("launch", arguments[8], None))
    return told


def test_launch_goes_to_the_current_stream_of_the_first_array_s_library(gpu, lib):
    x, t = pair(lib)
    lib.streams.cupy, lib.streams.torch = 40, 48
    add[kapi.Range(100)](x, t)
    add[kapi.Range(100)](t, x)
    assert [launch.stream for launch in gpu.launches] == [40, 48]


def test_two_libraries_on_one_stream_need_no_event(gpu, lib):
    x, t = pair(lib)
    kapi.call_kernel_async(add, kapi.Range(100), [], x, t)
    assert [what for what, *_ in ordered(gpu) if what == "wait"] == []


def test_two_libraries_on_two_streams_are_ordered_before_and_after(gpu, lib):
    x, t = pair(lib)
    lib.streams.cupy, lib.streams.torch = 40, 48
    kapi.call_kernel_async(add, kapi.Range(100), [], x, t)
    before, waits, launch, done, after = ordered(gpu)
    assert before[:2] == ("record", 48)  # what PyTorch has submitted
    assert waits == ("wait", 40, before[2])
    assert launch[:2] == ("launch", 40)
    assert done[:2] == ("record", 40)
    assert after == ("wait", 48, done[2])  # what PyTorch submits next


def test_stream_of_the_array_interface_is_honoured(gpu, lib):
    x, t = pair(lib)

    class Foreign:
        def __init__(self, array, stream):
            self.array, self.stream = array, stream

        @property
        def __cuda_array_interface__(self):
            return {**self.array.__cuda_array_interface__, "stream": self.stream}

    kapi.call_kernel_async(add, kapi.Range(100), [], Foreign(x, 40), Foreign(t, 48))
    assert [what for what, *_ in ordered(gpu)] == ["record", "wait", "launch", "record", "wait"]
    assert gpu.launches[0].stream == 40


def test_dependent_event_of_another_stream_is_waited_for_on_the_device(gpu, lib):
    x, _ = pair(lib)
    lib.streams.cupy = 40
    events = kapi.call_kernel_async(add, kapi.Range(100), [], x, x)
    lib.streams.cupy = 48
    gpu.calls.clear()
    kapi.call_kernel_async(add, kapi.Range(100), [events[1]], x, x)
    assert [what for what, stream, _ in ordered(gpu)][:2] == ["wait", "launch"]


def test_events_of_plans_are_waited_for_between_streams_and_not_on_one(gpu, lib):
    x, _ = pair(lib)
    for _ in range(2):
        for stream in (40, 48):
            lib.streams.cupy = stream
            events = kapi.call_kernel_async(add, kapi.Range(100), [], x, x)
    gpu.calls.clear()
    kapi.call_kernel_async(add, kapi.Range(100), events, x, x)
    assert [what for what, *_ in ordered(gpu)] == ["launch"]
    lib.streams.cupy = 40
    gpu.calls.clear()
    kapi.call_kernel_async(add, kapi.Range(100), events, x, x)
    told = ordered(gpu)
    assert [(what, stream) for what, stream, _ in told][:2] == [("record", 48), ("wait", 40)]
    assert told[-1][:2] == ("launch", 40)


def test_event_of_another_platform_is_refused(gpu, lib):
    class SyclEvent:
        def wait(self):
            raise AssertionError

    x, _ = pair(lib)
    with pytest.raises(kapi.KernelLaunchError) as refused:
        kapi.call_kernel_async(add, kapi.Range(100), [SyclEvent()], x, x)
    assert refused.value.code == "no-event"


def test_arrays_stay_alive_until_their_launch_is_done(gpu, lib):
    gpu.pending = True
    x, y = pair(lib)[0], pair(lib)[0]
    held = weakref.ref(x)
    kapi.call_kernel_async(add, kapi.Range(100), [], x, y)
    del x
    gc.collect()
    keep_alive.release()
    assert held() is not None
    gpu.pending = False
    keep_alive.release()
    assert held() is None


def test_arrays_of_plans_stay_alive_and_go(gpu, lib):
    y = pair(lib)[0]
    kapi.call_kernel(add, kapi.Range(100), pair(lib)[0], y)
    gpu.pending = True
    gone = []
    for _ in range(40):
        x = pair(lib)[0]
        gone.append(weakref.ref(x))
        kapi.call_kernel_async(add, kapi.Range(100), [], x, y)
    del x
    assert all(each() is not None for each in gone)
    gpu.pending = False
    for _ in range(130):  # they are looked at after each 64
        kapi.call_kernel_async(add, kapi.Range(100), [], y, y)
    assert [each() for each in gone] == [None] * 40
    assert 0 < keep_alive.in_flight() < 130
    keep_alive.finish()
    assert keep_alive.in_flight() == 0


def test_wait_of_a_planned_launch_sets_one_event_and_lets_go(gpu, lib):
    x, y = pair(lib)[0], pair(lib)[0]
    for _ in range(2):
        kapi.call_kernel(add, kapi.Range(100), x, y)
    assert keep_alive.in_flight() == 0
    gpu.calls.clear()
    host, device = kapi.call_kernel_async(add, kapi.Range(100), [], x, y)
    host.wait()
    host.wait()
    device.wait()
    assert gpu.names() == ["cuLaunchKernel", "cuEventRecord"]


def test_arrays_of_two_queues_are_refused_by_name(gpu):
    queues = [kapi.queue("cuda:0"), kapi.queue("cuda:0")]
    x, y = (kapi.memory.device_array(100, "float32", queue=queue) for queue in queues)
    with raises(kapi.ExecutionPlacementError, "different-queues") as refused:
        add[kapi.Range(100)](x, y)
    assert refused.value.code == "different-queues"


def test_array_with_a_queue_decides_where_a_launch_goes(gpu, lib):
    queue = kapi.queue("cuda:0")
    y = kapi.memory.device_array(100, "float32", queue=queue)
    kapi.call_kernel_async(add, kapi.Range(100), [], pair(lib)[0], y)
    assert gpu.launches[0].stream == queue.handle
    assert [what for what, *_ in ordered(gpu)][-5:] == ["record", "wait", "launch", "record", "wait"]


def test_arrays_of_two_devices_are_refused_by_name(gpu, lib):
    gpu.devices = 2
    here, there = lib.array(np.ones(10, np.float32)), lib.array(np.ones(10, np.float32), 1)
    with raises(kapi.ExecutionPlacementError, "different-queues") as refused:
        add[kapi.Range(10)](here, there)
    assert "cuda:1" in str(refused.value)
    assert "`x` and `y`" in str(refused.value)


def test_copy_between_two_devices_comes_after_the_work_of_both_and_before_their_later_work(gpu, lib):
    gpu.devices = 2
    here, there = kapi.queue("cuda:0"), kapi.queue("cuda:1")
    x, y = (kapi.memory.asarray(np.arange(6, dtype=np.float32) + k, queue=q) for k, q in enumerate((here, there)))
    gpu.calls.clear()
    kapi.memory.copy(x, y, depends=[])
    (source_done, its_stream, it), (waits, on, on_what), (copied, target, done), (held, held_on, held_by) = ordered(gpu)
    assert (source_done, its_stream) == ("record", here.handle)
    assert (waits, on, on_what) == ("wait", there.handle, it)
    assert (copied, target) == ("record", there.handle)
    assert (held, held_on, held_by) == ("wait", here.handle, done)
    assert y.asnumpy().tolist() == [0, 1, 2, 3, 4, 5]
