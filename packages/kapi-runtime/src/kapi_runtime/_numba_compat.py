"""Every name of Numba that kapi-runtime compiles its native functions with, imported in one place."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import config
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.types import ExternalFunction, Record
from numba.extending import intrinsic

__all__ = [
    "ExternalFunction",
    "NativeCompiler",
    "Record",
    "call_pointer",
    "code_settings",
    "compiled",
    "intrinsic",
    "njit",
    "types",
]


class NativeCompiler(CompilerBase):
    """Numba's own passes and no other, whatever is registered for functions that name kapi."""

    def define_pipelines(self) -> list[Any]:
        """Return the one that compiles without Python objects, and raises where it cannot."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def call_pointer(context: Any, builder: Any, address: Any, given: list[Any], result: Any, parameters: Any) -> Any:
    """Call the C function at an address, of this type, and return its result."""
    kind = ir.FunctionType(context.get_value_type(result), [context.get_value_type(each) for each in parameters])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), given)


def code_settings() -> dict[str, str]:
    """Return what decides the LLVM IR of functions, by the names of Numba's environment variables."""
    return {
        "NUMBA_CPU_NAME": str(config.CPU_NAME),
        "NUMBA_CPU_FEATURES": str(config.CPU_FEATURES),
        "NUMBA_OPT": str(int(config.OPT)),
    }


def compiled(function: Any, signature: tuple[Any, ...]) -> tuple[str, str]:
    """Return the LLVM IR of a function, with all that it calls, and its name there.

    It takes an address for its result and one for its error before its arguments, and returns a status.
    """
    function.compile(signature)
    overload = function.overloads[signature]
    return overload.library.get_llvm_str(), overload.fndesc.mangled_name
