"""What LLVM's SPIR-V back end does wrong with bools, which are integers of one bit to LLVM and none to SPIR-V."""

from __future__ import annotations

import re

__all__ = ["choose_floats", "misused_bools"]

_CONVERSION = re.compile(
    r"\b([su])itofp (?:nneg )?(i1|<(\d+) x i1>) (.+?) to (half|float|double|<\d+ x (half|float|double)>)(?=[,\n]|$)",
    re.MULTILINE,
)
_ONE = {"half": "0xH3C00", "float": "1.000000e+00", "double": "1.000000e+00"}
_MINUS_ONE = {"half": "0xHBC00", "float": "-1.000000e+00", "double": "-1.000000e+00"}
_ZERO = {"half": "0xH0000", "float": "0.000000e+00", "double": "0.000000e+00"}


def choose_floats(text: str) -> str:
    """LLVM IR text in which a bool becomes a float by a choice between two floats.

    A true `i1` is -1 as a signed number. Of `sitofp i1` the back end makes a choice between 1 and 0, and converts
    that. LLVM's passes write it for `-1 if c else 0` and all that comes to it. `uitofp i1` is right, and goes the same
    way. Remove this when `test_backend_limits` says that the back end is mended.
    """
    return _CONVERSION.sub(_choice, text)


def _choice(found: re.Match[str]) -> str:
    sign, condition, lanes, value, target, element = found.groups()
    scalar = element or target
    ends = (_MINUS_ONE if sign == "s" else _ONE)[scalar], _ZERO[scalar]
    chosen = [f"{target} {_repeated(end, scalar, lanes)}" for end in ends]
    return f"select {condition} {value}, " + ", ".join(chosen)


def _repeated(end: str, scalar: str, lanes: str | None) -> str:
    return end if lanes is None else "<" + ", ".join([f"{scalar} {end}"] * int(lanes)) + ">"


_BOOLS = r"(?:i1|<\d+ x i1>)"
_MISUSES = tuple(
    (re.compile(pattern), description)
    for pattern, description in (
        (rf" = (mul|shl|[al]shr|[us]div|[us]rem) (?:[a-z]+ )*{_BOOLS} ", "{0} of bools"),
        (r"@llvm\.(fsh[lr])\.(?:v\d+)?i1\(", "{0} of bools"),
        (r"^  (switch) i1 ", "{0} on a bool"),
        (r"^  %\S+ = (alloca) (?:\[\d+ x )?i1\b", "memory of bools ({0} of i1)"),
        (rf" = (getelementptr) .*, {_BOOLS} ", "{0} with a bool for an index"),
    )
)


def misused_bools(text: str) -> list[str]:
    """What LLVM IR text does with bools that the back end makes invalid SPIR-V of, which may crash a driver.

    Bools in memory are valid, and lost on their way. LLVM's passes leave none of all this behind: a product of bools is
    their `and`, a switch on one is a branch, and a variable is no memory.
    """
    lines = text.split("\n")
    found = [
        description.format(match.group(1))
        for line in lines
        if not line.startswith("declare") and "i1" in line
        for pattern, description in _MISUSES
        for match in pattern.finditer(line)
    ]
    return list(dict.fromkeys(found))
