from __future__ import annotations

import json
import time

import dpctl
import dpnp
import pytest

import kapi_runtime as kapi
from kapi_runtime.platform import recorder
from kapi_runtime.recording import profile as recording_module
from kapi_runtime.sycl.devices.device_summary import describe_device
from kapi_sim.testing.reports import raises

SIZE = 1000


@kapi.kernel
def add_one(item: kapi.Item, values):
    i = item.get_id(0)
    values[i] += 1


@kapi.kernel
def long(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    value = values[i]
    for _ in range(rounds):
        value = value * value + 0.25
    values[i] = value


@pytest.fixture(autouse=True)
def nothing_is_kept():
    yield
    assert recorder.active is None


@pytest.fixture(params=["default", "profiling", "in-order", "sub-device"])
def queue(request, sub_device):
    if request.param in ("default", "sub-device"):
        return kapi.default_queue(sub_device if request.param == "sub-device" else None)
    return kapi.queue(profiling=request.param == "profiling", in_order=request.param == "in-order")


def test_recording_has_each_launch_with_its_times(queue):
    values = dpnp.zeros(SIZE, dtype="float32", sycl_queue=queue)
    with kapi.profiling() as recording:
        for _ in range(3):
            kapi.call_kernel(add_one, kapi.Range(SIZE), values)
    assert [(each.kind, each.name, each.space, each.nbytes) for each in recording.entries] == [
        ("launch", "add_one", f"Range({SIZE})", SIZE * 4)
    ] * 3
    for each in recording.entries:
        assert each.submit <= each.start < each.end
        assert each.duration == each.end - each.start
        assert each.device == describe_device(queue.sycl_device)
    assert set(values.asnumpy()) == {3}


def test_duration_is_what_the_host_sees_of_a_long_kernel():
    values = dpnp.zeros(SIZE, dtype="float32")
    kapi.call_kernel(long, kapi.Range(SIZE), values, 10)
    with kapi.profiling() as recording:
        begin = time.perf_counter_ns()
        kapi.call_kernel(long, kapi.Range(SIZE), values, 300_000)
        host = time.perf_counter_ns() - begin
    (entry,) = recording.launches
    assert 0.01 * host < entry.duration < host  # the host may wait for a core, before the kernel and after it


def test_recorded_work_keeps_its_order_with_dpnp(queue):
    values = dpnp.zeros(SIZE, dtype="int64", sycl_queue=queue)
    with kapi.profiling() as recording:
        for _ in range(20):
            kapi.call_kernel_async(add_one, kapi.Range(SIZE), [], values)
            values *= 2
    assert set(values.asnumpy()) == {2**21 - 2}
    assert len(recording) == 20


def test_recorded_work_is_before_what_is_later_submitted_to_the_queue_itself():
    """An event of a queue that was given nothing but the launch comes after the launch."""
    queue = kapi.queue()
    values = dpnp.zeros(SIZE, dtype="float32", sycl_queue=queue)
    with kapi.profiling():
        _, event = kapi.call_kernel_async(long, kapi.Range(SIZE), [], values, 100_000)
        queue.submit_barrier().wait()
        assert event.execution_status == dpctl.event_status_type.complete


def test_recording_ends_with_an_exception():
    recordings = []

    def fails():
        with kapi.profiling() as recording:
            recordings.append(recording)
            add_one[SIZE](dpnp.zeros(SIZE))
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails()
    assert len(recordings[0].entries) == 1
    assert not recordings[0].is_active


def test_recording_has_nothing_from_outside():
    values = dpnp.zeros(SIZE)
    add_one[SIZE](values)
    recording = kapi.compat.profile_start()
    add_one[SIZE](values)
    assert kapi.compat.profile_stop() is recording
    add_one[SIZE](values)
    assert len(recording.entries) == 1


def test_profiling_can_be_stopped_inside():
    with kapi.profiling() as recording:
        assert kapi.compat.profile_stop() is recording
        add_one[SIZE](dpnp.zeros(SIZE))
    assert recording.entries == ()


def test_profiling_is_not_started_twice():
    with kapi.profiling(), raises(kapi.KernelLaunchError, "profiling-running"):
        kapi.compat.profile_start()


def test_profiling_that_was_not_started_cannot_be_stopped():
    with raises(kapi.KernelLaunchError, "profiling-stopped"):
        kapi.compat.profile_stop()


def test_recording_of_many_launches_lets_go_of_their_events(monkeypatch):
    monkeypatch.setattr(recording_module, "_READ_EVERY", 4)
    values = dpnp.zeros(SIZE)
    with kapi.profiling() as recording:
        for _ in range(10):
            add_one[SIZE](values)
        assert len(recording._pending) < 4
    assert len(recording.entries) == 10


def test_recording_is_printed_as_tables():
    values = dpnp.zeros(SIZE)
    with kapi.profiling() as recording:
        add_one[SIZE](values)
        add_one[SIZE](values)
        long[SIZE](values, 1)
    head, *rows = str(recording).splitlines()
    assert head.split() == ["kind", "name", "count", "total", "us", "mean", "us", "min", "us", "max", "us", "GB/s"]
    assert sorted(row.split()[:3] for row in rows) == [["launch", "add_one", "2"], ["launch", "long", "1"]]
    lines = recording.table().splitlines()
    assert len(lines) == 4
    assert lines[1].split()[:4] == ["launch", "add_one", f"Range({SIZE})", str(SIZE * 8)]


def test_recording_is_exported_as_a_trace(tmp_path):
    values = dpnp.zeros(SIZE)
    with kapi.profiling() as recording:
        add_one[SIZE](values)
        add_one[SIZE](values)
    path = tmp_path / "trace.json"
    recording.export(path)
    trace = json.loads(path.read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(span["name"], span["cat"], span["args"]["bytes"]) for span in spans] == [
        ("add_one", "launch", SIZE * 8)
    ] * 2
    first, second = spans
    assert first["ts"] + first["dur"] <= second["ts"]
    assert [span["dur"] for span in spans] == [entry.duration / 1e3 for entry in recording.entries]
    names = {event["name"]: event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert names["process_name"] == recording.entries[0].device
    assert names["thread_name"].startswith("queue 0x")
