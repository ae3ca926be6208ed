"""A kernel as SPIR-V."""

from __future__ import annotations

from dataclasses import dataclass

from kapi_lowering.emission.client import disassemble
from kapi_lowering.results.kernel_module import KernelModule
from kapi_spirv.binary import has_loops
from kapi_spirv.target import SpirvTarget

__all__ = ["SpirvModule"]


@dataclass(frozen=True, slots=True)
class SpirvModule(KernelModule):
    """One kernel, compiled to SPIR-V for one list of argument types.

    Attributes
    ----------
    name : str
        The kernel's name in its source, for messages.
    code : bytes
        The SPIR-V binary.
    entry_point : str
        Name of the entry point in it.
    index_space : {"item", "nd_item"}
        What the kernel's first parameter is. Work-items of an "item" kernel outside of the packed range do nothing, so
        a launch may be rounded up.
    ndim : int
        Dimensions of the index space, 1 to 3.
    parameters : tuple of Parameter
        Without the first.
    layout : PackedLayout
        The by-value argument, the entry point's first; one pointer to local memory follows for each parameter of kind
        "local". Where `failures` holds any, its last field is the address of a record of `FAILURE_RECORD_SIZE` zeros
        in global memory.
    failures : tuple of Failure
        What a work-item may meet, by the numbers of a record; empty without the options `debug` and `boundscheck`.
    target : SpirvTarget
        What it was compiled for.
    options : KernelOptions
        How it was compiled.
    capabilities, extensions : tuple of str
        What a device must have to run it, as named in the SPIR-V specification.
    typed_ir : str
        Numba's IR of the kernel itself, with the type of each variable.
    llvm_ir, optimized_llvm_ir : str
        The LLVM IR that Numba's lowering gave, and the same after optimisation.
    """

    target: SpirvTarget
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]

    @property
    def has_loops(self) -> bool:
        """Whether a work-item may come to an instruction again, as far as the code tells."""
        return has_loops(self.code)

    @property
    def assembly(self) -> str:
        """The SPIR-V as text, made by LLVM each time it is asked for; names and order of ids are LLVM's own."""
        return disassemble(self.optimized_llvm_ir, self.entry_point, self.target)

    def describe_code(self) -> str:
        return f"SPIR-V {self.target.version}, {len(self.code)} bytes"

    def describe_needs(self) -> list[str]:
        return [f"capabilities: {', '.join(self.capabilities)}", f"extensions: {', '.join(self.extensions) or 'none'}"]
