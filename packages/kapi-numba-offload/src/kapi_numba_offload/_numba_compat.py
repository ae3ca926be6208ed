"""Every Numba internal that kapi-numba-offload touches, imported in one place (with `_kapi_numba_hooks`)."""

from __future__ import annotations

from typing import Any

from numba.core import config, ir, types, typing
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, compile_extra, compile_result, run_frontend
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import type_inference_stage
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode
from numba.np.numpy_support import as_dtype, from_dtype, ufunc_find_matching_loop
from numba.stencils.stencil import StencilFunc

__all__ = [
    "CPUDispatcher",
    "SUPPORTED_NUMBA",
    "CompilerBase",
    "DefaultPassBuilder",
    "FixupArgs",
    "Flags",
    "FunctionPass",
    "IRProcessing",
    "NumbaError",
    "PassManager",
    "StencilFunc",
    "TranslateByteCode",
    "as_dtype",
    "compile_extra",
    "compile_result",
    "config",
    "flags_of",
    "from_dtype",
    "inferred_return_type",
    "ir",
    "register_pass",
    "types",
    "typing",
    "ufunc_find_matching_loop",
]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""


def inferred_return_type(function: Any, args: tuple[Any, ...]) -> Any:
    """The type that Numba itself infers for what a function returns.

    Raises
    ------
    NumbaError
        If it cannot be compiled.
    """
    typing_context, target_context = cpu_target.typing_context, cpu_target.target_context
    typing_context.refresh()
    target_context.refresh()
    return type_inference_stage(typing_context, target_context, run_frontend(function), args, None).return_type


def flags_of(dispatcher: Any) -> Flags:
    """The compiler's flags for the options that a function was given by `numba.njit`."""
    flags = Flags()
    dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
    return flags
