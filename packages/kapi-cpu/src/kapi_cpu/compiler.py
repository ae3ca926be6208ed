"""The compiler for CPUs."""

from __future__ import annotations

from typing import Any

from kapi_cpu.emission.object_code import ObjectCode
from kapi_cpu.module import CpuModule
from kapi_cpu.target import CpuTarget, host_target
from kapi_lowering.compiler import TargetCompiler
from kapi_lowering.files.local_itemsizes import checked_itemsizes, local_itemsizes, require_itemsizes
from kapi_lowering.files.module_format import ModuleFormat
from kapi_lowering.results.kernel_module import KernelModule

__all__ = ["COMPILER"]


def _entry_points(code: bytes) -> tuple[str, ...]:
    return ObjectCode.of(code).entry_points


class _CpuCompiler(TargetCompiler[CpuTarget, CpuModule]):
    """The compiler of `CpuTarget`."""

    format = ModuleFormat(
        "CPU", 1, CpuModule, CpuTarget, _entry_points, {"local_itemsizes": checked_itemsizes}, require_itemsizes
    )

    def default_target(self) -> CpuTarget:
        return host_target()

    def own_fields(self, module: KernelModule) -> dict[str, Any]:
        return {"local_itemsizes": local_itemsizes(module)}


COMPILER = _CpuCompiler()
