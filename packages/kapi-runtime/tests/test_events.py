from __future__ import annotations

import time

import dpctl
import dpnp
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises

SIZE = 1000


@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    value = values[i]
    for _ in range(rounds):
        value = value * value + 0.25
    values[i] = value


@kapi.kernel
def double(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = source[i] * 2


@pytest.fixture(params=["default", "profiling", "in-order", "sub-device"])
def queue(request, sub_device):
    return {
        "default": kapi.default_queue,
        "profiling": lambda: kapi.queue(profiling=True),
        "in-order": lambda: kapi.queue(in_order=True),
        "sub-device": lambda: kapi.queue(sub_device),
    }[request.param]()


def busy(queue, rounds=1_000_000):
    """Some 200 ms of work on the queue."""
    values = dpnp.zeros(SIZE, dtype="float32", sycl_queue=queue)
    return kapi.call_kernel_async(spin, kapi.Range(SIZE), [], values, rounds)


def test_elapsed_time_is_that_of_the_work_between(queue):
    begin = time.perf_counter()  # a mark on an idle queue is as early as the end of the work before
    busy(queue, 10)[0].wait()
    start, end = kapi.Event(), kapi.Event()
    start.record(queue)
    busy(queue)
    end.record(queue)
    end.synchronize()
    host = (time.perf_counter() - begin) * 1e3
    assert 0 < start.elapsed_time(end) < 1.01 * host  # the host may wait for a core at any time
    assert kapi.compat.event_elapsed_time(start, end) == start.elapsed_time(end)
    assert end.elapsed_time(start) == -start.elapsed_time(end)


def test_elapsed_time_waits_for_both_marks():
    start, end = kapi.Event(), kapi.Event()
    start.record()
    busy(kapi.default_queue())
    end.record()
    assert not end.query()
    assert start.elapsed_time(end) > 0
    assert end.query()


def test_query_returns_whether_the_mark_is_passed(queue):
    event = kapi.Event(timing=False)
    assert event.query()
    assert repr(event) == "<Event: not recorded>"
    busy(queue)
    event.record(queue)
    assert not event.query()
    event.synchronize()
    assert event.query()
    assert repr(event) == "<Event: complete>"


def test_event_that_was_not_recorded_is_not_waited_for():
    kapi.Event().synchronize()
    kapi.Event().wait()
    values = dpnp.zeros(SIZE)
    kapi.call_kernel_async(double, kapi.Range(SIZE), [kapi.Event()], values, values)[0].wait()


def test_event_is_recorded_on_the_current_device_s_queue(sub_device):
    event = kapi.Event()
    with sub_device:
        busy(kapi.default_queue())
        event.record()
    assert not event.query()
    event.synchronize()


def test_later_mark_replaces_the_earlier(queue):
    event = kapi.Event()
    event.record(queue)
    event.synchronize()
    busy(queue)
    event.record(queue)
    assert not event.query()
    event.synchronize()


@pytest.mark.parametrize("in_order", [False, True])
def test_other_queue_waits_for_a_mark(in_order):
    """Work that is submitted to it afterwards, by kapi or by dpnp, runs after the work before the mark."""
    first, second = kapi.queue(), kapi.queue(in_order=in_order)
    values = dpnp.zeros(SIZE, sycl_queue=second)
    double[SIZE](values, values)
    event = kapi.Event(timing=False)
    _, work = busy(first)
    event.record(first)
    event.wait(second)
    _, launched = kapi.call_kernel_async(double, kapi.Range(SIZE), [], values, values)
    launched.wait()
    assert work.execution_status == dpctl.event_status_type.complete
    _, work = busy(first)
    event.record(first)
    event.wait(second)
    values += 1
    second.wait()
    assert work.execution_status == dpctl.event_status_type.complete


def test_launch_waits_for_a_mark():
    first, second = kapi.queue(), kapi.queue()
    values = dpnp.zeros(SIZE, sycl_queue=second)
    event = kapi.Event()
    _, work = busy(first)
    event.record(first)
    host_event, _ = kapi.call_kernel_async(double, kapi.Range(SIZE), [event], values, values)
    host_event.wait()
    assert work.execution_status == dpctl.event_status_type.complete


def test_launch_without_its_events_says_what_is_missing():
    values = dpnp.zeros(SIZE)
    with raises(kapi.KernelLaunchError, "dependent-events"):
        kapi.call_kernel_async(double, kapi.Range(SIZE), values, values)


def test_untimed_event_has_no_elapsed_time():
    start, end = kapi.Event(timing=False), kapi.Event()
    start.record()
    end.record()
    with raises(kapi.KernelLaunchError, "event-without-times"):
        start.elapsed_time(end)


def test_events_of_two_devices_have_no_elapsed_time(sub_device):
    start, end = kapi.Event(), kapi.Event()
    start.record()
    end.record(kapi.default_queue(sub_device))
    with raises(kapi.KernelLaunchError, "events-of-devices"):
        start.elapsed_time(end)


@pytest.mark.parametrize("other", [None, dpctl.SyclEvent(), 3])
def test_what_is_no_event_has_no_elapsed_time(other):
    event = kapi.Event()
    event.record()
    for pair in ((event, other), (other, event)):
        with raises(kapi.KernelLaunchError, "no-event"):
            kapi.compat.event_elapsed_time(*pair)


@pytest.mark.parametrize("method", ["record", "wait"])
def test_mark_of_what_is_no_queue_is_an_error(method):
    with raises(kapi.KernelLaunchError, "no-queue"):
        getattr(kapi.Event(), method)(kapi.devices[0])


def test_unrecorded_event_has_no_elapsed_time():
    start = kapi.Event()
    start.record()
    with raises(kapi.KernelLaunchError, "event-unrecorded"):
        start.elapsed_time(kapi.Event())
