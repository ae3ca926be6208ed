"""A kernel as SPIR-V."""

from __future__ import annotations

from dataclasses import dataclass

from kapi_lowering.emission.client import disassemble
from kapi_lowering.results.kernel_module import KernelModule
from kapi_spirv.binary_reader import has_loops
from kapi_spirv.target import SpirvTarget

__all__ = ["SpirvModule"]


@dataclass(frozen=True, slots=True)
class SpirvModule(KernelModule):
    """One kernel, compiled to SPIR-V for one list of argument types.

    It has the attributes of `kapi_lowering.KernelModule`; `code` is the SPIR-V binary.

    Attributes
    ----------
    capabilities, extensions : tuple of str
        What a device must have to run it, as named in the SPIR-V specification.
    """

    target: SpirvTarget
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]

    @property
    def has_loops(self) -> bool:
        """Whether a work-item may come to an instruction again, as far as the code shows."""
        return has_loops(self.code)

    @property
    def assembly(self) -> str:
        """The SPIR-V as text, made by LLVM each time it is asked for; names and order of ids are LLVM's own."""
        return disassemble(self.optimized_llvm_ir, self.entry_point, self.target)

    def describe_code(self) -> str:
        return f"SPIR-V {self.target.version}, {len(self.code)} bytes"

    def describe_needs(self) -> list[str]:
        return [f"capabilities: {', '.join(self.capabilities)}", f"extensions: {', '.join(self.extensions) or 'none'}"]
