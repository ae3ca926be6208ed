"""Every Numba internal that kapi-numba-offload touches, imported in one place (with `_kapi_numba_hooks`)."""

from __future__ import annotations

from numba.core import ir, types, typing
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra, compile_result
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.errors import NumbaError
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode
from numba.np.numpy_support import as_dtype

__all__ = [
    "SUPPORTED_NUMBA",
    "CompilerBase",
    "DefaultPassBuilder",
    "FixupArgs",
    "Flags",
    "FunctionPass",
    "IRProcessing",
    "NumbaError",
    "PassManager",
    "TranslateByteCode",
    "as_dtype",
    "compile_extra",
    "compile_result",
    "ir",
    "register_pass",
    "types",
    "typing",
]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""
