from __future__ import annotations

import contextvars
import threading

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.host import contexts
from kapi_runtime.platform import device_caches
from kapi_runtime.sycl import platform
from kapi_sim.testing.reports import raises


@pytest.fixture(autouse=True)
def own_stack():
    """No test leaves a device current."""
    before = contexts.current.current()
    yield
    while contexts.current.current() is not before:
        contexts.current.pop()


def in_a_context_of_its_own(function):
    return contextvars.Context().run(function)


def test_devices_are_a_sequence_of_the_listed_ones():
    assert len(kapi.devices) == len(kapi.devices())
    assert list(kapi.devices) == [kapi.devices[i] for i in range(len(kapi.devices))] == kapi.devices[:]
    assert kapi.devices[-1] in kapi.devices
    assert [device.summary for device in kapi.devices] == kapi.devices()
    assert repr(kapi.devices).startswith("<devices: ")


def test_device_index_out_of_range_is_an_error():
    message = f"index of devices must be below {len(kapi.devices)}, got 99"
    with pytest.raises(IndexError, match=message):
        kapi.devices[99]


ALONE = "from kapi_runtime.platform import installed\ninstalled.platforms = lambda: [installed.named('sycl', '')]\n"
"""SYCL is the only platform."""


def test_device_of_an_empty_list_is_an_error_that_says_why(run_python):
    done = run_python(
        f"import kapi_runtime as k\n{ALONE}print(len(k.devices), list(k.devices))\nk.devices[0]", OCL_ICD_VENDORS="/no"
    )
    assert done.stdout.strip() == "0 []"
    assert "DeviceNotFoundError: a device with unified shared memory must be present, got none" in done.stderr


def test_device_is_dpctl_s_own_with_all_its_attributes():
    device, theirs = kapi.devices[0], dpctl.get_devices()[0]
    assert device == theirs
    assert hash(device) == hash(theirs)
    assert device.attributes["max_compute_units"] == theirs.max_compute_units
    public = {n for n in dir(dpctl.SyclDevice) if not n.startswith("_") and not callable(getattr(dpctl.SyclDevice, n))}
    assert set(device.attributes) <= public
    assert len(public - set(device.attributes)) <= 2, "attributes that the CPU does not answer, or that are deprecated"
    assert dpnp.zeros(3, device=device).sycl_device == device
    assert repr(device) == f"<Device: {device.name} (opencl:cpu:0)>"


def test_device_is_current_inside_of_with(sub_device):
    assert kapi.devices.current == kapi.default_device()
    with sub_device as entered:
        assert entered is sub_device
        assert kapi.devices.current == kapi.devices.current == sub_device
        with kapi.devices[0]:
            assert kapi.devices.current == kapi.devices[0]
        assert kapi.devices.current == sub_device
    assert kapi.devices.current == kapi.default_device()


def test_current_device_is_each_thread_s_own(sub_device):
    found = []
    with sub_device:
        thread = threading.Thread(target=lambda: found.append(kapi.devices.current))
        thread.start()
        thread.join()
    assert found == [kapi.default_device()]


@pytest.mark.parametrize("form", ["index", "filter string", "name", "dpctl's", "own"])
def test_device_is_selected_by(form):
    device = kapi.devices[0]
    given = {
        "index": 0,
        "filter string": device.filter_string,
        "name": device.name.strip()[2:].upper(),
        "dpctl's": dpctl.SyclDevice(device.filter_string),
        "own": device,
    }[form]

    def select():
        assert kapi.select_device(given) == device
        assert kapi.devices.current == device

    in_a_context_of_its_own(select)


def test_selected_device_replaces_the_current_one(sub_device):
    def select():
        with kapi.devices[0]:
            kapi.select_device(sub_device)
            assert kapi.devices.current == sub_device
        assert kapi.devices.current == kapi.default_device()

    in_a_context_of_its_own(select)


@pytest.mark.parametrize("given", [99, -99, True, 1.5, []])
def test_device_that_is_none_cannot_be_selected(given):
    with raises(kapi.DeviceNotFoundError, "device-unknown"):
        kapi.select_device(given)


@pytest.mark.parametrize("given", ["no such device", "", "opencl:cpu:7"])
def test_device_of_an_unknown_name_cannot_be_selected(given):
    with raises(kapi.DeviceNotFoundError, "device-unknown") as raised:
        kapi.select_device(given)
    assert kapi.default_device().filter_string in raised.value.message


def test_device_is_indexed_by_integers_of_numpy():
    assert kapi.devices[np.int64(0)] == kapi.current_context(np.uint8(0)).device == kapi.devices[0]
    with pytest.raises(TypeError, match="index of devices must be an integer or a slice, got 'cpu'"):
        kapi.devices["cpu"]


def test_sub_devices_share_the_units_out():
    device = kapi.default_device()
    half = device.max_compute_units // 2
    parts = device.split(half, half)
    assert [part.max_compute_units for part in parts] == [half, half]
    assert [part.max_compute_units for part in device.split(equally=half)][:2] == [half, half]
    assert parts[0] != parts[1]
    assert all(part.parent_device == device for part in parts)
    assert all(isinstance(part, kapi.Device) for part in parts)


def test_sub_devices_of_too_many_units_are_an_error():
    device = kapi.default_device()
    with raises(kapi.DeviceNotFoundError, "sub-devices"):
        device.split(999)
    with raises(kapi.DeviceNotFoundError, "sub-devices"):
        device.split(1, equally=1)
    for given in (-1, 0, 1.5, "1"):
        with raises(kapi.DeviceNotFoundError, "sub-devices"):
            device.split(given)
        with raises(kapi.DeviceNotFoundError, "sub-devices"):
            device.split(equally=given)


def test_context_is_that_of_the_current_device(sub_device):
    assert kapi.current_context().device == kapi.default_device()
    with sub_device:
        context = kapi.current_context()
    assert context == kapi.current_context(sub_device)
    assert context != kapi.current_context()
    assert context.queue is kapi.default_queue(sub_device)
    assert context.sycl_context == context.queue.sycl_context
    assert "a sub-device of" in repr(context)
    assert len({context, kapi.current_context(sub_device)}) == 1


def test_context_is_pushed_and_popped(sub_device):
    context = kapi.current_context(sub_device)
    context.push()
    assert kapi.devices.current == sub_device
    context.pop()
    assert kapi.devices.current == kapi.default_device()
    with context:
        assert kapi.current_context() == context


def test_context_that_was_not_pushed_last_cannot_be_popped(sub_device):
    with kapi.devices[0], raises(kapi.KernelLaunchError, "context-not-last"):
        kapi.current_context(sub_device).pop()


def test_block_takes_away_what_was_pushed_inside(sub_device):
    """Contexts that a block forgets to pop end with it, and those that belong to a block are not popped."""
    default, context = kapi.default_device(), kapi.current_context(sub_device)
    for block in (kapi.devices[0], kapi.current_context(), kapi.device_context(0)):
        with block:
            context.push()
            context.push()
            assert kapi.devices.current == sub_device
        assert kapi.devices.current == default

    def clear():
        with sub_device, kapi.devices[0]:
            kapi.close()
            kapi.select_device(sub_device)
        assert kapi.devices.current == sub_device

    in_a_context_of_its_own(clear)
    with sub_device:
        with raises(kapi.KernelLaunchError, "context-not-last"):
            context.pop()
        assert kapi.devices.current == sub_device


def test_memory_info_invents_nothing(monkeypatch):
    """OpenCL does not say what is free; Level Zero does, by dpctl's extended information."""
    device = kapi.default_device()
    assert kapi.current_context().get_memory_info() == (None, device.global_mem_size)
    monkeypatch.setattr(platform, "intel_device_info", lambda device: {"device_id": 1, "free_memory": 12345})
    assert kapi.current_context().get_memory_info() == (12345, device.global_mem_size)
    assert kapi.current_context(0).get_memory_info().free == 12345


def test_required_context_stays_current(sub_device):
    @kapi.compat.require_context
    def inner(first, second=2):
        """Text of the docstring."""
        found = kapi.devices.current
        return first, second, found

    with sub_device:
        assert inner(1, second=3) == (1, 3, sub_device)
    assert inner(1) == (1, 2, kapi.default_device())
    assert inner.__doc__ == "Text of the docstring."


def test_required_context_that_is_not_there_is_an_error(run_python):
    done = run_python(
        f"import kapi_runtime as k\n{ALONE}@k.compat.require_context\ndef f():\n    print('entered')\nf()",
        OCL_ICD_VENDORS="/nowhere",
    )
    assert "DeviceNotFoundError: a device with unified shared memory must be present, got none" in done.stderr
    assert done.stdout == ""


@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    value = values[i]
    for _ in range(rounds):
        value = value * value + 0.25
    values[i] = value


def busy(queue):
    values = dpnp.zeros(1000, dtype="float32", sycl_queue=queue)
    return values, kapi.call_kernel_async(spin, kapi.Range(1000), [], values, 50_000)[1]


def is_done(event):
    return event.execution_status == dpctl.event_status_type.complete


@pytest.mark.parametrize("method", ["synchronize", "reset"])
def test_context_waits_for_its_device(method, sub_device):
    here, there = kapi.queue(), kapi.queue(sub_device)
    values, event = busy(here)
    _, other = busy(there)
    getattr(kapi.current_context(), method)()
    assert is_done(event)
    getattr(kapi.current_context(sub_device), method)()
    assert is_done(other)
    values += 1  # nothing that was there is gone
    spin[1000](values, 1)


def test_reset_forgets_what_was_built_for_the_device(monkeypatch):
    forgotten = []
    monkeypatch.setattr(device_caches, "_forgetting", [forgotten.append])
    kapi.current_context().reset()
    assert forgotten == [kapi.default_device()]


def test_close_waits_and_makes_no_device_current(sub_device):
    def use_and_close():
        kapi.select_device(sub_device)
        _, event = busy(kapi.queue())
        kapi.close()
        assert is_done(event)
        assert kapi.devices.current == kapi.default_device()

    in_a_context_of_its_own(use_and_close)
