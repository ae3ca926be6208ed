"""The functions of the library, by the names that kernels call them by, and their calls in a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from . import (
    exponential,
    exponents,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    powers_and_roots,
    remainders,
    special_functions,
    trigonometric,
)
from .coefficients import TABLES
from .writer import Abilities, Value, Writer

__all__ = ["FUNCTIONS", "link_mathematics"]

_UNARY: tuple[Callable[[Writer, Value], Value], ...] = (
    exponential.exp, exponential.exp2, exponential.exp10, exponential.expm1,
    logarithm.log, logarithm.log1p, logarithm.log2, logarithm.log10,
    trigonometric.sin, trigonometric.cos, trigonometric.tan,
    inverse_trigonometric.asin, inverse_trigonometric.acos, inverse_trigonometric.atan,
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.tanh, hyperbolic.asinh, hyperbolic.acosh, hyperbolic.atanh,
    powers_and_roots.cbrt, special_functions.erf, special_functions.erfc, special_functions.lgamma, exponents.ilogb,
)  # fmt: skip
_BINARY: tuple[Callable[[Writer, Value, Value], Value], ...] = (
    inverse_trigonometric.atan2, powers_and_roots.pow, powers_and_roots.hypot, remainders.fmod, remainders.remainder,
)  # fmt: skip

FUNCTIONS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    **{each.__name__: (each, ("",)) for each in _UNARY},
    **{each.__name__: (each, ("", "")) for each in _BINARY},
    "tgamma": (special_functions.gamma, ("",)),
    "ldexp": (exponents.ldexp, ("", "i32")),
    "nextafter": (exponents.nextafter, ("", "")),
    "kapi_nextafter16": (exponents.nextafter_half, ("i16", "i16")),
}
"""Each function by C's name, and the types of its parameters, empty for the function's float type."""

_PREFIX = "kapi_math."
_INTRINSIC = re.compile(r"llvm\.(\w+)\.f(32|64)(?:\.i32)?")

_TYPES = {"32": "float", "64": "double"}


def _function_of(symbol: str) -> str:
    """The name in the library, such as ``exp.double``, of what is called by a symbol; empty if it is not there."""
    found = _INTRINSIC.fullmatch(symbol)
    name, type_ = (found[1], _TYPES[found[2]]) if found else (symbol, "double")
    if not found and name not in FUNCTIONS and name.endswith("f"):
        name, type_ = name[:-1], "float"
    return f"{name}.{type_}" if name in FUNCTIONS else ""


@cache
def _definition(name: str, abilities: Abilities) -> tuple[str, dict[str, None]]:
    """The text of a function, and what it needs: declarations, and names of functions and tables."""
    if name == trigonometric.LARGE_REDUCTION:
        writer = Writer("double", abilities)
        result = trigonometric.large_reduction(writer, Value(writer, "%x", "double"))
        return writer.text(name, ["double %x"], result, "noinline"), writer.needs
    kind, _, type_ = name.partition(".")
    function, types = FUNCTIONS[kind]
    writer = Writer(type_, abilities)
    given = [Value(writer, f"%x{number}", each or type_) for number, each in enumerate(types)]
    result = function(writer, *given)
    parameters = [f"{each.type} {each.ref}" for each in given]
    return writer.text(f"{_PREFIX}{name}", parameters, result, "alwaysinline"), writer.needs


def _texts(called: Mapping[str, str], abilities: Abilities) -> list[str]:
    """The texts of functions, whose names are given by the symbols that they get, and of all that they need."""
    texts: dict[str, str] = {}
    pending: list[str] = []
    for symbol, name in called.items():
        text, needs = _definition(name, abilities)
        texts[symbol] = text.replace(f"@{_PREFIX}{name}(", f"@{symbol}(", 1)
        pending += needs
    while pending:
        name = pending.pop()
        if name in texts:
            continue
        if name.startswith("declare"):
            texts[name] = name
        elif name in TABLES:
            content = ", ".join(f"i32 {word}" for word in TABLES[name])
            texts[name] = f"@{name} = internal constant [{len(TABLES[name])} x i32] [{content}], align 4"
        else:
            texts[name], needs = _definition(name, abilities)
            pending += needs
    return [*texts.values()]


def link_mathematics(module: Any, machine: Any, has_fma: bool, has_scale: bool) -> None:
    """Give a module the functions of the library that it calls, inlined."""
    import llvmlite.binding as llvm

    called = {}
    for each in module.functions:
        if each.is_declaration and (name := _function_of(each.name)):
            each.name = f"{_PREFIX}{name}"
            called[each.name] = name  # with a number behind it if an intrinsic and C's function are called
    if not called:
        return
    module.link_in(llvm.parse_assembly("\n".join(_texts(called, Abilities(has_fma, has_scale)))))
    for each in module.functions:
        if not each.is_declaration and each.name.startswith(_PREFIX):
            each.linkage = llvm.Linkage.internal
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0)))
