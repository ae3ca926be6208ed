"""Lowering of typed kernels to LLVM IR, for any target: what code generators share, and `Target`, their interface.

It is a distribution of its own, so that no code generator brings another's dependencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kapi_lowering.compiler import TargetCompiler
from kapi_lowering.files.module_format import ModuleFormat
from kapi_lowering.results.failures import FAILURE_RECORD_SIZE, Failure, FailureRecord
from kapi_lowering.results.kernel_module import KernelModule
from kapi_lowering.results.packed_argument import Field, PackedLayout, Parameter
from kapi_lowering.target import Target

if TYPE_CHECKING:
    from kapi_lowering.kernels.compilation import compiled_function, compiled_kernel

__all__ = [
    "FAILURE_RECORD_SIZE",
    "Failure",
    "FailureRecord",
    "Field",
    "KernelModule",
    "ModuleFormat",
    "PackedLayout",
    "Parameter",
    "Target",
    "TargetCompiler",
    "compiled_function",
    "compiled_kernel",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # The compiler brings Numba, which takes longer to import than a kernel that was compiled before takes to be ready.
    if name not in ("compiled_function", "compiled_kernel"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kapi_sim.forks import block_forks

    with block_forks():  # a child of a fork has no half of a module
        from kapi_lowering.kernels import compilation

    value = getattr(compilation, name)
    globals()[name] = value
    return value
