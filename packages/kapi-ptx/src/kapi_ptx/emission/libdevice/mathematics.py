"""LLVM's functions of mathematics that PTX has no instruction for, as those of libdevice.

They stay LLVM's own until passes have run, which fold them and know `pow(x, 2)`.
"""

from __future__ import annotations

import re

__all__ = ["name_functions", "needed_functions"]

_NUMBERS_OF_ARGUMENTS = dict.fromkeys(("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan"), 1)
_NUMBERS_OF_ARGUMENTS |= dict.fromkeys(("asin", "acos", "atan", "sinh", "cosh", "tanh"), 1)
_NUMBERS_OF_ARGUMENTS |= {"pow": 2, "atan2": 2, "fmod": 2}
_WITH_INTEGER = ("powi", "ldexp")
"""Functions of a float and an integer."""

_NAMES = "|".join([*_NUMBERS_OF_ARGUMENTS, *_WITH_INTEGER])
_CALL = re.compile(rf"\bcall ((?:[a-z]+ )*)(float|double) @llvm\.({_NAMES})\.f(?:32|64)(?:\.i32)?\(")
_DECLARATION = re.compile(rf"^declare [^\n]*@llvm\.(?:{_NAMES})\.f(?:32|64)(?:\.i32)?\([^\n]*\n", re.MULTILINE)
_REMAINDER = re.compile(r"^( *)%(\S+) = frem ((?:[a-z]+ )*)(half|float|double) ([^,\n]+), ([^,\n]+)(.*)$", re.MULTILINE)
_NEEDED = re.compile(r"@(__nv_\w+)\(")
_DECLARED = re.compile(r"^declare [^\n]*@(__nv_\w+)\(", re.MULTILINE)

_APPROXIMATE = ("exp", "exp10", "log", "log2", "log10", "pow", "sin", "cos", "tan")
"""What libdevice has in float32 by the processor's own approximations too."""


def needed_functions(text: str) -> list[str]:
    """The functions of libdevice that LLVM IR text calls, sorted."""
    return sorted(set(_NEEDED.findall(text)))


def name_functions(text: str) -> str:
    """LLVM IR text that calls libdevice's functions where PTX has no instruction."""
    signatures: dict[str, str] = {}

    def named(name: str, type_: str, flags: str) -> str:
        may_be = not {"afn", "fast"}.isdisjoint(flags.split())  # LLVM writes all flags as one word
        is_approximate = type_ == "float" and name in _APPROXIMATE and may_be
        symbol = f"__nv_{'fast_' * is_approximate}{name}{'f' * (type_ == 'float')}"
        given = [type_, "i32"] if name in _WITH_INTEGER else [type_] * _NUMBERS_OF_ARGUMENTS[name]
        signatures[symbol] = f"declare {type_} @{symbol}({', '.join(given)}) nounwind willreturn memory(none)\n"
        return symbol

    def remainder(found: re.Match[str]) -> str:
        indent, result, flags, type_, left, right, rest = found.groups()
        if type_ != "half":
            symbol = named("fmod", type_, flags)
            return f"{indent}%{result} = call {flags}{type_} @{symbol}({type_} {left}, {type_} {right}){rest}"
        # In float32, where it is exact too.
        symbol = named("fmod", "float", flags)
        wide = f"%kapi.wide.{result}"
        return (
            f"{indent}{wide}.0 = fpext half {left} to float\n"
            f"{indent}{wide}.1 = fpext half {right} to float\n"
            f"{indent}{wide}.2 = call {flags}float @{symbol}(float {wide}.0, float {wide}.1)\n"
            f"{indent}%{result} = fptrunc float {wide}.2 to half{rest}"
        )

    text = _REMAINDER.sub(remainder, text)
    text = _CALL.sub(lambda call: f"call {call[1]}{call[2]} @{named(call[3], call[2], call[1])}(", text)
    text = _DECLARATION.sub("", text)
    there = set(_DECLARED.findall(text))
    return text + "".join(line for symbol, line in sorted(signatures.items()) if symbol not in there)
