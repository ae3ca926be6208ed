"""Graphs on CUDA devices: what is captured, replayed, updated and refused, by the double of the driver."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def scale(item: kapi.Item, x, factor):
    i = item.get_id(0)
    x[i] = x[i] * factor


def array(lib, *values):
    return lib.array(np.array(values or (1.0,) * 100, np.float32))


def test_graph_on_the_default_queue_captures_a_stream_of_its_own_and_replays_on_the_default_one(gpu, lib):
    x = array(lib)
    with kapi.graph(kapi.default_queue("cuda")) as graph:
        captured = lib.streams.cupy
        assert captured == lib.streams.torch not in (0, 1)
        kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
        kapi.call_kernel_async(scale, kapi.Range(100), (), x, 3.0)
    assert (lib.streams.cupy, lib.streams.torch) == (0, 0)
    assert gpu.launches == []
    graph.run()
    assert [launch.stream for launch in gpu.launches] == [1, 1]
    host_event, _ = graph()
    host_event.wait()
    assert len(gpu.launches) == 4


def test_graph_of_a_stream_captures_it_and_all_that_a_library_submits_there(gpu, lib):
    queue = kapi.queue("cuda")
    x, y = array(lib, 1.0, 2.0), array(lib, 0.0, 0.0)
    with kapi.graph(queue) as graph:
        assert lib.streams.cupy == queue.handle
        kapi.call_kernel(scale, kapi.Range(2), x, 2.0)
        # A library's own work.
        gpu.cuMemcpyAsync(y.host.ctypes.data, x.host.ctypes.data, 8, lib.streams.cupy)
    assert y.host.tolist() == [0.0, 0.0]
    graph.run()
    assert y.host.tolist() == [1.0, 2.0]
    assert [launch.stream for launch in gpu.launches] == [queue.handle]


def test_libraries_take_memory_of_pools_that_the_graph_keeps(gpu, lib):
    with kapi.graph(kapi.default_queue("cuda")):
        assert lib.streams.allocators == ["a pool's", "PyTorch's pool"]
    assert lib.streams.allocators == []


def test_copies_are_recorded(gpu, lib):
    x, host, back = array(lib, 0.0, 0.0), np.array([3.0, 4.0], np.float32), np.zeros(2, np.float32)
    with kapi.graph(kapi.default_queue("cuda")) as graph:
        kapi.memory.copy(host, x)
        event = kapi.memory.copy(x, back, depends=())
        with raises(kapi.KernelLaunchError, "graph-host-wait"):
            event.wait()
    assert x.host.tolist() == [0.0, 0.0]
    host[:] = 7.0
    graph.run()
    assert back.tolist() == [7.0, 7.0]


def test_update_changes_the_nodes_of_a_slot_alone(gpu, lib):
    gpu.packed_size = 64
    x, other = array(lib), array(lib)
    with kapi.graph(kapi.default_queue("cuda")) as graph:
        target = graph.slot("target", x)
        kapi.call_kernel(scale, kapi.Range(100), target, 2.0)
        kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    graph.run()
    graph.update(target=other)
    graph.run()
    addresses = [np.frombuffer(launch.packed, np.uint64, 8) for launch in gpu.launches]
    where = [[array.host.ctypes.data in each for array in (x, other)] for each in addresses]
    assert where == [[True, False], [True, False], [False, True], [True, False]]


def test_refused_update_leaves_the_graph_as_it_was(gpu, lib):
    gpu.packed_size = 64
    x = array(lib)
    with kapi.graph(kapi.default_queue("cuda")) as graph:
        target = graph.slot("target", x)
        kapi.call_kernel(scale, kapi.Range(100), target, 2.0)
    with raises(kapi.KernelLaunchError, "graph-queue"):
        graph.update(target=np.zeros(100, np.float32))
    with raises(kapi.KernelLaunchError, "graph-slot"):
        graph.update(factor=1.0)
    graph.run()
    assert x.host.ctypes.data in np.frombuffer(gpu.launches[0].packed, np.uint64, 8)
    assert target.value is x


def test_numbers_are_updated_whichever_stream_is_current(gpu, lib):
    gpu.packed_size = 64
    stream, x = kapi.queue("cuda"), array(lib)
    with kapi.graph(stream) as graph:
        target, factor = graph.slot("target", x), graph.slot("factor", 2.0)
        kapi.call_kernel(scale, kapi.Range(100), target, factor)
    assert lib.streams.cupy == 0
    graph.update(factor=np.float64(7.0))
    graph.run()
    (launch,) = gpu.launches
    assert launch.stream == stream.handle
    assert 7.0 in np.frombuffer(launch.packed, np.float64, 8)
    with raises(kapi.KernelLaunchError, "graph-queue"):
        graph.update(target=array(lib))
    assert factor.value == 7.0


@kapi.kernel
def scale_by_a_global(item: kapi.Item, x):
    i = item.get_id(0)
    x[i] = x[i] * FACTOR


FACTOR = 3


def test_changed_global_is_taken_whichever_stream_is_current(gpu, lib, monkeypatch):
    stream, x = kapi.queue("cuda"), array(lib)
    with kapi.graph(stream) as graph:
        kapi.call_kernel(scale_by_a_global, kapi.Range(100), x)
    graph.run()
    monkeypatch.setitem(globals(), "FACTOR", 5)
    graph.run()
    one, other = gpu.launches
    assert one.function != other.function
    assert one.stream == other.stream == stream.handle


def test_graph_without_a_queue_is_refused_on_a_cuda_device(gpu, lib):
    x = array(lib)
    with raises(kapi.KernelLaunchError, "graph-queue"), kapi.graph():
        kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    assert gpu.captures == {}


def test_work_of_another_stream_or_of_the_host_s_arrays_is_refused(gpu, lib):
    queue, x = kapi.queue("cuda"), np.ones(100, np.float32)
    theirs = kapi.memory.asarray(x, queue=queue)
    with kapi.graph(kapi.default_queue("cuda")):
        with raises(kapi.KernelLaunchError, "graph-queue"):
            kapi.call_kernel(scale, kapi.Range(100), theirs, 2.0)
        with raises(kapi.KernelLaunchError, "graph-queue"):
            kapi.call_kernel(scale, kapi.Range(100), x, 2.0)


def test_arrays_that_each_launch_would_copy_are_refused(gpu, lib):
    x, host = array(lib), np.zeros(100, np.float32)
    with kapi.device_context("cuda", warn=False):
        with kapi.graph(kapi.default_queue("cuda")) as graph:
            target = graph.slot("target", x)
            kapi.call_kernel(scale, kapi.Range(100), target, 1.0)
            with raises(kapi.KernelLaunchError, "graph-host-wait"):
                kapi.call_kernel(scale, kapi.Range(100), host, 1.0)
        with raises(kapi.KernelLaunchError, "graph-host-array"):
            graph.update(target=host)


def test_host_reads_are_refused_inside_of_the_block(gpu, lib):
    x, queue = kapi.memory.asarray(np.ones(4, np.float32), queue=kapi.default_queue("cuda")), kapi.default_queue("cuda")
    mark = kapi.Event()
    mark.record(queue)
    reads = [
        lambda: kapi.memory.asnumpy(x),
        lambda: x.asnumpy(),
        lambda: kapi.memory.device_array(4, queue=queue, fill=1),
        queue.synchronize,
        mark.synchronize,
        mark.record,
    ]
    with kapi.graph(queue):
        for read in reads:
            with raises(kapi.KernelLaunchError, "graph-host-wait"):
                read()


def test_error_in_the_block_ends_the_capture_and_breaks_the_graph(gpu, lib):
    graph = kapi.graph(kapi.default_queue("cuda"))

    def fail():
        kapi.call_kernel(scale, kapi.Range(100), array(lib), 2.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), graph:
        fail()
    assert gpu.captures == {}
    assert gpu.graphs == {}
    assert lib.streams.cupy == 0
    with raises(kapi.KernelLaunchError, "graph-broken"):
        graph.run()
    kapi.call_kernel(scale, kapi.Range(100), array(lib), 2.0)
    assert len(gpu.launches) == 1


@pytest.mark.parametrize("call", ["cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuLaunchKernel"])
def test_driver_s_refusal_is_an_error_and_leaves_nothing_open(gpu, lib, call):
    queue, x = kapi.default_queue("cuda"), array(lib)
    kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    gpu.fail[call] = 719
    graph = kapi.graph(queue)
    with pytest.raises(kapi.KapiError), graph:
        kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    gpu.fail.clear()
    with raises(kapi.KernelLaunchError, "graph-new" if call == "cuStreamBeginCapture" else "graph-broken"):
        graph()
    kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    assert lib.streams.cupy == 0


def test_graph_keeps_its_arrays_and_a_replay_keeps_the_graph(gpu, lib):
    x = array(lib)
    held = weakref.ref(x)
    with kapi.graph(kapi.default_queue("cuda")) as graph:
        kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    del x
    gc.collect()
    assert held() is not None
    gpu.pending = True
    event, _ = graph()
    del graph
    gc.collect()
    assert held() is not None
    gpu.pending = False
    event.wait()
    del event
    gc.collect()
    assert held() is None
    assert gpu.graphs == {}


def test_replay_waits_for_its_events(gpu, lib):
    x, other = array(lib), kapi.queue("cuda")
    mark = kapi.Event()
    mark.record(other)
    with kapi.graph(kapi.default_queue("cuda")) as graph:
        kapi.call_kernel(scale, kapi.Range(100), x, 2.0)
    del gpu.calls[:]
    graph([mark])
    names = gpu.names()
    assert names.index("cuStreamWaitEvent") < names.index("cuGraphLaunch")
