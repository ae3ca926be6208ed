"""Compiler of Python functions to SPIR-V, through Numba and LLVM's own SPIR-V back end. Needs no device."""

from __future__ import annotations

from kapi_lowering.results.failures import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_lowering.results.packed_argument import Field, PackedLayout, Parameter
from kapi_spirv.binary_reader import entry_points
from kapi_spirv.compiler import COMPILER
from kapi_spirv.module import SpirvModule
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget

__all__ = [
    "FAILURE_RECORD_SIZE",
    "Failure",
    "FailureRecord",
    "Field",
    "KAPI_DEFAULT_TARGET",
    "PackedLayout",
    "Parameter",
    "SpirvModule",
    "SpirvTarget",
    "compile_kernel",
    "compile_spirv",
    "entry_points",
    "read_module",
    "write_module",
]

__version__ = "0.1.0"

compile_kernel = COMPILER.compile_kernel
compile_spirv = COMPILER.compile_code
read_module = COMPILER.read_module
write_module = COMPILER.write_module
