from __future__ import annotations

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    total[i] = left[i] + right[i]


def launch(*arguments):
    kapi.call_kernel(add, kapi.Range(4), *arguments)


def test_kernel_runs_on_the_queue_of_its_arrays(sub_devices):
    left, total = (dpnp.ones(4, sycl_queue=sub_devices[1]) for _ in range(2))
    launch(left, left, total)
    assert total.sycl_queue == sub_devices[1]
    assert set(total.asnumpy()) == {2}


def test_each_sub_device_runs_the_same_kernel(sub_devices):
    for queue in sub_devices:
        total = dpnp.zeros(4, sycl_queue=queue)
        ones = dpnp.ones(4, sycl_queue=queue)
        launch(ones, ones, total)
        assert set(total.asnumpy()) == {2}


def test_arrays_of_two_devices_are_refused_with_both_named(sub_devices):
    left, right = (dpnp.ones(4, sycl_queue=queue) for queue in sub_devices)
    with pytest.raises(kapi.ExecutionPlacementError) as caught:
        launch(left, right, left)
    message = str(caught.value)
    assert "arguments `left` and `right` of kernel `add` must share one queue" in message
    assert message.count("a sub-device of") == 2
    assert "`right.sycl_queue.wait(); right = right.to_device(left.sycl_queue)`" in message


def test_to_device_mends_the_placement(sub_devices):
    left, right = (dpnp.ones(4, sycl_queue=queue) for queue in sub_devices)
    right.sycl_queue.wait()
    right = right.to_device(left.sycl_queue)
    total = dpnp.zeros(4, sycl_queue=left.sycl_queue)
    launch(left, right, total)
    assert set(total.asnumpy()) == {2}


def test_arrays_of_two_queues_of_one_device_are_refused():
    ones = dpnp.ones(4)
    other = dpnp.ones(4, sycl_queue=dpctl.SyclQueue(ones.sycl_device))
    with raises(kapi.ExecutionPlacementError, "different-queues"):
        launch(ones, ones, other)


def test_queue_made_from_a_capsule_counts_as_the_same():
    ones = dpnp.ones(4)
    same = dpnp.zeros(4, sycl_queue=dpctl.SyclQueue(ones.sycl_queue._get_capsule()))
    launch(ones, ones, same)
    assert set(same.asnumpy()) == {2}


def test_no_array_at_all_is_refused():
    with raises(kapi.ExecutionPlacementError, "no-array"):
        launch(1, 2, 3)


def test_numpy_array_is_refused_with_the_call_that_copies_it():
    ones = dpnp.ones(4)
    with pytest.raises(kapi.ExecutionPlacementError) as caught:
        launch(ones, np.ones(4), ones)
    message = "argument `right` of kernel `add` must be an array of a device, got a numpy.ndarray of float64 (4,)"
    assert message in str(caught.value)
    assert "while `left` is one on its device" in str(caught.value)
    assert "`right = dpnp.asarray(right, sycl_queue=left.sycl_queue)`" in str(caught.value)
    assert "or let each launch copy: `with kapi.device_context(device): ...`" in str(caught.value)


def test_numpy_arrays_alone_are_the_cpu_s():
    launch(np.ones(4), np.ones(4), total := np.ones(4))
    assert set(total) == {2}


def test_placement_error_is_dpnp_s_own_too():
    with pytest.raises(dpnp.exceptions.ExecutionPlacementError) as caught:
        launch(1, 2, 3)
    assert isinstance(caught.value, kapi.KapiError)
    assert isinstance(caught.value, ValueError)


class Foreign:
    """An array of another library: the protocol, and nothing else."""

    def __init__(self, array, owner):
        self.array = array
        self.owner = owner

    @property
    def __sycl_usm_array_interface__(self):
        return dict(self.array.__sycl_usm_array_interface__) | {"syclobj": self.owner}


def test_arrays_are_taken_by_protocol():
    ones, total = dpnp.ones(4), dpnp.zeros(4)
    queue = ones.sycl_queue
    launch(Foreign(ones, queue), Foreign(ones, queue._get_capsule()), Foreign(total, queue))
    assert set(total.asnumpy()) == {2}


def test_array_that_names_no_queue_is_refused():
    ones = dpnp.ones(4)
    with raises(kapi.ExecutionPlacementError, "array-without-queue"):
        launch(Foreign(ones, "cpu"), ones, ones)


def test_array_of_a_device_with_one_of_the_host_is_refused_by_name():
    with raises(kapi.ExecutionPlacementError, "array-on-host"):
        launch(dpnp.ones(4), np.ones(4), dpnp.ones(4))


def test_each_launch_runs_where_its_arrays_are():
    for namespace in (dpnp, np, dpnp):
        launch(namespace.ones(4), namespace.ones(4), total := namespace.zeros(4))
        assert type(total) is namespace.ndarray
        assert total.tolist() == [2] * 4
