"""From a Python function and a signature to PTX, through Numba and LLVM's own back end. Needs no GPU and no driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapi_lowering.results.failures import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_lowering.results.packed import Field, PackedLayout, Parameter
from kapi_ptx.module import PtxModule
from kapi_ptx.module_file import read_module, write_module
from kapi_ptx.target import KAPI_DEFAULT_TARGET, PtxTarget
from kapi_ptx.text import entry_points

if TYPE_CHECKING:
    from kapi_ptx.compiler import compile_kernel, compile_ptx

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


def __getattr__(name: str) -> Any:
    # The compiler brings Numba, which takes longer to import than a kernel that was compiled before takes to be ready.
    if name not in ("compile_kernel", "compile_ptx"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kapi_sim.forks import block_forks

    with block_forks():  # a child of a fork has no half of a module
        from kapi_ptx import compiler

    value = getattr(compiler, name)
    globals()[name] = value
    return value
