"""The rows of the intrinsic table for functions of numbers: those of `math`, `cmath` and NumPy."""

from __future__ import annotations

from collections.abc import Iterable

from kapi_sim.language.table.math_functions import MATH_FUNCTIONS
from kapi_sim.language.table.numpy_functions import NUMPY_FUNCTIONS
from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["FUNCTION_ROWS"]

# OpenCL has no complex functions: each is composed of those of `math`, so its bound is none of OpenCL's. Where `cmath`
# raises an error, a kernel computes infinity or nan.
# name, parameters ("r:float" for one that is not complex), result, meaning
_COMPLEX_FUNCTIONS: tuple[tuple[str, str, str, str], ...] = (
    ("phase", "z", "argument float", "angle of z, in radians"),
    ("polar", "z", "argument float, argument float", "absolute value and angle of z"),
    ("rect", "r:float phi:float", "argument complex", "the number of an absolute value and an angle"),
    ("sqrt", "z", "argument complex", "square root with a real part of at least 0"),
    ("exp", "z", "argument complex", "e to the power z"),
    ("log", "z", "argument complex", "natural logarithm"),
    ("log10", "z", "argument complex", "logarithm to base 10"),
    ("sin", "z", "argument complex", "sine"),
    ("cos", "z", "argument complex", "cosine"),
    ("tan", "z", "argument complex", "tangent"),
    ("asin", "z", "argument complex", "arc sine"),
    ("acos", "z", "argument complex", "arc cosine"),
    ("atan", "z", "argument complex", "arc tangent"),
    ("sinh", "z", "argument complex", "hyperbolic sine"),
    ("cosh", "z", "argument complex", "hyperbolic cosine"),
    ("tanh", "z", "argument complex", "hyperbolic tangent"),
    ("asinh", "z", "argument complex", "inverse hyperbolic sine"),
    ("acosh", "z", "argument complex", "inverse hyperbolic cosine"),
    ("atanh", "z", "argument complex", "inverse hyperbolic tangent"),
    ("isnan", "z", "bool", "whether a part is not a number"),
    ("isinf", "z", "bool", "whether a part is infinite"),
    ("isfinite", "z", "bool", "whether both parts are neither infinite nor nan"),
)


def _rows(owner: str, word: str, table: Iterable[tuple[str, str, str, str, str, float | None]]) -> list[Intrinsic]:
    """The rows of a module's functions, whose parameters are of the type `word` if they name no other."""
    return [
        Intrinsic(
            name,
            "math",
            owner,
            "function",
            tuple(_parameter(parameter, word) for parameter in parameters.split()),
            returns,
            meaning,
            "4.17.5",
            operation if operation.startswith("Op") or operation == "composed" else f"OpenCL.std {operation}",
            ulp,
        )
        for name, parameters, returns, meaning, operation, ulp in table
    ]


def _parameter(text: str, word: str) -> Parameter:
    name, _, own_word = text.partition(":")
    return name.removesuffix("="), own_word or word, "left out" if name.endswith("=") else None


FUNCTION_ROWS: tuple[Intrinsic, ...] = (
    *_rows("math", "float", MATH_FUNCTIONS),
    *_rows("cmath", "complex", ((*row, "composed", None) for row in _COMPLEX_FUNCTIONS)),
    *_rows("numpy", "scalar", NUMPY_FUNCTIONS),
)
"""The rows of the functions that this Python and this NumPy have."""
