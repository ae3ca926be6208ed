"""Compiler of Python functions to PTX, through Numba and LLVM's own back end. Needs no GPU and no driver."""

from __future__ import annotations

from kapi_lowering.results.failures import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_lowering.results.packed_argument import Field, PackedLayout, Parameter
from kapi_ptx.compiler import COMPILER
from kapi_ptx.module import PtxModule
from kapi_ptx.target import KAPI_DEFAULT_TARGET, PtxTarget
from kapi_ptx.text import entry_points

__all__ = [
    "FAILURE_RECORD_SIZE",
    "Failure",
    "FailureRecord",
    "Field",
    "KAPI_DEFAULT_TARGET",
    "PackedLayout",
    "Parameter",
    "PtxModule",
    "PtxTarget",
    "compile_kernel",
    "compile_ptx",
    "entry_points",
    "read_module",
    "write_module",
]

__version__ = "0.1.0"

compile_kernel = COMPILER.compile_kernel
compile_ptx = COMPILER.compile_code
read_module = COMPILER.read_module
write_module = COMPILER.write_module
