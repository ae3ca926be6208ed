"""Errors without a driver, without a device, or from a driver that fails."""

from __future__ import annotations

import builtins
import os
import types

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda import diagnosis
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import device_at
from kapi_runtime.cuda.platform import CudaPlatform
from kapi_sim.testing.reports import raises


@pytest.fixture
def nothing_loaded(monkeypatch):
    monkeypatch.setattr(driver, "_loaded", None)


def test_missing_bindings_are_named_with_what_brings_them(nothing_loaded, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("cuda"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with raises(kapi.DeviceNotFoundError, "platform-absent") as refused:
        driver.bindings()
    assert refused.value.code == "platform-absent"


@pytest.mark.parametrize(
    ("answer", "words", "code"),
    [
        (RuntimeError("no libcuda"), "driver must be installed", "driver-absent"),
        ((100,), "got none that the driver lists", "no-device"),
        ((803,), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver-failed"),
    ],
    ids=["no-library", "no-device", "mismatch"],
)
def test_driver_that_does_not_start_is_reported(nothing_loaded, monkeypatch, answer, words, code):
    def start(flags):
        if isinstance(answer, Exception):
            raise answer
        return answer

    module = types.SimpleNamespace(cuInit=start, cuGetErrorName=lambda code: (0, b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"))
    monkeypatch.setattr(driver, "_imported", lambda: module)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with raises(kapi.DeviceNotFoundError, code) as refused:
        driver.bindings()
    assert ("CUDA_VISIBLE_DEVICES is '7'" in str(refused.value)) == (code == "no-device")
    platform = CudaPlatform()
    assert platform.devices() == []
    assert platform.default_device() is None
    assert words in platform.missing_device_message()
    assert f"[{code}]" not in platform.missing_device_message()
    for has_sycl in (True, False):
        monkeypatch.setattr(diagnosis, "is_installed", lambda name, there=has_sycl: there)
        found = platform.findings()
        assert words in (found.driver if has_sycl else found.problems[0])
        assert len(found.problems) == (not has_sycl)


def test_function_that_a_driver_lacks_is_named(gpu, monkeypatch):
    def missing(*arguments):
        raise RuntimeError('Function "cuNew" not found')

    monkeypatch.setattr(gpu, "cuNew", missing, raising=False)
    with raises(kapi.DriverError, "driver-too-old") as refused:
        driver.call("cuNew")
    assert refused.value.code == "driver-too-old"


def test_refusal_has_the_driver_s_name_for_it(gpu):
    gpu.fail["cuCtxSetCurrent"] = 201
    with raises(kapi.DriverError, "driver-failed") as refused:
        driver.call("cuCtxSetCurrent", 0)
    assert refused.value.code == "driver-failed"


@pytest.mark.parametrize("code", [700, 716, 719, 709])
def test_lost_context_says_so_and_what_to_do(gpu, lib, code):
    @kapi.kernel
    def fill(item: kapi.Item, x):
        x[item.get_id(0)] = 1

    host, _ = kapi.call_kernel_async(fill, kapi.Range(10), [], lib.array(np.zeros(10)))
    gpu.fail["cuEventQuery"] = code
    with raises(kapi.DriverError, "context-lost") as refused:
        host.wait()
    assert refused.value.code == "context-lost"
    assert "debug=True" in str(refused.value)
    gpu.fail["cuLaunchKernel"] = code
    with raises(kapi.DriverError, "context-lost"):
        fill[kapi.Range(10)](lib.array(np.zeros(10)))


def test_memory_that_is_not_there_is_reported_with_what_is_free(gpu):
    with raises(kapi.UsmAllocationError, "device-memory-short") as refused:
        kapi.memory.device_array(1 << 40, queue=kapi.default_queue("cuda:0"))
    assert refused.value.code == "device-memory-short"


def test_unknown_code_of_a_newer_driver_keeps_its_number(gpu):
    assert driver.name_of(7) == "CUDA error 7"


def test_child_that_was_forked_after_first_use_is_reported(gpu):
    device_at(0)
    pid = os.fork()
    if pid == 0:
        try:
            driver.require_no_fork()
            os._exit(1)
        except kapi.ForkError as error:
            os._exit(0 if error.code == "forked-process" else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
