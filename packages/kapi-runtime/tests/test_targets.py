"""The target of a device says what the device says of itself."""

from __future__ import annotations

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime
from kapi_runtime.sycl.devices import opencl
from kapi_runtime.sycl.devices.targets import target_of


def test_target_has_the_abilities_of_its_device():
    """Aspects and sub-group sizes are the device's; two objects of one device share one target."""
    device = dpctl.SyclDevice()
    target = target_of(device)
    assert target.has_fp64 is device.has_aspect_fp64
    assert target.has_fp16 is device.has_aspect_fp16
    assert target.has_atomic64 is device.has_aspect_atomic64
    assert target.sub_group_sizes == tuple(sorted(device.sub_group_sizes))
    assert target_of(dpctl.SyclDevice(device.filter_string)) is target


def test_target_has_the_float_atomics_that_opencl_names():
    """The extension's own bits, read from OpenCL."""
    device = dpctl.SyclDevice()
    bits = opencl.opencl_device(device).bits(0x4231)
    assert (32 in target_of(device).float_atomic_add) == (bits & 0x20002 == 0x20002)
    assert (32 in target_of(device).float_atomic_min_max) == (bits & 0x40004 == 0x40004)


def test_target_has_the_shuffles_that_opencl_names():
    """SPIR-V 1.3 is the first version that has them."""
    device = dpctl.SyclDevice()
    known = opencl.opencl_device(device)
    takes = "SPIR-V_1.3" in known.text(0x105B) and "cl_khr_subgroup_shuffle" in known.text(0x1030)
    assert target_of(device).version == ("1.3" if takes else "1.2")
    assert known.text(0xFFFF) == ""


def test_target_of_a_device_that_opencl_lacks_has_no_float_atomics(monkeypatch):
    """Compare-exchange is right everywhere."""
    monkeypatch.setattr(opencl.drivers, "loaded_libraries", lambda name: ())
    with pytest.raises(opencl.OpenclError, match="the OpenCL library was not found"):
        opencl.opencl_device(dpctl.SyclDevice())
    target = target_of.__wrapped__(dpctl.SyclDevice())
    assert (target.version, target.float_atomic_add, target.float_atomic_min_max) == ("1.2", (), ())


def test_opencl_query_that_a_device_does_not_know_is_zero():
    """No such query: no bits."""
    assert opencl.opencl_device(dpctl.SyclDevice()).bits(0xFFFF) == 0


def test_kernel_is_compiled_for_its_device_and_can_be_looked_into():
    """The target of a launch is that of the arrays' device; the module is kept by its signature."""

    @kapi_runtime.kernel
    def double(item, a):
        a[item.get_id(0)] *= 2

    data = dpnp.ones(3, dtype=np.float32)
    kapi_runtime.call_kernel(double, kapi_runtime.Range(3), data)
    (module,) = double.modules.values()
    assert module.target.for_any_launch() == target_of(data.sycl_device)
    (signature,) = double.inspect_types()
    assert "double(Item(1d), array(float32, 1d, C)) -> none" in signature
    assert "weak_int" in double.inspect_types()[signature]
    assert "define spir_kernel" in double.inspect_llvm()[signature]
    assert "OpEntryPoint Kernel" in double.inspect_spirv()[signature]
