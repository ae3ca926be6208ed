"""The rows of the intrinsic table for Python's `cmath` module.

OpenCL has no complex functions: each is composed of those of `math`, so its bound is none of OpenCL's.  Where `cmath`
raises an error, a kernel computes infinity or nan.
"""

from __future__ import annotations

__all__ = ["COMPLEX_FUNCTIONS"]

# name, parameters ("r:float" for one that is not complex), result, meaning
COMPLEX_FUNCTIONS: tuple[tuple[str, str, str, str], ...] = (
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
