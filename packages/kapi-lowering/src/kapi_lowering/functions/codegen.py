"""Numba's code generator interface, collecting LLVM IR as text: what LLVM does with it happens elsewhere."""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir

from kapi_lowering._numba_compat import Codegen, CodeLibrary

__all__ = ["KernelLibrary", "KernelCodegen"]


class KernelLibrary(CodeLibrary):
    """The LLVM modules of one function and, after linking, of all that it calls."""

    def __init__(self, codegen: KernelCodegen, name: str) -> None:
        super().__init__(codegen, name)
        self._modules: dict[str, str] = {}

    @property
    def modules(self) -> tuple[str, ...]:
        """The text of each module, callees before callers."""
        return tuple(self._modules.values())

    def add_ir_module(self, ir_module: ir.Module) -> None:
        """Add one module's text."""
        self._modules[ir_module.name] = str(ir_module)

    def add_linking_library(self, library: KernelLibrary) -> None:
        """Add all that another library holds."""
        self._modules = {**library._modules, **self._modules}

    def finalize(self) -> None:
        """Nothing is left to do: linking is part of emission."""

    def get_function(self, name: str) -> Any:
        """Refused: the functions are text."""
        raise LookupError(f"function {name!r} must be looked for in the emitted module; this library holds text")

    def get_llvm_str(self) -> str:
        """All modules, one after the other."""
        return "\n".join(self.modules)

    def get_asm_str(self) -> str:
        """Refused: there is no machine code in a library of text."""
        raise LookupError("assembly must be asked of the emitted module; this library holds text")


class KernelCodegen(Codegen):
    """Makes empty modules for a data layout."""

    _library_class = KernelLibrary

    def __init__(self, data_layout: str) -> None:
        self._data_layout = data_layout
        self._target_data = binding.create_target_data(data_layout)

    def _create_empty_module(self, name: str) -> ir.Module:
        module = ir.Module(name)
        module.data_layout = self._data_layout
        return module

    def _add_module(self, module: Any) -> None:
        """Part of Numba's interface; modules go to the library."""
