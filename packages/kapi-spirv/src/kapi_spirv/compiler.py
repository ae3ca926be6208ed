"""The way of a kernel through this package: typed IR, LLVM IR, entry point, SPIR-V."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

from kapi_sim.errors import KernelCompilationError
from kapi_sim.spec import KernelOptions
from kapi_spirv._numba_compat import NativeLowering, global_compiler_lock, types
from kapi_spirv.binary import read_header
from kapi_spirv.context import SpirvTargetContext
from kapi_spirv.emission import EmissionError, emit
from kapi_spirv.entry_point import build_entry_point, describe_parameters, packed_layout
from kapi_spirv.module import SpirvModule
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget
from kapi_types import ItemType, NdItemType, UsmArrayType
from kapi_types.kernel_typing import (
    KernelCompiler,
    KernelTypingContext,
    Problem,
    ProblemsFound,
    describe_problems,
    first_words,
    kernel_flags,
)

__all__ = ["compile_kernel"]


class _SpirvCompiler(KernelCompiler):
    """The kernel front end, followed by Numba's lowering into kapi's target context."""

    def add_lowering(self, passes: Any) -> None:
        """Add the lowering to LLVM IR."""
        passes.add_pass(NativeLowering, "LLVM IR")


@lru_cache(maxsize=1)
def _contexts() -> tuple[KernelTypingContext, SpirvTargetContext]:
    typing_context = KernelTypingContext()
    return typing_context, SpirvTargetContext(typing_context)


_NO_OPTIONS = KernelOptions()


def compile_kernel(
    function: Callable[..., None],
    signature: Sequence[types.Type],
    *,
    target: SpirvTarget | None = None,
    options: KernelOptions = _NO_OPTIONS,
) -> SpirvModule:
    """Compile a Python function to a SPIR-V kernel. Needs no device.

    Parameters
    ----------
    function : function
        A plain Python function in the kernel language; its first parameter is the Item or NdItem.
    signature : sequence of numba.types.Type
        The type of each parameter: `kapi_types.ItemType` or `NdItemType`, then arrays, local memory and scalars.
    target : SpirvTarget, optional
        What to compile for; `KAPI_DEFAULT_TARGET` by default.
    options : KernelOptions, optional
        How to compile: those of `@kernel`.

    Returns
    -------
    SpirvModule

    Raises
    ------
    KernelCompilationError
        If the function is not in the kernel language, with every problem and its line; or if LLVM cannot make SPIR-V
        of it.
    TypeError
        If `signature` does not fit the function's parameters.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_types import ItemType, UsmArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, [ItemType(1), UsmArrayType(types.float32, 1, "C")])
    >>> module.parameters[0].kind, module.layout.format
    ('array', '<qQq')
    """
    target = target or KAPI_DEFAULT_TARGET
    function, args = _checked(function, signature)
    names = list(inspect.signature(function).parameters)
    try:
        parameters = describe_parameters(names[1:], args[1:])
    except TypeError as error:
        raise KernelCompilationError(f"kernel {function.__name__}: {error}") from None
    layout = packed_layout(args[0], parameters)
    entry_point = "kapi_" + re.sub(r"\W", "_", function.__name__)
    with global_compiler_lock:
        library = _lower(function, args, entry_point, parameters, layout)
    try:
        emitted = emit(library.modules, entry_point, target)
    except EmissionError as error:
        raise KernelCompilationError(
            f"kernel {function.__name__} ({_place(function)}) must use only what SPIR-V can express, "
            f"got {error}; compiled for {_spell_signature(names, args)}"
        ) from error
    header = read_header(emitted.code)
    return SpirvModule(
        name=function.__name__,
        code=emitted.code,
        entry_point=entry_point,
        index_space="item" if isinstance(args[0], ItemType) else "nd_item",
        ndim=args[0].ndim,
        parameters=parameters,
        layout=layout,
        target=target,
        options=options,
        capabilities=header.capabilities,
        extensions=header.extensions,
        llvm_ir="\n".join(library.modules),
        optimized_llvm_ir=emitted.llvm_ir,
    )


def _checked(
    function: Callable[..., None], signature: Sequence[types.Type]
) -> tuple[FunctionType, tuple[types.Type, ...]]:
    if not isinstance(function, FunctionType):
        raise TypeError(f"function must be a plain Python function, got {type(function).__name__}")
    args = tuple(each.in_kernel() if isinstance(each, UsmArrayType) else each for each in signature)
    parameters = inspect.signature(function).parameters
    if len(args) != len(parameters):
        raise TypeError(
            f"signature must have a type for each of {function.__name__}'s {len(parameters)} parameters, "
            f"got {len(args)}"
        )
    if not args or not isinstance(args[0], (ItemType, NdItemType)):
        raise TypeError(
            f"signature must begin with ItemType or NdItemType, got {args[0] if args else 'no type at all'}"
        )
    return function, args


def _lower(function: FunctionType, args: tuple[types.Type, ...], entry_point: str, parameters: Any, layout: Any) -> Any:
    """The library of a kernel's LLVM modules, entry point included."""
    typing_context, target_context = _contexts()

    def compile_device_function(callee: FunctionType, callee_args: tuple[types.Type, ...]) -> types.Type:
        compiled = _compile(callee, callee_args)
        target_context.register_device_function(callee, callee_args, compiled.fndesc, compiled.library)
        registered.append((callee, callee_args))
        return compiled.return_type

    def _compile(python_function: FunctionType, types_: tuple[types.Type, ...], returns: Any = None) -> Any:
        compiler = _SpirvCompiler(typing_context, target_context, None, types_, returns, kernel_flags(), {})
        try:
            compiler.compile_extra(python_function)
        except ProblemsFound:
            raise
        except KernelCompilationError:
            raise
        except Exception as error:
            # Whatever Numba meets in a kernel that it did not expect, its author gets a place and a reason.
            raise ProblemsFound([_as_problem(python_function, error)]) from error
        return _Compiled(compiler.state)

    registered: list[tuple[FunctionType, tuple[types.Type, ...]]] = []
    try:
        with typing_context.compiling(compile_device_function):
            kernel = _compile(function, args, types.none)
            build_entry_point(target_context, kernel.library, entry_point, kernel.fndesc, args, parameters, layout)
    except ProblemsFound as found:
        raise KernelCompilationError(
            f"kernel {function.__name__} ({_place(function)}) cannot be compiled:\n{describe_problems(found.problems)}"
        ) from found.__cause__
    finally:
        for key in registered:
            target_context.remove_user_function(key)
    return kernel.library


class _Compiled:
    """What is needed of a compiler's state, which holds everything else."""

    def __init__(self, state: Any) -> None:
        self.library, self.fndesc, self.return_type = state.library, state.cr.fndesc, state.return_type


def _as_problem(function: FunctionType, error: Exception) -> Problem:
    loc = getattr(error, "loc", None)
    text = first_words(error)
    if loc is None:
        return Problem(function.__code__.co_filename, function.__code__.co_firstlineno, text)
    return Problem(loc.filename, loc.line, text)


def _place(function: FunctionType) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def _spell_signature(names: Sequence[str], args: Sequence[types.Type]) -> str:
    return ", ".join(f"{name}: {type_}" for name, type_ in zip(names, args, strict=True))
