"""The functions of the library, by the names that kernels call them by, and their calls in a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from . import exponential, hyperbolic, inverse_trigonometric, logarithm, trigonometric
from .coefficients import TABLES
from .writer import Value, Writer

__all__ = ["FUNCTIONS", "link_mathematics"]

_UNARY: tuple[Callable[[Writer, Value], Value], ...] = (
    exponential.exp, exponential.exp2, exponential.exp10, exponential.expm1,
    logarithm.log, logarithm.log1p, logarithm.log2, logarithm.log10,
    trigonometric.sin, trigonometric.cos, trigonometric.tan,
    inverse_trigonometric.asin, inverse_trigonometric.acos, inverse_trigonometric.atan,
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.tanh, hyperbolic.asinh, hyperbolic.acosh, hyperbolic.atanh,
)  # fmt: skip
_BINARY: tuple[Callable[[Writer, Value, Value], Value], ...] = (inverse_trigonometric.atan2,)

FUNCTIONS: dict[str, tuple[Callable[..., Value], int]] = {
    **{each.__name__: (each, 1) for each in _UNARY},
    **{each.__name__: (each, 2) for each in _BINARY},
}
"""Each function, and how many floats of one type it takes."""

_PREFIX = "kapi_math."
_INTRINSIC = re.compile(r"llvm\.(\w+)\.f(32|64)")
_TYPES = {"32": "float", "64": "double"}


def _function_of(symbol: str) -> str:
    """The name in the library, such as ``exp.double``, of what is called by a symbol; empty if it is not there."""
    found = _INTRINSIC.fullmatch(symbol)
    name, type_ = (found[1], _TYPES[found[2]]) if found else (symbol, "double")
    if not found and name not in FUNCTIONS and name.endswith("f"):
        name, type_ = name[:-1], "float"
    return f"{name}.{type_}" if name in FUNCTIONS else ""


@cache
def _definition(name: str, has_fma: bool) -> tuple[str, dict[str, None]]:
    """The text of a function, and what it needs: declarations, and names of functions and tables."""
    if name == trigonometric.LARGE_REDUCTION:
        writer = Writer("double", has_fma)
        result = trigonometric.large_reduction(writer, Value(writer, "%x", "double"))
        return writer.text(name, ["double %x"], result, "noinline"), writer.needs
    kind, _, type_ = name.partition(".")
    function, count = FUNCTIONS[kind]
    writer = Writer(type_, has_fma)
    given = [Value(writer, f"%{letter}", type_) for letter in "xy"[:count]]
    result = function(writer, *given)
    parameters = [f"{each.type} {each.ref}" for each in given]
    return writer.text(f"{_PREFIX}{name}", parameters, result, "alwaysinline"), writer.needs


def _texts(names: Iterable[str], has_fma: bool) -> list[str]:
    """The texts of functions, and of all that they need."""
    texts: dict[str, str] = {}
    pending = [*names]
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
            texts[name], needs = _definition(name, has_fma)
            pending += needs
    return [*texts.values()]


def link_mathematics(module: Any, machine: Any, has_fma: bool) -> None:
    """Give a module the functions of the library that it calls, inlined."""
    import llvmlite.binding as llvm

    names = set()
    for each in module.functions:
        if each.is_declaration and (name := _function_of(each.name)):
            names.add(name)
            each.name = f"{_PREFIX}{name}"
    if not names:
        return
    module.link_in(llvm.parse_assembly("\n".join(_texts(sorted(names), has_fma))))
    for each in module.functions:
        if not each.is_declaration and each.name.startswith(_PREFIX):
            each.linkage = llvm.Linkage.internal
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0)))
