"""From a Python function and a signature to SPIR-V, through Numba and LLVM's own SPIR-V back end. Needs no device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapi_lowering.results.failures import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_lowering.results.packed import Field, PackedLayout, Parameter
from kapi_spirv.binary import entry_points
from kapi_spirv.module import SpirvModule
from kapi_spirv.module_file import read_module, write_module
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget

if TYPE_CHECKING:
    from kapi_spirv.compiler import compile_kernel, compile_spirv

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


def __getattr__(name: str) -> Any:
    # The compiler brings Numba, which takes longer to import than a kernel that was compiled before takes to be ready.
    if name not in ("compile_kernel", "compile_spirv"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kapi_sim.forks import block_forks

    with block_forks():  # a child of a fork has no half of a module
        from kapi_spirv import compiler

    value = getattr(compiler, name)
    globals()[name] = value
    return value
