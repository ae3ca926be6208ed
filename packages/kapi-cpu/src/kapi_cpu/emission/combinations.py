"""Combinations of two values, as LLVM has them, by the names that targets know."""

from __future__ import annotations

__all__ = ["PARTIALS", "SUFFIXES", "combined", "identity_of"]

PARTIALS = 16
"""Partial results of a reduction: value number i is a part of partial number i % 16; these are combined in order."""

_INSTRUCTIONS = {
    "add": "add", "fadd": "fadd", "mul": "mul", "fmul": "fmul", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip
_INTRINSICS = {
    "min": "smin", "umin": "umin", "max": "smax", "umax": "umax", "fmin": "minnum", "fmax": "maxnum",
}  # fmt: skip
SUFFIXES = {"half": "f16", "float": "f32", "double": "f64"}


def combined(combination: str, type_: str, left: str, right: str, count: int = 0) -> tuple[str, str]:
    """The text of one combination of two values, or two vectors of some count, and what must be declared for it."""
    suffix = SUFFIXES.get(type_, type_)
    if count:
        type_, suffix = f"<{count} x {type_}>", f"v{count}{suffix}"
    if combination in _INSTRUCTIONS:
        return f"{_INSTRUCTIONS[combination]} {type_} {left}, {right}", ""
    name = f"llvm.{_INTRINSICS[combination]}.{suffix}"
    return f"call {type_} @{name}({type_} {left}, {type_} {right})", f"declare {type_} @{name}({type_}, {type_})"


def identity_of(combination: str, type_: str) -> str:
    """The identity of a combination."""
    if combination in ("fadd", "fmul"):
        return {"fadd": "0.0", "fmul": "1.0"}[combination]
    if combination in ("fmin", "fmax"):
        bits = {"half": "0xH7C00", "float": "0x7FF0000000000000", "double": "0x7FF0000000000000"}[type_]
        negative = {"half": "0xHFC00", "float": "0xFFF0000000000000", "double": "0xFFF0000000000000"}[type_]
        return bits if combination == "fmin" else negative
    width = int(type_[1:])
    values = {
        "add": 0, "mul": 1, "and": -1, "or": 0, "xor": 0, "umin": -1, "umax": 0,
        "min": (1 << (width - 1)) - 1, "max": -(1 << (width - 1)),
    }  # fmt: skip
    return str(values[combination])
