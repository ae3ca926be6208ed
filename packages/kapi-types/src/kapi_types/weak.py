"""Weak scalar types: what Python's own numbers are in a kernel.

NumPy 2 lets a Python number take the type of the array element in an operation (NEP 50): `a[i] * 2` keeps `a`'s type.
Numba has no such types, so literals, ids, ranges, shapes and Python arguments get these. A weak value is held in
64 bits until an operation has a strong operand.

References
----------
NEP 50, "Promotion rules for Python scalars"; JAX's weak types are the precedent in a compiler.
"""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import types

__all__ = [
    "WeakBool",
    "WeakComplex",
    "WeakFloat",
    "WeakInt",
    "WideInt",
    "is_weak",
    "weak_bool",
    "weak_complex",
    "weak_float",
    "weak_int",
    "wide_int",
]


class WeakInt(types.Integer):
    """A Python `int`: 64 bits, signed, and of no NumPy type of its own."""

    def __init__(self) -> None:
        super().__init__("weak_int", bitwidth=64, signed=True)

    def cast_python_value(self, value: Any) -> int:
        """The value as a Python `int`."""
        return int(value)


class WideInt(types.Integer):
    """A Python `int` from 2**63 to 2**64 - 1: one of the source, which needs the bit that others have for the sign."""

    def __init__(self) -> None:
        super().__init__("wide_int", bitwidth=64, signed=False)

    def cast_python_value(self, value: Any) -> int:
        """The value as a Python `int`."""
        return int(value)


class WeakFloat(types.Float):
    """A Python `float`: computed in the type of the first strong float operand, otherwise in float64."""

    def __init__(self) -> None:
        types.Number.__init__(self, "weak_float")
        self.bitwidth = 64

    def cast_python_value(self, value: Any) -> float:
        """The value as a Python `float`."""
        return float(value)


class WeakComplex(types.Complex):
    """A Python `complex`: computed in the type of the first strong complex operand, otherwise in complex128."""

    def __init__(self) -> None:
        types.Number.__init__(self, "weak_complex")
        self.underlying_float = weak_float
        self.bitwidth = 128

    def cast_python_value(self, value: Any) -> complex:
        """The value as a Python `complex`."""
        return complex(value)


class WeakBool(types.Boolean):
    """A Python `bool`: counts as 0 or 1 in arithmetic, where NumPy's bool is a logical value."""

    def __init__(self) -> None:
        super().__init__("weak_bool")


weak_int = WeakInt()
wide_int = WideInt()
weak_float = WeakFloat()
weak_complex = WeakComplex()
weak_bool = WeakBool()


def is_weak(type_: types.Type) -> bool:
    """Whether `type_` is one of the weak scalar types."""
    return isinstance(type_, (WeakInt, WideInt, WeakFloat, WeakComplex, WeakBool))
