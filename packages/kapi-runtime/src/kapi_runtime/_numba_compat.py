"""Every name of Numba that kapi-runtime compiles its native functions with, imported in one place."""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.types import ExternalFunction, Record
from numba.extending import intrinsic

__all__ = ["ExternalFunction", "NativeCompiler", "Record", "compiled", "intrinsic", "njit", "types"]


class NativeCompiler(CompilerBase):
    """Numba's own passes and no other, whatever is registered for functions that name kapi."""

    def define_pipelines(self) -> list[Any]:
        """Return the one that compiles without Python objects, and raises where it cannot."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def compiled(function: Any, signature: tuple[Any, ...]) -> tuple[str, str]:
    """Return the LLVM IR of a function, with all that it calls, and its name there.

    It takes a place for its result and one for its error before its arguments, and returns a status.
    """
    function.compile(signature)
    overload = function.overloads[signature]
    return overload.library.get_llvm_str(), overload.fndesc.mangled_name
