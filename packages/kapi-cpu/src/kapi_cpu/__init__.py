"""From a Python function and a signature to vector code for CPUs, through Numba and LLVM. Needs no driver."""

from __future__ import annotations

from kapi_cpu.compiler import COMPILER
from kapi_cpu.module import CpuModule
from kapi_cpu.target import CpuTarget, host_target

__all__ = ["CpuModule", "CpuTarget", "compile_kernel", "host_target", "read_module", "write_module"]

__version__ = "0.1.0"

compile_kernel = COMPILER.compile_kernel
read_module = COMPILER.read_module
write_module = COMPILER.write_module
