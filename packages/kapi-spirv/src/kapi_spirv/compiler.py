"""The compiler for SPIR-V: its modules name the capabilities that they need, and say what may be contracted."""

from __future__ import annotations

from typing import Any

from kapi_lowering.compiler import TargetCompiler
from kapi_lowering.files.header_checks import texts
from kapi_lowering.files.module_format import ModuleFormat
from kapi_lowering.results.kernel_module import KernelModule
from kapi_sim.language import KernelOptions
from kapi_spirv import contraction
from kapi_spirv.binary_reader import entry_points, read_header
from kapi_spirv.module import SpirvModule
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget

__all__ = ["COMPILER"]


class _SpirvCompiler(TargetCompiler[SpirvTarget, SpirvModule]):
    """The compiler of `SpirvTarget`."""

    format = ModuleFormat(
        "SPIR-V", 4, SpirvModule, SpirvTarget, entry_points, {"capabilities": texts, "extensions": texts}
    )

    def default_target(self) -> SpirvTarget:
        return KAPI_DEFAULT_TARGET

    def finish_code(self, code: bytes, target: SpirvTarget, options: KernelOptions) -> bytes:
        if contraction.EXTENSION not in target.extensions:
            return code
        return contraction.allow(code, options.fast_math_flags)

    def own_fields(self, module: KernelModule) -> dict[str, Any]:
        header = read_header(module.code)
        return {"capabilities": header.capabilities, "extensions": header.extensions}


COMPILER = _SpirvCompiler()
