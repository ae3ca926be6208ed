"""LLVM's functions of mathematics that PTX has no instruction for, as those of libdevice.

They stay LLVM's own until passes have run, which fold them and know `pow(x, 2)`.
"""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import PTR, Builder, Function, Instruction, Module, constant, declare
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["FUNCTION_PATTERN", "lower_to_libdevice", "needed_functions"]

_NUMBERS_OF_ARGUMENTS = dict.fromkeys(("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan"), 1)
_NUMBERS_OF_ARGUMENTS |= dict.fromkeys(("asin", "acos", "atan", "sinh", "cosh", "tanh"), 1)
_NUMBERS_OF_ARGUMENTS |= {"pow": 2, "atan2": 2, "fmod": 2}
_WITH_INTEGER = ("powi", "ldexp")
"""Functions of a float and an integer."""

_NAMES = "|".join([*_NUMBERS_OF_ARGUMENTS, *_WITH_INTEGER])
FUNCTION_PATTERN = re.compile(rf"llvm\.({_NAMES})\.f(?:32|64)(?:\.i32)?")

_APPROXIMATE = ("exp", "exp10", "log", "log2", "log10", "pow", "sin", "cos", "tan")
"""The functions of float32 that libdevice has by the processor's own approximations, too."""


def needed_functions(module: Module) -> list[str]:
    """The functions of libdevice that a module calls, sorted."""
    return sorted({each.callee for each in module.instructions() if each.callee.startswith("__nv_")})


@function_pass
def lower_to_libdevice(function: Function) -> None:
    """Call libdevice's functions where PTX has no instruction."""
    for each in function.instructions():
        if each.opcode == "frem":
            _lower_remainder(function, each)
        elif found := FUNCTION_PATTERN.fullmatch(each.callee):
            symbol = _declared(function, found[1], each.type.text, each.flags)
            each.set_operand(0, constant(PTR, f"@{symbol}"))


def _declared(function: Function, name: str, type_: str, flags: tuple[str, ...]) -> str:
    """The symbol of a function of libdevice, which is declared."""
    is_approximate = type_ == "float" and name in _APPROXIMATE and not {"afn", "fast"}.isdisjoint(flags)
    symbol = f"__nv_{'fast_' * is_approximate}{name}{'f' * (type_ == 'float')}"
    given = [type_, "i32"] if name in _WITH_INTEGER else [type_] * _NUMBERS_OF_ARGUMENTS[name]
    declare(function, f"{type_} @{symbol}({', '.join(given)}) nounwind willreturn memory(none)")
    return symbol


def _lower_remainder(function: Function, each: Instruction) -> None:
    """Call `fmod`; of float16 in float32, where it is exact too."""
    type_ = each.type.text
    call = " ".join(("call", *each.flags))
    if type_ in ("float", "double"):
        symbol = _declared(function, "fmod", type_, each.flags)
        each.rewrite(f"{call} {type_} @{symbol}({type_} ?, {type_} ?)", *each.operands)
    elif type_ == "half":
        symbol = _declared(function, "fmod", "float", each.flags)
        builder = Builder.before(each)
        one, other = (builder.emit("fpext half ? to float", operand) for operand in each.operands)
        wide = builder.emit(f"{call} float @{symbol}(float ?, float ?)", one, other)
        each.rewrite("fptrunc float ? to half", wide)
