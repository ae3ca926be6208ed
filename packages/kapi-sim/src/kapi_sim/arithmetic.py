"""Number rules that plain Python does not follow by itself.

NumPy's scalars bring most of kapi's rules: array elements are strong, Python numbers weak.  What is
left stands here: `math` keeps a strong float's type and knows no domain errors, integers are not
divided by zero, and weak integers have 64 bits.  The rewritten kernel calls these in place of the
operators and of `math`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.spec.math_functions import MATH_FUNCTIONS

__all__ = [
    "MATH",
    "SUBSTITUTES",
    "checked_ring",
    "conversion",
    "floor_divide",
    "remainder",
    "saturated",
    "wrapped_ring",
]

_SMALLEST = -(2**63)
_LARGEST = 2**63 - 1
_INTEGERS = (int, np.integer, np.bool_)


def floor_divide(left: Any, right: Any) -> Any:
    """Return ``left // right``; two integers with ``right`` zero are an error."""
    if not right and isinstance(right, _INTEGERS) and isinstance(left, _INTEGERS):
        raise ZeroDivisionError(f"divisor of // must not be zero, got {left!r} // {right!r}")
    return left // right


def remainder(left: Any, right: Any) -> Any:
    """Return ``left % right``; two integers with ``right`` zero are an error."""
    if not right and isinstance(right, _INTEGERS) and isinstance(left, _INTEGERS):
        raise ZeroDivisionError(f"divisor of % must not be zero, got {left!r} % {right!r}")
    return left % right


def checked_ring(value: Any) -> Any:
    """Return the result of ``+ - * ** <<``, unless it is a weak integer of more than 64 bits."""
    if value.__class__ is int and not _SMALLEST <= value <= _LARGEST:
        raise DtypeError(
            f"a Python integer in a kernel must fit 64 bits, got {value}: "
            "start from a NumPy scalar such as numpy.uint64(1) if wrapping is meant"
        )
    return value


def wrapped_ring(value: Any) -> Any:
    """Return the result of ``+ - * ** <<``, a weak integer wrapped to 64 bits as a device does."""
    if value.__class__ is int and not _SMALLEST <= value <= _LARGEST:
        return (value - _SMALLEST) % 2**64 + _SMALLEST
    return value


def saturated(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what an element of the integer `dtype` takes of `value`.

    Of a float that is its whole part, held to the range of the dtype, and 0 of nan.
    """
    if value.__class__ is not float and not isinstance(value, np.floating):
        return value
    number = float(value)
    if number != number:
        return 0
    limits = np.iinfo(dtype)
    if number <= limits.min:
        return limits.min
    return limits.max if number >= limits.max else int(number)


def conversion(kind: type[Any]) -> Callable[[Any], Any]:
    """Return what a kernel calls for `int` or an integer type of NumPy: of a float it makes what a device makes."""
    dtype = np.dtype(np.int64) if kind is int else np.dtype(kind)

    def convert(value: Any) -> Any:
        return kind(saturated(value, dtype))

    return convert


def _gamma_beyond(x: float) -> float:
    if x == 0.0:
        return math.copysign(math.inf, x)
    return math.nan if x == math.floor(x) and x < 0.0 else math.copysign(math.inf, x)


# What IEEE 754 gives where Python's function raises ValueError or OverflowError.
_BEYOND: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "pow": np.float_power,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "gamma": _gamma_beyond,
    "lgamma": lambda x: math.inf,
}
_COMMON: dict[tuple[type, type], type] = {}


def _one_float(name: str) -> Callable[[Any], Any]:
    function: Callable[[Any], float] = getattr(math, name)
    beyond: Callable[..., Any] = _BEYOND.get(name, function)

    def substitute(x: Any) -> Any:
        kind = x.__class__
        try:
            value = function(x)
        except (ValueError, OverflowError):
            value = float(beyond(float(x)))
        if kind is float or kind is int:
            return value
        if isinstance(x, np.floating):
            return _cast(kind, value)
        return np.float64(value) if isinstance(x, np.generic) else value

    return substitute


def _cast(kind: Callable[[float], Any], value: float) -> Any:
    return kind(value)


def _common_type(x: Any, y: Any) -> type:
    """Result type of a function of two numbers: `float` if both are weak."""
    kinds = (x.__class__, y.__class__)
    known = _COMMON.get(kinds)
    if known is None:
        strong = [np.dtype(kind) for kind in kinds if issubclass(kind, np.generic)]
        floats = [dtype if dtype.kind == "f" else np.dtype(np.float64) for dtype in strong]
        known = np.result_type(*floats).type if floats else float
        _COMMON[kinds] = known
    return known


def _two_floats(name: str) -> Callable[[Any, Any], Any]:
    function: Callable[[Any, Any], float] = getattr(math, name)
    beyond: Callable[..., Any] = _BEYOND.get(name, function)

    def substitute(x: Any, y: Any) -> Any:
        try:
            value = function(x, y)
        except (ValueError, OverflowError):
            value = float(beyond(float(x), float(y)))
        return _cast(_common_type(x, y), value)

    return substitute


def _to_integer(name: str) -> Callable[[Any], int]:
    function: Callable[[Any], int] = getattr(math, name)

    def substitute(x: Any) -> int:
        if isinstance(x, _INTEGERS):
            return int(x)
        value: int = checked_ring(int(function(float(x))))
        return value

    return substitute


def _substitute(name: str, parameters: str, returns: str) -> Callable[..., Any]:
    if returns == "weak int":
        made: Callable[..., Any] = _to_integer(name)
    elif returns == "bool":
        made = getattr(math, name)
    else:
        made = _two_floats(name) if " " in parameters else _one_float(name)
    if returns != "bool":
        made.__name__ = made.__qualname__ = name
    return made


_BY_NAME = {name: _substitute(name, parameters, returns) for name, parameters, returns, *_ in MATH_FUNCTIONS}


class _KernelMath(ModuleType):
    """Stands for the module `math` in a kernel; what the table lacks is the module's own."""

    def __getattr__(self, name: str) -> Any:
        return getattr(math, name)


MATH = _KernelMath("math", "Python's math as kernels see it: a strong float keeps its type.")
"""What a kernel's name for the module `math` becomes."""
for _name, _function in _BY_NAME.items():
    setattr(MATH, _name, _function)

SUBSTITUTES: dict[int, Any] = {
    id(math): MATH,
    **{id(getattr(math, name)): function for name, function in _BY_NAME.items()},
}
"""What a kernel gets in place of the object with this `id`; the originals live as long as `math`."""
