"""The rows of the intrinsic table for NumPy's functions of scalars.

They are all that Numba's CPU target has as ufuncs, but for those of dates, and `where` and `clip`.  The type of each
result is NumPy's own; Python numbers alone are NumPy's default types to them, as in NumPy.  Other names of a function,
such as `numpy.abs`, are the same function.
"""

from __future__ import annotations

import numpy as np

from kapi_sim.language.table.math_functions import MATH_FUNCTIONS

__all__ = ["NUMPY_FUNCTIONS"]

_ULP = {operation: ulp for *_, operation, ulp in MATH_FUNCTIONS if operation != "composed"}

# name, parameters, meaning, SPIR-V operation as in `math_functions`
_ALL: tuple[tuple[str, str, str, str], ...] = (
    ("add", "x y", "x + y", "composed"),
    ("subtract", "x y", "x - y", "composed"),
    ("multiply", "x y", "x * y", "composed"),
    ("divide", "x y", "x / y", "composed"),
    ("floor_divide", "x y", "x // y", "composed"),
    ("remainder", "x y", "x % y", "composed"),
    ("fmod", "x y", "remainder with the sign of x", "fmod"),
    ("divmod", "x y", "x // y and x % y", "composed"),
    ("power", "x y", "x ** y", "composed"),
    ("float_power", "x y", "x ** y in float64 or complex128", "composed"),
    ("negative", "x", "-x", "composed"),
    ("positive", "x", "+x", "composed"),
    ("absolute", "x", "absolute value", "composed"),
    ("fabs", "x", "absolute value, a float", "fabs"),
    ("sign", "x", "-1, 0 or 1", "composed"),
    ("heaviside", "x at_zero", "0 below 0, 1 above, at_zero at 0", "composed"),
    ("square", "x", "x * x", "composed"),
    ("reciprocal", "x", "1 / x", "composed"),
    ("conjugate", "x", "complex conjugate", "composed"),
    ("sqrt", "x", "square root; nan below 0", "sqrt"),
    ("cbrt", "x", "cube root", "cbrt"),
    ("exp", "x", "e to the power x", "exp"),
    ("exp2", "x", "2 to the power x", "exp2"),
    ("expm1", "x", "exp(x) - 1, exact near 0", "expm1"),
    ("log", "x", "natural logarithm", "log"),
    ("log2", "x", "logarithm to base 2", "log2"),
    ("log10", "x", "logarithm to base 10", "log10"),
    ("log1p", "x", "log(1 + x), exact near 0", "log1p"),
    ("logaddexp", "x y", "log(exp(x) + exp(y))", "composed"),
    ("logaddexp2", "x y", "log2(2**x + 2**y)", "composed"),
    ("sin", "x", "sine of x in radians", "sin"),
    ("cos", "x", "cosine of x in radians", "cos"),
    ("tan", "x", "tangent of x in radians", "tan"),
    ("arcsin", "x", "arc sine, in radians", "asin"),
    ("arccos", "x", "arc cosine, in radians", "acos"),
    ("arctan", "x", "arc tangent, in radians", "atan"),
    ("arctan2", "y x", "angle of the point (x, y), in radians", "atan2"),
    ("hypot", "x y", "length of the vector (x, y)", "hypot"),
    ("sinh", "x", "hyperbolic sine", "sinh"),
    ("cosh", "x", "hyperbolic cosine", "cosh"),
    ("tanh", "x", "hyperbolic tangent", "tanh"),
    ("arcsinh", "x", "inverse hyperbolic sine", "asinh"),
    ("arccosh", "x", "inverse hyperbolic cosine", "acosh"),
    ("arctanh", "x", "inverse hyperbolic tangent", "atanh"),
    ("degrees", "x", "radians to degrees", "degrees"),
    ("rad2deg", "x", "radians to degrees", "degrees"),
    ("radians", "x", "degrees to radians", "radians"),
    ("deg2rad", "x", "degrees to radians", "radians"),
    ("maximum", "x y", "the larger; nan if one is", "composed"),
    ("minimum", "x y", "the smaller; nan if one is", "composed"),
    ("fmax", "x y", "the larger; nan if both are", "composed"),
    ("fmin", "x y", "the smaller; nan if both are", "composed"),
    ("clip", "x low high", "x held between two bounds", "composed"),
    ("where", "condition x y", "x if condition else y, in one type", "composed"),
    ("floor", "x", "largest whole number not above x", "floor"),
    ("ceil", "x", "smallest whole number not below x", "ceil"),
    ("trunc", "x", "x without its fraction", "trunc"),
    ("rint", "x", "nearest whole number, even if two are", "rint"),
    ("copysign", "x y", "magnitude of x with the sign of y", "copysign"),
    ("nextafter", "x y", "the next float after x in the direction of y", "nextafter"),
    ("spacing", "x", "distance to the next float away from 0", "composed"),
    ("ldexp", "x i", "x times 2 to the power i", "ldexp"),
    ("frexp", "x", "mantissa from 0.5 to 1, and binary exponent", "composed"),
    ("modf", "x", "fraction and whole part", "composed"),
    ("gcd", "x y", "greatest common divisor", "composed"),
    ("lcm", "x y", "least common multiple", "composed"),
    ("bitwise_and", "x y", "x & y", "composed"),
    ("bitwise_or", "x y", "x | y", "composed"),
    ("bitwise_xor", "x y", "x ^ y", "composed"),
    ("invert", "x", "~x", "composed"),
    ("left_shift", "x y", "x << y", "composed"),
    ("right_shift", "x y", "x >> y", "composed"),
    ("bitwise_count", "x", "number of bits set in the absolute value", "composed"),
    ("equal", "x y", "x == y", "composed"),
    ("not_equal", "x y", "x != y", "composed"),
    ("less", "x y", "x < y", "composed"),
    ("less_equal", "x y", "x <= y", "composed"),
    ("greater", "x y", "x > y", "composed"),
    ("greater_equal", "x y", "x >= y", "composed"),
    ("logical_and", "x y", "whether both are true", "composed"),
    ("logical_or", "x y", "whether one is true", "composed"),
    ("logical_xor", "x y", "whether one is true and the other is not", "composed"),
    ("logical_not", "x", "whether x is not true", "composed"),
    ("isnan", "x", "whether x is not a number", "OpIsNan"),
    ("isinf", "x", "whether x is infinite", "OpIsInf"),
    ("isfinite", "x", "whether x is neither infinite nor nan", "OpIsFinite"),
    ("signbit", "x", "whether the sign of x is minus, that of 0 too", "OpSignBitSet"),
)

# Name, parameters, "NumPy's" as the result's type, meaning, operation, bound in ulp, as in `math_functions`.
NUMPY_FUNCTIONS: tuple[tuple[str, str, str, str, str, float | None], ...] = tuple(
    (name, parameters, "NumPy's", meaning, operation, _ULP.get(operation))
    for name, parameters, meaning, operation in _ALL
    if hasattr(np, name)
)
"""The rows whose function this NumPy has."""
