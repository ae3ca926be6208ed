from __future__ import annotations

import threading

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, target, value):
    target[item.get_id(0)] += value


@kapi.kernel
def shift(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = source[(i + 1) % source.shape[0]]


@kapi.kernel
def race(item: kapi.Item, target):
    target[0] = item.get_id(0) + target[item.get_id(0)]


def test_launches_run_at_each_replay_in_their_order_and_not_in_the_block():
    a, b = np.arange(3.0), np.full(3, -1.0)
    with kapi.graph() as graph:
        kapi.call_kernel(add, kapi.Range(3), a, 1.0)
        events = kapi.call_kernel_async(shift, kapi.Range(3), (), a, b)
        shift[kapi.Range(3)](b, a)
        launch = add.bind(kapi.Range(3), b, 0.5)
        launch(events)
    launch.replace(value=100.0)
    assert (a.tolist(), b.tolist()) == ([0.0, 1.0, 2.0], [-1.0] * 3)
    graph.run()
    assert (a.tolist(), b.tolist()) == ([3.0, 1.0, 2.0], [2.5, 3.5, 1.5])
    graph(list(graph()))
    expected_a, expected_b = np.array([3.0, 1.0, 2.0]), None
    for _ in range(2):
        expected_a = expected_a + 1
        expected_b = np.roll(expected_a, -1)
        expected_a = np.roll(expected_b, -1)
        expected_b = expected_b + 0.5
    np.testing.assert_array_equal(a, expected_a)
    np.testing.assert_array_equal(b, expected_b)


def test_slot_is_replaced_in_all_its_launches_and_in_no_other():
    a, b = np.zeros(2), np.zeros(2)
    with kapi.graph() as graph:
        target, value = graph.slot("target", a), graph.slot("value", 1.0)
        add[kapi.Range(2)](target, value)
        add[kapi.Range(2)](target, 10.0)
        add[kapi.Range(2)](a, value)
    graph.update(target=b, value=2.0)
    graph.run()
    assert (a.tolist(), b.tolist()) == ([2.0, 2.0], [12.0, 12.0])


def test_each_replay_is_checked():
    a = np.zeros(2)
    with kapi.graph() as graph:
        kapi.call_kernel(race, kapi.Range(2), a)
    for _ in range(2):
        with raises(kapi.DataRaceError, "data-race", line="target[0] = item.get_id(0)"):
            graph.run()


def test_recording_is_of_one_thread():
    a = np.zeros(2)
    with kapi.graph() as graph:
        thread = threading.Thread(target=kapi.call_kernel, args=(add, kapi.Range(2), a, 1.0))
        thread.start()
        thread.join()
    assert a.tolist() == [1.0, 1.0]
    graph.run()
    assert a.tolist() == [1.0, 1.0]


def test_empty_graph_does_nothing():
    with kapi.graph() as graph:
        pass
    graph.run()
    graph()[0].wait()
    assert "0 launches" in repr(graph)


def test_uses_at_the_wrong_time_are_refused():
    graph, other = kapi.graph(), kapi.graph()
    with raises(kapi.KernelLaunchError, "graph-new"):
        graph.run()
    with raises(kapi.KernelLaunchError, "graph-not-recording"):
        graph.slot("x", 1)
    with graph:
        with raises(kapi.KernelLaunchError, "graph-recording"):
            graph.run()
        with raises(kapi.KernelLaunchError, "graph-recording"):
            graph.update()
        with raises(kapi.KernelLaunchError, "graph-nested"), other:
            pass
        graph.slot("x", 1)
        with raises(kapi.KernelLaunchError, "graph-slot"):
            graph.slot("x", 1)
    with raises(kapi.KernelLaunchError, "graph-recorded"), graph:
        pass
    with other, raises(kapi.KernelLaunchError, "graph-slot"):
        add[kapi.Range(2)](np.zeros(2), graph._slots["x"])
    with raises(kapi.KernelLaunchError, "graph-slot"):
        graph.update(y=1)


def test_error_in_the_block_breaks_the_graph_and_ends_the_recording():
    graph, a = kapi.graph(), np.zeros(2)

    def fail():
        add[kapi.Range(2)](a, 1.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), graph:
        fail()
    with raises(kapi.KernelLaunchError, "graph-broken"):
        graph.run()
    add[kapi.Range(2)](a, 1.0)
    assert a.tolist() == [1.0, 1.0]


def test_arguments_are_counted_when_they_are_recorded():
    with pytest.raises(kapi.KernelLaunchError), kapi.graph():
        kapi.call_kernel(add, kapi.Range(2), np.zeros(2))


@kapi.device_func
def is_large(x):
    return x > 2


@pytest.mark.parametrize(
    "call",
    [
        lambda a: kapi.algorithms.copy_if(a, is_large),
        lambda a: kapi.algorithms.unique(a),
        lambda a: kapi.algorithms.reduce_by_segment(a, a),
        lambda a: kapi.algorithms.reduce(a),
    ],
)
def test_algorithms_whose_results_the_host_reads_are_refused_in_a_block(call):
    with kapi.graph(), raises(kapi.KernelLaunchError, "graph-host-wait"):
        call(np.array([3.0, 1.0]))


def test_a_reduction_into_an_array_runs_at_each_replay():
    a, total = np.array([3.0, 1.0]), np.zeros(1)
    with kapi.graph() as graph:
        element = kapi.algorithms.reduce(a, out=total)
        add[kapi.Range(2)](a, 1.0)
    for expected in (4.0, 6.0):
        graph.run()
        assert (total[0], element) == (expected, expected)


def test_a_replay_is_refused_in_a_block():
    with kapi.graph() as graph:
        add[kapi.Range(2)](np.zeros(2), 1.0)
    with kapi.graph(), raises(kapi.KernelLaunchError, "graph-host-wait"):
        graph.run()
