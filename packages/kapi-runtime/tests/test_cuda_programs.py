"""From PTX to a kernel of the driver's: build logs, cubins on disk, what a device must have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime import cache
from kapi_runtime.cuda.devices.device import device_at
from kapi_runtime.cuda.platform import CudaPlatform
from kapi_runtime.cuda.programs import cubins
from kapi_runtime.cuda.programs import program as programs
from kapi_runtime.cuda.programs.foreign_kernels import built_foreign, checked_code
from kapi_runtime.platform.interface import ForeignCode
from kapi_sim.testing.reports import raises

PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 p) { ret; }
"""


@kapi.kernel
def fill(item: kapi.Item, x):
    x[item.get_id(0)] = 1


def test_refused_ptx_is_reported_with_the_build_log(gpu, lib):
    gpu.log = "ptxas application ptx input, line 9; error: Unknown symbol"
    with raises(kapi.DriverError, "build-refused") as refused:
        fill[kapi.Range(10)](lib.array(np.zeros(10)))
    assert "CUDA_ERROR_INVALID_PTX" in str(refused.value)
    assert "NVIDIA H200" in str(refused.value)
    assert refused.value.code == "build-refused"


def test_cubin_is_kept_on_disk_and_assembled_once(gpu, lib):
    x = lib.array(np.zeros(10))
    fill[kapi.Range(10)](x)
    assert gpu.names().count("cuLinkComplete") == 1
    programs._kernels.clear()
    gpu.calls.clear()
    fill[kapi.Range(11)](x)  # another index space, so that no plan serves
    assert gpu.names().count("cuLinkComplete") == 0
    assert gpu.names().count("cuModuleLoadData") == 1


def test_cubin_that_the_driver_refuses_is_dropped_and_assembled_anew(gpu, lib):
    x = lib.array(np.zeros(10))
    fill[kapi.Range(10)](x)
    programs._kernels.clear()
    gpu.calls.clear()
    gpu.fail["cuModuleLoadData"] = [200]
    fill[kapi.Range(11)](x)
    assert gpu.names().count("cuLinkComplete") == 1
    assert gpu.names().count("cuModuleLoadData") == 2
    assert len(gpu.launches) == 2


def test_changed_cubin_is_assembled_anew(gpu, lib):
    x = lib.array(np.zeros(10))
    fill[kapi.Range(10)](x)
    changed = 0
    for file in Path(cache.info().folder).iterdir():
        data = file.read_bytes()
        if data.startswith(b"kapi cubin"):
            file.write_bytes(data[:-1] + b"?")
            changed += 1
    assert changed == 1
    programs._kernels.clear()
    gpu.calls.clear()
    fill[kapi.Range(11)](x)
    assert gpu.names().count("cuLinkComplete") == 1
    assert "cubin" in cache.info().trouble


def test_key_of_a_cubin_holds_what_it_depends_on(gpu, monkeypatch):
    device = device_at(0)
    keys = {cubins.key_of(b"a", device, None), cubins.key_of(b"b", device, None), cubins.key_of(b"a", device, 64)}
    monkeypatch.setattr(gpu, "_cuDriverGetVersion", None, raising=False)
    monkeypatch.setattr(type(gpu), "_cuDriverGetVersion", lambda self: (13010,))
    keys.add(cubins.key_of(b"a", device, None))
    device.__dict__["compute_capability"] = (9, 1)
    keys.add(cubins.key_of(b"a", device, None))
    assert len(keys) == 5


def test_module_for_a_newer_device_is_refused(gpu, lib):
    gpu.attributes.update(COMPUTE_CAPABILITY_MAJOR=8)
    from kapi_ptx import PtxTarget

    newer = kapi.Kernel(fill.py_func, target=PtxTarget(90))
    with raises(kapi.LimitError, "device-too-old") as refused:
        newer[kapi.Range(10)](lib.array(np.zeros(10)))
    assert refused.value.code == "device-too-old"


def test_device_older_than_kernels_is_left_out_and_named(gpu):
    gpu.attributes.update(COMPUTE_CAPABILITY_MAJOR=7)
    platform = CudaPlatform()
    assert platform.devices() == []
    assert "7.5" in platform.missing_device_message()
    with pytest.raises(kapi.LimitError):
        _ = device_at(0).target


@pytest.mark.parametrize(("capability", "sm"), [((8, 0), 80), ((8, 6), 86), ((9, 0), 90), ((12, 9), 121)])
def test_target_is_the_newest_that_the_device_has_and_llvm_knows(gpu, capability, sm):
    gpu.attributes.update(COMPUTE_CAPABILITY_MAJOR=capability[0], COMPUTE_CAPABILITY_MINOR=capability[1])
    assert device_at(0).target.sm == sm


def test_modules_go_when_a_device_is_reset(gpu, lib):
    fill[kapi.Range(10)](lib.array(np.zeros(10)))
    kapi.current_context("cuda:0").reset()
    assert not programs._kernels


def test_ptx_of_others_is_checked_and_built(gpu):
    text = checked_code("ptx", PTX, "twice")
    kernel = built_foreign(ForeignCode("cuda", "ptx", text, "twice"), (), kapi.default_queue("cuda:0"))
    assert kernel.name == "twice"
    for form, code, entry, told in (
        ("ptx", PTX, "thrice", "entry-absent"),
        ("ptx", "void twice();", "twice", "precompiled-code"),
        ("cubin", b"\x7fELF", "twice", "precompiled-code"),
        ("spirv", b"", "twice", "precompiled-code"),
    ):
        with pytest.raises(kapi.KernelCompilationError) as refused:
            checked_code(form, code, entry)
        assert refused.value.code == told


def test_information_of_a_kernel_is_the_driver_s(gpu, lib):
    fill[kapi.Range(10)](lib.array(np.zeros(10)))
    (information,) = fill.information("cuda:0").values()
    assert (information.max_work_group_size, information.sub_group_sizes) == (1024, (32,))
    assert information.local_mem_size == 232448


def test_what_kapi_is_asked_about_other_kernels(gpu):
    with pytest.raises(kapi.KernelLaunchError) as refused:
        CudaPlatform().kernel_information(object(), kapi.default_queue("cuda:0"))
    assert refused.value.code == "no-kernel"


def test_kernel_that_was_compiled_before_is_read_from_the_disk(gpu, lib):
    first, again = kapi.Kernel(fill.py_func), kapi.Kernel(fill.py_func)
    for kernel in (first, again):
        kernel[kapi.Range(10)](lib.array(np.zeros(10)))
    assert (len(first.modules._from_disk), len(again.modules._from_disk)) == (0, 1)
    assert [launch.entry for launch in gpu.launches] == ["kapi_fill"] * 2


def test_lines_are_kept_by_the_assembler_where_they_are_asked_for(gpu, lib):
    x = lib.array(np.zeros(10))

    def options():
        return [[option.name for option in given[1]] for name, given in gpu.calls if name == "cuLinkCreate"]

    fill[kapi.Range(10)](x)
    assert "CU_JIT_GENERATE_LINE_INFO" not in options()[-1]
    kapi.kernel(lineinfo=True)(fill.py_func)[kapi.Range(10)](x)
    assert len(options()) == 2  # the options are part of the key
    assert "CU_JIT_GENERATE_LINE_INFO" in options()[-1]
