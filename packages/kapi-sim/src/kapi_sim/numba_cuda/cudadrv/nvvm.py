"""NVVM, which the simulator does not need: its errors can be caught, and what it would compile is refused."""

from __future__ import annotations

from typing import Any

from kapi_sim.numba_cuda.cudadrv.error import NvvmError, NvvmSupportError, NvvmWarning
from kapi_sim.numba_cuda.host.devices import get_supported_ccs
from kapi_sim.numba_cuda.support import Refused

__all__ = ["NvvmError", "NvvmSupportError", "NvvmWarning", "get_supported_ccs", "is_available"]

_OF_NVVM = ("CompilationUnit", "LibDevice", "NVVM", "compile_ir", "find_closest_arch", "get_arch_option")


def is_available() -> bool:
    """Return whether NVVM is there: it is not."""
    return False


def __getattr__(name: str) -> Any:
    if name in _OF_NVVM:
        return Refused(f"nvvm.{name}", "the simulator runs the function as Python and compiles nothing")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
