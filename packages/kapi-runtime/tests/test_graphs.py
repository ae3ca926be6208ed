"""Graphs over NumPy arrays on the CPU, and over arrays of SYCL devices."""

from __future__ import annotations

import gc
import threading
import weakref

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises

OFFSET = 1.0


@kapi.kernel
def add(item: kapi.Item, target, value):
    target[item.get_id(0)] += value


@kapi.kernel
def axpy(item: kapi.Item, a, x, y):
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]


@kapi.kernel(debug=True)
def pick(item: kapi.Item, source, index, target):
    i = item.get_id(0)
    target[i] = source[index[i]]


@pytest.fixture(params=["cpu", "sycl"])
def asarray(request):
    return np.array if request.param == "cpu" else dpnp.array


def values(array):
    return kapi.memory.asnumpy(array).tolist()


def test_launches_and_copies_run_at_each_replay_in_their_order(asarray):
    x, y, seen = asarray([1.0, 2.0]), asarray([10.0, 20.0]), asarray([0.0, 0.0])
    with kapi.graph() as graph:
        kapi.call_kernel(axpy, kapi.Range(2), 2.0, x, y)
        event, _ = kapi.call_kernel_async(add, kapi.Range(2), (), x, 1.0)
        kapi.memory.copy(y, seen, depends=[event])
        add[kapi.Range(2)](y, 100.0)
    assert [values(each) for each in (x, y, seen)] == [[1.0, 2.0], [10.0, 20.0], [0.0, 0.0]]
    graph.run()
    assert [values(each) for each in (x, y, seen)] == [[2.0, 3.0], [112.0, 124.0], [12.0, 24.0]]
    graph(graph()[:1])[0].wait()
    assert [values(each) for each in (x, y, seen)] == [[4.0, 5.0], [322.0, 338.0], [222.0, 238.0]]


def test_slots_take_other_numbers_arrays_shapes_and_types(asarray):
    x, y = asarray([1.0, 2.0]), asarray([0.0, 0.0])
    wide = asarray([[1.0, 9.0], [2.0, 9.0]])[:, 0]
    with kapi.graph() as graph:
        source, factor = graph.slot("source", x), graph.slot("factor", 1.0)
        for _ in range(2):
            kapi.call_kernel(axpy, kapi.Range(2), factor, source, y)
    graph.run()
    graph.update(factor=10)
    graph.run()
    graph.update(source=wide, factor=100.0)
    graph.run()
    assert values(y) == [222.0, 444.0]


def test_refused_update_changes_nothing(asarray):
    x, y = asarray([1.0, 2.0]), asarray([0.0, 0.0])
    with kapi.graph() as graph:
        source, factor = graph.slot("source", x), graph.slot("factor", 1.0)
        kapi.call_kernel(axpy, kapi.Range(2), factor, source, y)
    with raises(kapi.DtypeError, "argument-type"):
        graph.update(source=object(), factor=5.0)
    graph.run()
    assert values(y) == [1.0, 2.0]
    assert factor.value == 1.0


def test_long_launches_between_short_ones_are_shared_by_threads_and_keep_the_order():
    big, small = np.zeros(1 << 22, np.float32), np.zeros(4, np.float32)
    with kapi.graph() as graph:
        for value in (1.0, 2.0):
            kapi.call_kernel(add, kapi.Range(big.size), big, value)
            kapi.memory.copy(big[-4:], small)
            kapi.call_kernel(add, kapi.Range(4), big[-4:], 10.0)
    graph.run()
    assert (big[:-4] == 3.0).all()
    assert big[-4:].tolist() == [23.0] * 4
    assert small.tolist() == [13.0] * 4


def test_replays_by_several_threads_at_once_do_not_interleave():
    a, count = np.zeros(64, np.int64), 50
    with kapi.graph() as graph:
        for _ in range(10):
            kapi.call_kernel(add, kapi.Range(64), a, 1)
    queue = kapi.default_queue("cpu")
    threads = [threading.Thread(target=lambda: [graph() for _ in range(count)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.synchronize()
    graph.run()
    assert (a == 10 * (4 * count + 1)).all()


def test_update_leaves_replays_alone_that_were_submitted_before():
    a = np.zeros(1 << 20)
    with kapi.graph() as graph:
        value = graph.slot("value", 1.0)
        kapi.call_kernel(add, kapi.Range(a.size), a, value)
    expected, last = 0.0, None
    for number in range(20):
        graph.update(value=float(number))
        last, _ = graph()
        expected += number
    last.wait()
    assert (a == expected).all()


def test_changed_global_is_seen_by_the_next_replay(monkeypatch):
    @kapi.kernel
    def shift(item: kapi.Item, a):
        a[item.get_id(0)] += OFFSET

    a = np.zeros(2)
    with kapi.graph() as graph:
        shift[kapi.Range(2)](a)
    graph.run()
    monkeypatch.setitem(globals(), "OFFSET", 10.0)
    graph.run()
    assert a.tolist() == [11.0, 11.0]


def test_failures_of_work_items_are_raised_by_each_replay_that_has_one(asarray):
    source, index, target = asarray([5.0, 6.0]), asarray([0, 1]), asarray([0.0, 0.0])
    with kapi.graph() as graph:
        which = graph.slot("index", index)
        pick[kapi.Range(2)](source, which, target)
    graph.run()
    assert values(target) == [5.0, 6.0]
    graph.update(index=asarray([1, 2]))
    for _ in range(2):
        with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="target[i] = source[index[i]]"):
            graph.run()
    graph.update(index=asarray([1, 0]))
    graph.run()
    assert values(target) == [6.0, 5.0]


def test_graph_keeps_its_arrays_alive():
    a = np.zeros(100)
    held = weakref.ref(a)
    with kapi.graph() as graph:
        kapi.call_kernel(add, kapi.Range(100), a, 1.0)
    del a
    gc.collect()
    assert held() is not None
    graph.run()
    del graph
    gc.collect()
    assert held() is None


def test_empty_graph_and_launches_of_no_work_item_do_nothing():
    with kapi.graph() as empty:
        pass
    empty.run()
    empty()[0].wait()
    a = np.zeros(0)
    with kapi.graph() as graph:
        kapi.call_kernel(add, kapi.Range(0), a, 1.0)
    graph.run()
    graph()[0].wait()


def test_work_of_two_queues_is_refused():
    a, b = np.zeros(2), dpnp.zeros(2)
    with kapi.graph():
        kapi.call_kernel(add, kapi.Range(2), a, 1.0)
        with raises(kapi.KernelLaunchError, "graph-queue"):
            kapi.call_kernel(add, kapi.Range(2), b, 1.0)
    with kapi.graph(kapi.default_queue("opencl:cpu")), raises(kapi.KernelLaunchError, "graph-queue"):
        kapi.call_kernel(add, kapi.Range(2), a, 1.0)


def test_waits_inside_of_the_block_are_refused():
    a = dpnp.zeros(2)
    with kapi.graph():
        host_event, _ = kapi.call_kernel_async(add, kapi.Range(2), (), a, 1.0)
        for wait in (
            host_event.wait,
            kapi.default_queue("cpu").synchronize,
            kapi.default_queue("opencl:cpu").synchronize,
            lambda: kapi.memory.asnumpy(a),
            lambda: kapi.memory.view(kapi.memory.shared_array(2)),
            lambda: kapi.memory.asarray(np.zeros(2), queue=kapi.default_queue("opencl:cpu")),
        ):
            with raises(kapi.KernelLaunchError, "graph-host-wait"):
                wait()


def test_recorded_launches_wait_for_events_of_the_recording_alone():
    a = np.zeros(2)
    earlier, _ = kapi.call_kernel_async(add, kapi.Range(2), (), a, 1.0)
    with kapi.graph() as graph:
        with raises(kapi.KernelLaunchError, "graph-event"):
            kapi.call_kernel_async(add, kapi.Range(2), [earlier], a, 1.0)
        recorded, _ = kapi.call_kernel_async(add, kapi.Range(2), [], a, 1.0)
    with raises(kapi.KernelLaunchError, "no-event"):
        kapi.call_kernel_async(add, kapi.Range(2), [recorded], a, 1.0)
    graph([earlier])[0].wait()
    assert a.tolist() == [2.0, 2.0]


def test_profile_has_an_entry_for_each_replay(asarray):
    a = asarray([0.0, 0.0])
    with kapi.graph() as graph:
        for _ in range(3):
            kapi.call_kernel(add, kapi.Range(2), a, 1.0)
    with kapi.profiling() as recording:
        graph.run()
    assert [(entry.kind, entry.name) for entry in recording.entries] == [("launch", "graph of 3 launches")]
    assert values(a) == [3.0, 3.0]


def test_bound_launches_are_recorded_as_they_are():
    a = np.zeros(2)
    launch = add.bind(kapi.Range(2), a, 1.0)
    with kapi.graph() as graph:
        launch()
        launch.replace(value=10.0)
        launch()
    launch.replace(value=100.0)
    graph.run()
    assert a.tolist() == [11.0, 11.0]


@kapi.device_func
def is_large(x):
    return x > 2


@pytest.mark.parametrize(
    "call",
    [
        lambda a: kapi.algorithms.copy_if(a, is_large),
        lambda a: kapi.algorithms.unique(a),
        lambda a: kapi.algorithms.reduce_by_segment(a, a),
        lambda a: kapi.algorithms.reduce(a) if isinstance(a, np.ndarray) else kapi.algorithms.unique(a),
    ],
)
def test_algorithms_whose_results_the_host_reads_are_refused_in_a_block(asarray, call):
    a = asarray([3.0, 1.0])
    with kapi.graph(), raises(kapi.KernelLaunchError, "graph-host-wait"):
        call(a)


def test_a_reduction_into_an_array_runs_at_each_replay(asarray):
    a, total = asarray([3.0, 1.0]), asarray([0.0])
    with kapi.graph() as graph:
        element = kapi.algorithms.reduce(a, out=total)
        kapi.call_kernel(add, kapi.Range(2), a, 1.0)
    for expected in (4.0, 6.0):
        graph.run()
        assert values(total) == [expected]
        assert float(element) == expected
