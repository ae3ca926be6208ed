"""From a Python function and a signature to vector code for CPUs, through Numba and LLVM. Needs no driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapi_cpu.module import CpuModule
from kapi_cpu.module_file import read_module, write_module
from kapi_cpu.target import CpuTarget, host_target

if TYPE_CHECKING:
    from kapi_cpu.compiler import compile_kernel

__all__ = ["CpuModule", "CpuTarget", "compile_kernel", "host_target", "read_module", "write_module"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # The compiler brings Numba, which takes longer to import than a kernel that was compiled before takes to be ready.
    if name != "compile_kernel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kapi_sim.forks import block_forks

    with block_forks():  # a child of a fork has no half of a module
        from kapi_cpu import compiler

    globals()[name] = compiler.compile_kernel
    return compiler.compile_kernel
