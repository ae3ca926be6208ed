"""Results of type inference: the type that a function returns, found without generating code, and typed IR as text."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

from kapi_sim.forks import block_forks, reinit_after_fork
from kapi_types._numba_compat import FunctionPass, ir, register_pass, target_registry, types
from kapi_types.kernel_typing.context import TARGET_NAME, KernelTypingContext
from kapi_types.kernel_typing.pipeline import KernelCompiler, kernel_flags

__all__ = ["return_type", "typed_ir_text"]

_lock = reinit_after_fork(threading.Lock())


def return_type(function: FunctionType, signature: Sequence[types.Type]) -> types.Type:
    """The type of what `function` returns for arguments of these types.

    Parameters
    ----------
    function : function
        Written in the kernel language; no kernel, so it may return a value.
    signature : sequence of numba.types.Type
        A type for each parameter.

    Raises
    ------
    ProblemsFound
        With every problem and its line, if it is not in the kernel language.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_types import ArrayType
    >>> def total(values):
    ...     s = 0.0
    ...     for i in range(len(values)):
    ...         s += values[i]
    ...     return s
    >>> return_type(total, [ArrayType(types.float32, 1, "C")])
    float32
    """
    with block_forks(), _lock:
        context, target = _contexts()
        with context.compiling(_compile, function):
            return _compile(function, tuple(signature), context, target)


def _compile(
    function: FunctionType, args: tuple[types.Type, ...], context: Any = None, target: Any = None
) -> types.Type:
    if context is None:
        context, target = _contexts()
    compiler = _Compiler(context, target, None, args, None, kernel_flags(), {})
    compiler.compile_extra(function)
    return compiler.state.return_type


def typed_ir_text(state: Any) -> str:
    """Numba's IR of one function, each assignment with its source line and the type of its variable."""
    text = io.StringIO()
    print(f"{state.func_id.func_qualname}({', '.join(map(str, state.args))}) -> {state.return_type}", file=text)
    for label, block in sorted(state.func_ir.blocks.items()):
        print(f"block {label}:", file=text)
        for statement in block.body:
            if isinstance(statement, ir.Del):
                continue
            type_ = state.typemap.get(statement.target.name) if isinstance(statement, ir.Assign) else None
            spelled = f"  # line {statement.loc.line}" + (f": {type_}" if type_ is not None else "")
            print(f"    {statement}{spelled}", file=text)
    return text.getvalue()


class _Target:
    """The part of a target context that type inference needs."""

    target = target_registry[TARGET_NAME]
    call_conv = None

    def refresh(self) -> None:
        """Nothing is loaded later."""

    def subtarget(self, **options: Any) -> _Target:
        """The same, whatever the options."""
        return self


@lru_cache(maxsize=1)
def _contexts() -> tuple[KernelTypingContext, _Target]:
    return KernelTypingContext(), _Target()


@register_pass(mutates_CFG=False, analysis_only=True)
class _StopPass(FunctionPass):
    """Ends the compilation: all that was asked for is known."""

    _name = "kapi_stop_after_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.cr = state.return_type
        return False


class _Compiler(KernelCompiler):
    def add_lowering(self, passes: Any) -> None:
        """Add nothing that generates code."""
        passes.add_pass(_StopPass, "end")
