"""Every name of Numba's internals that kapi-numba-offload uses, and what it reads of them, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba._dispatcher import compute_fingerprint
from numba.core import config, ir, types, typing
from numba.core.compiler import (
    CompilerBase,
    CompileResult,
    DefaultPassBuilder,
    Flags,
    compile_extra,
    run_frontend,
    sanitize_compile_result_entries,
)
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.errors import NumbaError, NumbaTypeError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import type_inference_stage
from numba.core.typing.typeof import typeof
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode
from numba.np.numpy_support import as_dtype, from_dtype, ufunc_find_matching_loop
from numba.np.ufunc.dufunc import DUFunc
from numba.stencils.stencil import StencilFunc

__all__ = [
    "CPUDispatcher",
    "CompileResult",
    "CompilerBase",
    "Constants",
    "DUFunc",
    "DefaultPassBuilder",
    "FixupArgs",
    "Flags",
    "FunctionPass",
    "IRProcessing",
    "NumbaError",
    "NumbaTypeError",
    "PassManager",
    "StencilFunc",
    "TranslateByteCode",
    "are_arrays",
    "as_dtype",
    "compile_extra",
    "config",
    "constants_of",
    "fingerprint",
    "flags_of",
    "from_dtype",
    "global_compiler_lock",
    "has_overloads",
    "inferred_return_type",
    "ir",
    "is_container",
    "is_generic",
    "is_of_jitclass",
    "is_untyped",
    "numba_call",
    "overload_of",
    "register_pass",
    "run_frontend",
    "sanitize_compile_result_entries",
    "type_key",
    "typeof",
    "types",
    "typing",
    "ufunc_find_matching_loop",
    "with_numpy_arrays",
]

numba_call: Callable[..., Any] = CPUDispatcher.__call__
"""A dispatcher's call as Numba makes it, inside of device contexts too: kapi replaces the method there alone."""


fingerprint: Callable[[Any], bytes] = compute_fingerprint
"""Bytes that are the same for values of the same type of Numba's; NotImplementedError for some that have a type."""


def is_container(value: Any) -> bool:
    """Whether it is a list or set of Python's: Numba copies it for a call, and its own numbers back after it."""
    return isinstance(value, (list, set))


def is_untyped(value: Any) -> bool:
    """Whether it is a container that Numba cannot type as an argument: empty, or of lists."""
    if type(value).__module__ in ("numba.typed.typedlist", "numba.typed.typeddict"):
        return not value._typed
    return is_container(value) and (not value or any(map(is_container, value)))


def holds_plain_numbers(value: Any) -> bool:
    """Whether a container of Python's holds numbers of one class: Numba leaves such in it, too, or Python's."""
    classes = set(map(type, value))
    return len(classes) == 1 and classes <= {bool, int, float, complex, np.float32, np.complex64}


def is_generic(dispatcher: CPUDispatcher) -> bool:
    """Whether a function is compiled for all types, with no signature and no type of a variable given."""
    return bool(dispatcher._can_compile) and not dispatcher.locals


# Inference holds the lock of Numba's call stack and asks for the compiler's, which a compilation takes first.
@global_compiler_lock
def inferred_return_type(function: Any, args: tuple[Any, ...]) -> Any:
    """The type that Numba itself infers for what a function returns.

    Raises `NumbaError` if it cannot be compiled.
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


class Constants(NamedTuple):
    """Stand-in for the environment of a result of compilation, where nothing is compiled."""

    consts: tuple[Any, ...]


def constants_of(dispatcher: Any) -> Iterator[Any]:
    """The objects that are constants of what a function was compiled to, for each list of argument types."""
    for compiled in getattr(dispatcher, "overloads", {}).values():
        yield from getattr(compiled.environment, "consts", ())


def are_arrays(function: Any) -> list[bool]:
    """Whether each argument of a `guvectorize` function is declared as an array; empty if it has no signatures."""
    signatures = getattr(getattr(function, "gufunc_builder", None), "_sigs", None) or ()
    return [isinstance(each, types.Array) for each in signatures[0].args] if signatures else []


@global_compiler_lock
def overload_of(function: Any, values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Implementation that a library's overload gives for `function` and these arguments; None if it has none.

    An overload is asked with the types of USM arrays first, and then with those of NumPy arrays in their place.
    """
    typing_context = cpu_target.typing_context
    typing_context.refresh()
    templates = _overloads_of(typing_context, function)
    given = tuple(map(typeof, values))
    words = {name: typeof(value) for name, value in keywords.items()}
    for as_asked in (_as_it_is, with_numpy_arrays):
        for template in templates:
            own = {name: as_asked(each) for name, each in words.items()}
            found = template._overload_func(*map(as_asked, given), **own)
            if found is not None:
                return found[1] if isinstance(found, tuple) else found
    return None


def type_key(values: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The types of arguments as Numba has them."""
    return (*map(typeof, values), *((name, typeof(value)) for name, value in keywords.items()))


@global_compiler_lock
def has_overloads(function: Any) -> bool:
    """Whether a library has an overload of a Python function for Numba."""
    typing_context = cpu_target.typing_context
    typing_context.refresh()
    return bool(_overloads_of(typing_context, function))


def _overloads_of(typing_context: Any, function: Any) -> list[Any]:
    try:
        known = typing_context.resolve_value_type(function)
    except (NumbaError, ValueError):  # the latter for a function that Numba has no type of
        return []
    return [each for each in getattr(known, "templates", ()) if hasattr(each, "_overload_func")]


def is_of_jitclass(function: Any) -> bool:
    """Whether a function is what Numba writes to call the constructor or a method of a jitclass."""
    return "__numba_cls_" in function.__globals__ or "__numba_self_" in function.__code__.co_varnames


def with_numpy_arrays(type_: Any) -> Any:
    """A type with NumPy arrays instead of USM arrays."""
    if type(type_).__name__ in ("DeviceArrayType", "UsmArrayType"):
        return types.Array(type_.dtype, type_.ndim, type_.layout)
    if isinstance(type_, types.BaseTuple) and not isinstance(type_, types.BaseNamedTuple):
        return types.Tuple(tuple(map(with_numpy_arrays, type_)))
    return type_


def _as_it_is(type_: Any) -> Any:
    return type_
