"""Copies that the host does not wait for, and NumPy's views of shared and host memory, on SYCL."""

from __future__ import annotations

import gc
import json
import time

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_runtime.compat as cuda
from kapi_runtime import memory
from kapi_runtime.sycl.memory.usm_array import new_usm_array
from kapi_sim.testing.reports import raises

SIZE = 1000
COMPLETE = dpctl.event_status_type.complete


@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    value = values[i]
    for _ in range(rounds):
        value = value * value + 0.25
    values[i] = value + 1


@kapi.kernel
def add_one(item: kapi.Item, values):
    values[item.get_id(0)] += 1


@pytest.fixture(params=["out-of-order", "in-order"])
def queue(request):
    return kapi.queue(in_order=request.param == "in-order")


def busy(values, rounds=1_000_000):
    """Some 200 ms of work that leaves no element below 1."""
    return kapi.call_kernel_async(spin, kapi.Range(SIZE), [], values, rounds)[1]


# ------------------------------------------------------------------------------------------------------- views


@pytest.mark.parametrize("kind", ["shared", "host"])
@pytest.mark.parametrize("library", ["dpnp", "kapi"])
def test_view_is_the_same_memory(kind, library):
    queue = kapi.default_queue()
    if library == "dpnp":
        array = dpnp.zeros((3, 4), dtype="int16", usm_type=kind, sycl_queue=queue)
    else:
        array = new_usm_array((3, 4), np.dtype("int16"), kind, queue)
        array[...] = np.zeros((3, 4), "int16")
    seen = memory.view(array)
    seen[1, 2] = 7
    assert array.asnumpy()[1, 2] == 7
    part = memory.view(array[::-1, 1:].T)
    assert (part == seen[::-1, 1:].T).all()
    assert part.strides == seen[::-1, 1:].T.strides
    assert np.shares_memory(part, seen)


def test_view_waits_for_the_work_of_its_queue(queue):
    array = memory.shared_array(SIZE, "float32", queue=queue, fill=0)
    event = busy(array)
    assert (memory.view(array) >= 1).all()
    assert event.execution_status == COMPLETE


def test_view_keeps_the_memory():
    seen = memory.view(memory.host_array(SIZE, "int32", fill=3))
    gc.collect()
    others = [memory.host_array(SIZE, "int32", fill=4) for _ in range(20)]
    assert (seen == 3).all()
    assert len(others) == 20


def test_view_of_a_read_only_array_is_read_only():
    array = memory.host_array(4)
    array.get_array().flags["W"] = False
    assert not memory.view(array).flags.writeable


def test_view_of_no_elements_and_of_the_host_s_arrays():
    assert memory.view(memory.shared_array((0, 3), "int8")).shape == (0, 3)
    ours = np.zeros(3)
    assert memory.view(ours) is ours


@pytest.mark.parametrize(
    ("source", "code"), [(lambda: memory.device_array(3), "view-of-device-memory"), (lambda: [1, 2], "array-on-host")]
)
def test_what_the_host_cannot_read_has_no_view(source, code):
    with pytest.raises(kapi.ExecutionPlacementError) as refused:
        memory.view(source())
    assert refused.value.code == code


def test_pinned_array_is_numpy_s():
    array = cuda.pinned_array((2, 3), "int32")
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype) == ((2, 3), np.int32)


# ------------------------------------------------------------------------------------------------------ copies


def test_copy_is_ordered_with_launches_of_its_queue(queue):
    values, target = memory.device_array(SIZE, "float32", queue=queue, fill=0), np.zeros(SIZE, "float32")
    work = busy(values)
    copied = memory.copy(values, target, depends=[])
    add_one_after = kapi.call_kernel_async(add_one, kapi.Range(SIZE), [], values)[0]
    assert isinstance(copied, kapi.HostEvent)
    copied.wait()
    assert work.execution_status == COMPLETE
    add_one_after.wait()
    assert (target + 1 == values.asnumpy()).all()


def test_launch_after_a_copy_sees_what_was_copied(queue):
    values = memory.device_array(SIZE, "float32", queue=queue, fill=0)
    busy(values)
    source = memory.view(memory.host_array(SIZE, "float32", fill=5))
    memory.copy(source, values, depends=[])
    add_one[SIZE](values)
    assert (values.asnumpy() == 6).all()
    values += 1  # dpnp's work comes after a copy as well
    memory.copy(source, values, depends=[])
    values += 1
    assert (values.asnumpy() == 6).all()


def test_copy_between_queues_is_ordered_on_both():
    first, second = kapi.queue(), kapi.queue()
    source = memory.device_array(SIZE, "float32", queue=first, fill=0)
    target = memory.device_array(SIZE, "float32", queue=second, fill=0)
    filled, other = busy(source), busy(target)
    copied = memory.copy(source, target, depends=[])
    after = kapi.call_kernel_async(spin, kapi.Range(SIZE), [], source, 0)[0]
    copied.wait()
    assert filled.execution_status == other.execution_status == COMPLETE
    after.wait()
    assert (target.asnumpy() + 1 == source.asnumpy()).all()


def test_copy_waits_for_events_and_is_waited_for_by_a_launch_elsewhere():
    first, second = kapi.queue(), kapi.queue()
    values, others = (memory.device_array(SIZE, "float32", queue=each, fill=0) for each in (first, second))
    work, mark = busy(others), kapi.Event(timing=False)
    mark.record(second)
    copied = memory.copy(np.full(SIZE, 3, "float32"), values, depends=[mark])
    assert copied.status in tuple(kapi.EventStatus)
    host_event, _ = kapi.call_kernel_async(add_one, kapi.Range(SIZE), [copied], others)
    host_event.wait()
    assert work.execution_status == copied.device_event.execution_status == COMPLETE
    assert (values.asnumpy() == 3).all()


def test_what_a_copy_uses_stays_alive():
    queue = kapi.queue()
    values = memory.device_array(1 << 20, "float32", queue=queue, fill=0)
    busy(values[:SIZE])
    target = memory.device_array(1 << 20, "float32", queue=queue)
    memory.copy(np.full(1 << 20, 2, "float32"), values, depends=[])
    memory.copy(values, target, depends=[])
    del values
    gc.collect()
    others = [np.full(1 << 20, 9, "float32") for _ in range(4)]
    assert (target.asnumpy() == 2).all()
    assert len(others) == 4


def test_copy_of_no_elements_is_done():
    memory.copy(np.zeros(0), memory.device_array(0), depends=[]).wait()


def test_read_only_and_overlapping_arrays_are_refused():
    shared = memory.shared_array(8, "int32", fill=1)
    seen = memory.view(shared)
    for source, target in ((shared[:6], shared[2:]), (seen[:6], shared[2:]), (shared, shared), (shared, seen)):
        with pytest.raises(kapi.KernelLaunchError) as refused:
            memory.copy(source, target, depends=[])
        assert refused.value.code == "copy-overlap"
    seen.flags.writeable = False
    with pytest.raises(kapi.DtypeError) as refused:
        memory.copy(memory.device_array(8, "int32"), seen, depends=[])
    assert refused.value.code == "copy-to-read-only"


def test_copy_that_is_waited_for_may_overlap():
    shared = memory.shared_array(8, "int32")
    seen = memory.view(shared)
    for source, target in ((shared[:6], shared[2:]), (seen[:6], shared[2:]), (shared[:6], seen[2:])):
        shared[:] = dpnp.arange(8)
        shared.sycl_queue.wait()
        memory.copy(source, target)
        assert memory.view(shared).tolist() == [0, 1, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("depends", [3, [3], kapi.Event(), [object()]])
def test_what_is_no_list_of_events_is_refused(depends):
    with pytest.raises(kapi.KernelLaunchError) as refused:
        memory.copy(np.zeros(3), memory.device_array(3), depends=depends)
    assert refused.value.code == "dependent-events"


def test_copy_of_the_host_alone_is_the_cpu_s_except_where_another_device_copies():
    target = np.zeros(3)
    memory.copy(np.ones(3), target, depends=[]).wait()
    assert target.tolist() == [1] * 3
    assert type(memory.like(target, np.ones((2, 1)))) is np.ndarray
    with kapi.device_context("opencl:cpu", warn=False):
        with raises(kapi.ExecutionPlacementError, "array-on-host"):
            memory.copy(np.ones(3), target, depends=[])
        with raises(kapi.ExecutionPlacementError, "array-on-host"):
            memory.like(target)


def test_copy_between_contexts_is_refused_by_name(sub_device):
    source = memory.device_array(3, queue=kapi.default_queue(sub_device))
    with raises(kapi.ExecutionPlacementError, "different-queues") as refused:
        memory.copy(source, memory.device_array(3), depends=[])
    assert refused.value.code == "different-queues"


def test_overlap_of_copy_and_kernel_is_in_the_trace(tmp_path):
    """A kernel on one queue, and while it runs copies on another, from and to pinned memory."""
    first, second = kapi.queue(), kapi.queue()
    values = memory.device_array(1, "float32", queue=first, fill=0)
    target = memory.device_array(1 << 16, "float32", queue=second)
    source = memory.view(memory.host_array(1 << 16, "float32", queue=second, fill=1))
    kapi.call_kernel(spin, kapi.Range(1), values, 1)
    for _ in range(20):  # on a busy machine the kernel may end before this thread has gone on
        with kapi.profiling() as recording:
            ran, _ = kapi.call_kernel_async(spin, kapi.Range(1), [], values, 100_000_000)
            while ran.status is kapi.EventStatus.submitted:
                time.sleep(1e-3)
            before = []
            for _ in range(3):
                before = [memory.copy(source, target, depends=before)]
            ran.wait()  # who waits for a copy takes part in the kernel, on Intel's runtime for CPUs
        (kernel,), copies = recording.launches, recording.copies
        assert [each.name for each in copies] == ["host to device"] * 3
        if copies[-1].end < kernel.end:
            break
    assert kernel.start < copies[-1].start <= copies[-1].end < kernel.end
    recording.export(tmp_path / "trace.json")
    drawn = [each for each in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if each["ph"] == "X"]
    assert len({each["tid"] for each in drawn}) == 2
