"""The rows of the intrinsic table for Python's `math` module.

The bound of each function is OpenCL's for float32 in the full profile, in units in the last place;
0 means correctly rounded.

References
----------
OpenCL C 3.0 specification, section 7.4, "Relative error as ULPs".
"""

from __future__ import annotations

__all__ = ["MATH_FUNCTIONS"]

# name, parameters ("n:integer" for one that is no float, "base=" for one that may be left out), result, meaning,
# SPIR-V operation (of OpenCL.std unless it starts with Op; "composed" of others where there is none), bound in ulp
MATH_FUNCTIONS: tuple[tuple[str, str, str, str, str, float | None], ...] = (
    ("sqrt", "x", "argument float", "square root; nan below 0", "sqrt", 3.0),
    ("fabs", "x", "argument float", "absolute value", "fabs", 0.0),
    ("exp", "x", "argument float", "e to the power x", "exp", 3.0),
    ("expm1", "x", "argument float", "exp(x) - 1, exact near 0", "expm1", 3.0),
    ("exp2", "x", "argument float", "2 to the power x", "exp2", 3.0),
    ("cbrt", "x", "argument float", "cube root", "cbrt", 2.0),
    ("log", "x base=", "argument float", "logarithm, natural without a base; -inf at 0, nan below", "log", 3.0),
    ("log1p", "x", "argument float", "log(1 + x), exact near 0", "log1p", 2.0),
    ("log2", "x", "argument float", "logarithm to base 2", "log2", 3.0),
    ("log10", "x", "argument float", "logarithm to base 10", "log10", 3.0),
    ("sin", "x", "argument float", "sine of x in radians", "sin", 4.0),
    ("cos", "x", "argument float", "cosine of x in radians", "cos", 4.0),
    ("tan", "x", "argument float", "tangent of x in radians", "tan", 5.0),
    ("asin", "x", "argument float", "arc sine, in radians", "asin", 4.0),
    ("acos", "x", "argument float", "arc cosine, in radians", "acos", 4.0),
    ("atan", "x", "argument float", "arc tangent, in radians", "atan", 5.0),
    ("atan2", "y x", "argument float", "angle of the point (x, y), in radians", "atan2", 6.0),
    ("sinh", "x", "argument float", "hyperbolic sine", "sinh", 4.0),
    ("cosh", "x", "argument float", "hyperbolic cosine", "cosh", 4.0),
    ("tanh", "x", "argument float", "hyperbolic tangent", "tanh", 5.0),
    ("asinh", "x", "argument float", "inverse hyperbolic sine", "asinh", 4.0),
    ("acosh", "x", "argument float", "inverse hyperbolic cosine", "acosh", 4.0),
    ("atanh", "x", "argument float", "inverse hyperbolic tangent", "atanh", 5.0),
    ("pow", "x y", "argument float", "x to the power y", "pow", 16.0),
    ("hypot", "x y", "argument float", "length of the vector (x, y)", "hypot", 4.0),
    ("copysign", "x y", "argument float", "magnitude of x with the sign of y", "copysign", 0.0),
    ("fmod", "x y", "argument float", "remainder with the sign of x", "fmod", 0.0),
    ("remainder", "x y", "argument float", "x - n * y for the whole n nearest to x / y", "remainder", 0.0),
    ("nextafter", "x y", "argument float", "the next float after x in the direction of y", "nextafter", 0.0),
    ("ulp", "x", "argument float", "value of the last place of x", "composed", 0.0),
    ("fma", "x y z", "argument float", "x * y + z, rounded once", "fma", 0.0),
    ("ldexp", "x i:integer", "argument float", "x times 2 to the power i", "ldexp", 0.0),
    ("frexp", "x", "argument float, weak int", "mantissa from 0.5 to 1, and binary exponent", "composed", 0.0),
    ("modf", "x", "argument float, argument float", "fraction and whole part", "composed", 0.0),
    ("floor", "x", "weak int", "largest integer not above x", "floor", 0.0),
    ("ceil", "x", "weak int", "smallest integer not below x", "ceil", 0.0),
    ("trunc", "x", "weak int", "x without its fraction", "trunc", 0.0),
    ("erf", "x", "argument float", "error function", "erf", 16.0),
    ("erfc", "x", "argument float", "1 - erf(x)", "erfc", 16.0),
    ("gamma", "x", "argument float", "gamma function", "tgamma", 16.0),
    ("lgamma", "x", "argument float", "logarithm of the absolute gamma function", "lgamma", None),
    ("isnan", "x", "bool", "whether x is not a number", "OpIsNan", None),
    ("isinf", "x", "bool", "whether x is infinite", "OpIsInf", None),
    ("isfinite", "x", "bool", "whether x is neither infinite nor nan", "OpIsFinite", None),
    ("degrees", "x", "argument float", "radians to degrees", "degrees", 2.0),
    ("radians", "x", "argument float", "degrees to radians", "radians", 2.0),
    ("gcd", "a:integer b:integer", "weak int", "greatest common divisor", "composed", None),
    ("lcm", "a:integer b:integer", "weak int", "least common multiple", "composed", None),
    ("isqrt", "n:integer", "weak int", "whole part of the square root", "composed", None),
    ("factorial", "n:integer", "weak int", "1 * 2 * ... * n", "composed", None),
    ("comb", "n:integer k:integer", "weak int", "ways to choose k of n", "composed", None),
    ("perm", "n:integer k:integer", "weak int", "ways to choose k of n in order", "composed", None),
)
