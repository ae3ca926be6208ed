"""From a Python function and a signature to SPIR-V, through Numba and LLVM's own SPIR-V back end. Needs no device."""

from __future__ import annotations

from kapi_spirv.compiler import compile_kernel, compile_spirv
from kapi_spirv.failures import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_spirv.module import Field, PackedLayout, Parameter, SpirvModule
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
]

__version__ = "0.1.0"
