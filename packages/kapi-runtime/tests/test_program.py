from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import dpctl
import dpnp
import llvmlite.binding as llvm
import pytest

import kapi_runtime as kapi
from kapi_runtime.platform import device_caches
from kapi_runtime.sycl.programs import program
from kapi_runtime.sycl.programs.build_log import build_log
from kapi_sim.testing.reports import raises
from kapi_spirv import SpirvModule, SpirvTarget, compile_kernel
from kapi_types import ItemType, typeof_argument

UNDEFINED = """
declare spir_func void @kapi_nowhere_defined(i64)
define spir_kernel void @undefined() {
  call spir_func void @kapi_nowhere_defined(i64 1)
  ret void
}
"""


def zero(item, target):
    target[item.get_id(0)] = 0.0


@pytest.fixture(scope="module")
def module() -> SpirvModule:
    return compile_kernel(zero, (ItemType(1), typeof_argument(dpnp.zeros(1))))


def emit(text: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    parsed = llvm.parse_assembly(text)
    parsed.triple = SpirvTarget().triple
    machine = llvm.Target.from_triple(parsed.triple).create_target_machine()
    parsed.data_layout = str(machine.target_data)
    return machine.emit_object(parsed)


def test_kernel_is_built_once_for_a_device(module):
    queue = kapi.default_queue()
    first = program.device_kernel(module, queue)
    assert program.device_kernel(module, queue) is first
    assert program.device_kernel(module, dpctl.SyclQueue(queue.sycl_device)) is first
    assert first.max_work_group_size <= queue.sycl_device.max_work_group_size


def test_kernel_is_built_for_each_sub_device(module, sub_devices):
    first, second = (program.device_kernel(module, queue) for queue in sub_devices)
    assert first is not second


def test_kernel_cache_is_bounded(module, monkeypatch):
    monkeypatch.setattr(device_caches, "CAPACITY", 2)
    for _ in range(4):
        program.device_kernel(dataclasses.replace(module), kapi.default_queue())
    assert len(program._kernels) <= 2


def test_refused_module_raises_with_the_driver_s_log(module):
    refused = dataclasses.replace(module, code=emit(UNDEFINED), entry_point="undefined")
    with raises(kapi.DriverError, "build-refused", words=False):
        program.device_kernel(refused, kapi.default_queue())


def test_module_without_its_entry_point_is_refused(module):
    wrong = dataclasses.replace(module, entry_point="elsewhere")
    with raises(kapi.DriverError, "entry-absent"):
        program.device_kernel(wrong, kapi.default_queue())


def test_module_beyond_the_device_s_abilities_is_refused(module, monkeypatch):
    monkeypatch.setattr(program, "_ABILITIES", (("Float64", "has_aspect_gpu", "float64"),))
    with raises(kapi.LimitError, "device-lacks"):
        program.device_kernel(dataclasses.replace(module), kapi.default_queue())


def test_build_log_of_another_backend_says_that_it_has_none():
    device = SimpleNamespace(backend=SimpleNamespace(name="level_zero"))
    assert build_log(b"", device) == (
        "(the driver's log could not be read: OpenCL knows its own devices only, not those of level_zero)"
    )


def test_build_log_of_no_module_says_so():
    assert "the driver does not read the module at all" in build_log(b"nothing", kapi.default_device())
