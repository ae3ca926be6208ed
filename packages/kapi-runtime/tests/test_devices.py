from __future__ import annotations

from types import SimpleNamespace

import dpctl
import dpnp

import kapi_runtime as kapi
from kapi_runtime.host import devices
from kapi_runtime.host.queues import default_queue
from kapi_runtime.sycl.devices.device_summary import summarize
from kapi_runtime.sycl.devices.usable import best_device, usable_devices
from kapi_runtime.sycl.queues.queue import describe_queue, queue_of
from kapi_sim.testing.reports import raises


def pretended(name, score, has_usm=True):
    return SimpleNamespace(
        name=name,
        default_selector_score=score,
        has_aspect_usm_device_allocations=has_usm,
        has_aspect_usm_shared_allocations=has_usm,
        filter_string=f"opencl:cpu:{name}",
        sycl_platform=SimpleNamespace(name="Pretended"),
    )


def test_default_device_is_the_one_that_dpnp_uses():
    assert kapi.default_device() == dpnp.empty(1).sycl_device


def test_default_queue_is_the_one_that_dpnp_uses():
    assert kapi.default_queue() == dpnp.empty(1).sycl_queue


def test_default_queue_of_a_named_device_is_its_own():
    assert default_queue("opencl:cpu").sycl_device.is_cpu


def test_default_queue_of_an_unknown_device_is_an_error():
    with raises(kapi.DeviceNotFoundError, "device-unknown"):
        default_queue("level_zero:gpu:9")


def test_default_device_leaves_out_devices_without_usm(monkeypatch):
    plain, good = pretended("0", 1300, has_usm=False), pretended("1", 300)
    monkeypatch.setattr(dpctl, "get_devices", lambda: [plain, good])
    monkeypatch.setattr(dpctl, "select_default_device", lambda: plain)
    assert best_device(usable_devices()) is good


def test_default_device_message_names_devices_without_usm(monkeypatch):
    monkeypatch.setattr(dpctl, "get_devices", lambda: [pretended("0", 1300, has_usm=False)])
    monkeypatch.setattr(devices.installed, "platforms", lambda: [devices.installed.named("sycl", "a test")])
    with raises(kapi.DeviceNotFoundError, "no-device"):
        devices.default_device()


def test_is_available_never_raises(monkeypatch):
    assert kapi.compat.is_available()

    def fail():
        raise RuntimeError("the driver is gone")

    monkeypatch.setattr(dpctl, "get_devices", fail)
    assert not kapi.compat.is_available()


def test_list_devices_summarises_the_default_device_first():
    first = kapi.devices()[0]
    device = kapi.default_device()
    assert first.is_default
    assert first.has_usm
    assert first.filter_string == device.filter_string
    assert first.driver_version == device.driver_version
    assert first.max_work_group_size == device.max_work_group_size
    assert ("fp64" in first.aspects) == device.has_aspect_fp64


def test_device_summary_reads_well():
    text = str(kapi.devices()[0])
    assert "(default)" in text
    assert "driver" in text
    assert "libintelocl.so" in text
    assert "KiB local" in text


def test_sub_device_is_summarised_without_a_filter_string(sub_devices):
    summary = summarize(sub_devices[0].sycl_device)
    assert summary.filter_string == ""
    assert str(summary).startswith("sub-device: ")


def test_queue_is_described_by_kind_and_device(sub_devices):
    assert "queue 0x" in describe_queue(kapi.default_queue())
    in_order = dpctl.SyclQueue(kapi.default_device(), property=["in_order", "enable_profiling"])
    assert describe_queue(in_order).startswith("in-order queue 0x")
    assert "with profiling" in describe_queue(in_order)
    assert "a sub-device of" in describe_queue(sub_devices[0])


def test_queue_of_a_capsule_is_the_queue():
    queue = kapi.default_queue()
    assert queue_of(queue._get_capsule()) == queue
    assert queue_of(queue) is queue
    assert queue_of("opencl:cpu") is None
