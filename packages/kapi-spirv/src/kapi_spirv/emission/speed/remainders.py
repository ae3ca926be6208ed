"""Remainders of floats by OpenCL's `fmod`: Intel's OpenCL CPU compiler calls a function for each `OpFRem`."""

from __future__ import annotations

import re

__all__ = ["name_remainders"]

_REMAINDER = re.compile(r"^( +\S+ = )frem (?:[a-z]+ )*(half|float|double) ([^,\n]+), ([^,\n]+)(.*)$", re.MULTILINE)
_CODES = {"half": "Dh", "float": "f", "double": "d"}


def name_remainders(text: str) -> str:
    """LLVM IR text with OpenCL's `fmod`, which is as exact, in the place of `frem`."""
    used: set[str] = set()

    def named(found: re.Match[str]) -> str:
        start, type_, left, right, rest = found.groups()
        used.add(type_)
        return f"{start}call spir_func {type_} @{_symbol(type_)}({type_} {left}, {type_} {right}){rest}"

    text = _REMAINDER.sub(named, text)
    for type_ in sorted(used):
        if f" @{_symbol(type_)}({type_}, {type_})" not in text:
            text += f"\ndeclare spir_func {type_} @{_symbol(type_)}({type_}, {type_}) nounwind memory(none)\n"
    return text


def _symbol(type_: str) -> str:
    return f"_Z4fmod{_CODES[type_] * 2}"
