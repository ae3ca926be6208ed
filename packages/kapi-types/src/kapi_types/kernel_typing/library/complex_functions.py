# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""Functions of complex numbers, written in the kernel language over the real functions of the table.

Each is generic: complex64 is computed in float32 throughout. Branch cuts and infinities follow Annex G of C99; where
Python's `cmath` raises an error, the value is infinite or nan.

References
----------
W. Kahan, "Branch cuts for complex elementary functions", in The State of the Art in Numerical Analysis, 1987.
"""

from __future__ import annotations

import math

import numpy as np

from kapi_types.kernel_typing.library.parts import make_complex

__all__ = ["FUNCTIONS", "complex_power"]


def sqrt(z):
    """The root with a real part that is not negative."""
    x, y = z.real, z.imag
    if math.isinf(y):
        return make_complex(math.fabs(y), y)
    if x == 0 and y == 0:
        return make_complex(math.fabs(x), y)
    is_tiny = math.fabs(x) < 1e-30 and math.fabs(y) < 1e-30
    if is_tiny:  # parts of which there is no eighth
        x *= 2.0**54
        y *= 2.0**54
    # Twice the root of a quarter: the sum of two large numbers does not overflow.
    size = math.fabs(x) * 0.125
    s = 2 * math.sqrt(size + math.hypot(size, y * 0.125))
    d = math.fabs(y) / (2 * s)
    if is_tiny:
        s *= 2.0**-27
        d *= 2.0**-27
    if x >= 0:
        return make_complex(s, math.copysign(d, y))
    return make_complex(d, math.copysign(s, y))


def exp(z):
    """E to the power z."""
    x, y = z.real, z.imag
    size = math.exp(x)
    if y == 0:
        return make_complex(size, y)
    if math.isinf(x) and not math.isfinite(y):  # of no angle
        return make_complex(size, y - y if x > 0 else math.copysign(size, y))
    if math.isinf(size) and not math.isinf(x):
        size = math.exp(x - 1)  # the product may fit where the factor does not
        return make_complex(size * math.cos(y) * math.e, size * math.sin(y) * math.e)
    return make_complex(size * math.cos(y), size * math.sin(y))


def exp2(z):
    """2 to the power z."""
    return exp(make_complex(z.real * math.log(2.0), z.imag * math.log(2.0)))


def expm1(z):
    """exp(z) - 1, exact near 0."""
    x, y = z.real, z.imag
    half = math.sin(y / 2)
    return make_complex(math.expm1(x) * math.cos(y) - 2 * half * half, math.exp(x) * math.sin(y))


def _log_of_size(z):
    x, y = math.fabs(z.real), math.fabs(z.imag)
    large, small = max(x, y), min(x, y)
    size = math.hypot(x, y)
    if 0.5 < size < 2:
        return math.log1p((large - 1) * (large + 1) + small * small) / 2
    if math.isinf(size) and not math.isinf(large):
        return math.log(math.hypot(x / 2, y / 2)) + math.log(2.0)
    if large < 1e-30:  # of which the size may be rounded to few digits
        return math.log(math.hypot(x * 2.0**54, y * 2.0**54)) - 54 * math.log(2.0)
    return math.log(size)


def log(z):
    """The logarithm whose imaginary part is the angle."""
    return make_complex(_log_of_size(z), math.atan2(z.imag, z.real))


def log1p(z):
    """log(1 + z), exact near 0."""
    x, y = z.real, z.imag
    size = math.hypot(1 + x, y)
    if 0.5 < size < 2:
        return make_complex(math.log1p(x * (2 + x) + y * y) / 2, math.atan2(y, 1 + x))
    return make_complex(math.log(size), math.atan2(y, 1 + x))


def log2(z):
    """Logarithm to base 2."""
    found = log(z)
    return make_complex(found.real / math.log(2.0), found.imag / math.log(2.0))


def log10(z):
    """Logarithm to base 10."""
    found = log(z)
    return make_complex(found.real / math.log(10.0), found.imag / math.log(10.0))


def sinh(z):
    """Hyperbolic sine."""
    x, y = z.real, z.imag
    if y == 0:
        return make_complex(math.sinh(x), y)
    if not math.isfinite(y) and (x == 0 or math.isinf(x)):  # of no angle
        return make_complex(x if x == 0 else math.fabs(x), y - y)
    if x == 0:
        return make_complex(x * math.cos(y), math.sin(y))
    return make_complex(math.cos(y) * math.sinh(x), math.sin(y) * math.cosh(x))


def cosh(z):
    """Hyperbolic cosine."""
    x, y = z.real, z.imag
    if y == 0:
        return make_complex(math.cosh(x), y * math.copysign(1.0, x))
    if not math.isfinite(y) and math.isinf(x):  # of no angle
        return make_complex(math.fabs(x), y - y)
    if x == 0:
        return make_complex(math.cos(y), x * math.sin(y) if math.isfinite(y) else math.fabs(x))
    return make_complex(math.cos(y) * math.cosh(x), math.sin(y) * math.sinh(x))


def tanh(z):
    """Hyperbolic tangent."""
    x, y = z.real, z.imag
    if y == 0:
        return make_complex(math.tanh(x), y)
    if not math.isfinite(y):
        if math.isinf(x):
            return make_complex(math.copysign(1.0, x), math.copysign(0.0, y))
        return make_complex(x if x == 0 else y - y, y - y)
    if math.fabs(x) > 22:  # the real part is 1 in every float type
        return make_complex(math.tanh(x), 4 * math.sin(y) * math.cos(y) * math.exp(-2 * math.fabs(x)))
    t, u = math.tanh(x), math.tan(y)
    inverse = 1 / math.cosh(x)
    product = t * u
    below = 1 + product * product
    return make_complex(t * (1 + u * u) / below, (u / below) * inverse * inverse)


def sin(z):
    """Sine of an angle in radians."""
    if math.isinf(z.imag) and not math.isfinite(z.real):  # of no angle: the sign is open
        return make_complex(z.real - z.real, math.fabs(z.imag))
    turned = sinh(make_complex(-z.imag, z.real))
    return make_complex(turned.imag, -turned.real)


def cos(z):
    """Cosine of an angle in radians."""
    return cosh(make_complex(-z.imag, z.real))


def tan(z):
    """Tangent of an angle in radians."""
    turned = tanh(make_complex(-z.imag, z.real))
    return make_complex(turned.imag, -turned.real)


def _is_large(z):
    return math.fabs(z.real) > 1e8 or math.fabs(z.imag) > 1e8


def asinh(z):
    """Inverse hyperbolic sine."""
    x, y = z.real, z.imag
    if y == 0 and math.isnan(x):
        return z
    if _is_large(z):
        size = _log_of_size(make_complex(x / 2, y / 2)) + 2 * math.log(2.0)
        return make_complex(math.copysign(size, x), math.atan2(y, math.fabs(x)))
    s = sqrt(make_complex(1 + y, -x))
    t = sqrt(make_complex(1 - y, x))
    return make_complex(math.asinh(s.real * t.imag - t.real * s.imag), math.atan2(y, s.real * t.real - s.imag * t.imag))


def acos(z):
    """Arc cosine, in radians."""
    x, y = z.real, z.imag
    if x == 0 and math.isnan(y):
        return make_complex(math.fabs(x) + math.pi / 2, y)
    if _is_large(z):
        size = _log_of_size(make_complex(x / 2, y / 2)) + 2 * math.log(2.0)
        return make_complex(math.atan2(math.fabs(y), x), -math.copysign(size, y))
    s = sqrt(make_complex(1 - x, -y))
    t = sqrt(make_complex(1 + x, y))
    return make_complex(2 * math.atan2(s.real, t.real), math.asinh(t.real * s.imag - t.imag * s.real))


def acosh(z):
    """Inverse hyperbolic cosine."""
    x, y = z.real, z.imag
    if x == 0 and math.isnan(y):
        return make_complex(y, math.fabs(x) + math.pi / 2)
    if _is_large(z):
        size = _log_of_size(make_complex(x / 2, y / 2)) + 2 * math.log(2.0)
        return make_complex(size, math.atan2(y, x))
    s = sqrt(make_complex(x - 1, y))
    t = sqrt(make_complex(x + 1, y))
    return make_complex(math.asinh(s.real * t.real + s.imag * t.imag), 2 * math.atan2(s.imag, t.real))


def asin(z):
    """Arc sine, in radians."""
    turned = asinh(make_complex(-z.imag, z.real))
    return make_complex(turned.imag, -turned.real)


def atanh(z):
    """Inverse hyperbolic tangent."""
    sign = math.copysign(1.0, z.real)
    x, y = z.real * sign, z.imag * sign
    if isnan(z) and not isinf(z):
        return make_complex(z.real if x == 0 else z.real + z.imag, z.real + z.imag)
    if _is_large(z):
        size = math.hypot(x / 2, y / 2)
        is_finite = math.isfinite(size)
        real = x / 4 / size / size if is_finite else math.copysign(0.0, x)
        rest = y / 4 / size / size if is_finite or math.isnan(y) else 0.0
        return make_complex(sign * real, sign * (math.copysign(math.pi / 2, y) - rest))
    if x == 1 and y == 0:
        return make_complex(sign * math.inf, sign * y)
    distance = math.hypot(1 - x, y)
    if distance < 1e-8:  # its square may be zero
        real = (math.log(4 * x) / 2 - math.log(distance)) / 2
    else:
        real = math.log1p(4 * x / ((1 - x) * (1 - x) + y * y)) / 4
    return make_complex(sign * real, sign * math.atan2(2 * y, (1 - x) * (1 + x) - y * y) / 2)


def atan(z):
    """Arc tangent, in radians."""
    turned = atanh(make_complex(-z.imag, z.real))
    return make_complex(turned.imag, -turned.real)


def phase(z):
    """The angle, in radians."""
    return math.atan2(z.imag, z.real)


def polar(z):
    """Absolute value and angle."""
    return math.hypot(z.real, z.imag), math.atan2(z.imag, z.real)


def rect(r, phi):
    """The number of an absolute value and an angle, with Python's values where one is infinite or nan."""
    parts = make_complex(r, phi)  # float16 is computed in float32, as complex64 has no smaller parts
    r, phi = parts.real, parts.imag
    if phi == 0:
        return make_complex(r, math.copysign(1.0, r) * phi)
    if r == 0 and not math.isfinite(phi):
        return make_complex(math.fabs(r), math.fabs(r))
    if math.isinf(r) and math.isnan(phi):
        return make_complex(math.fabs(r), phi)
    return make_complex(r * math.cos(phi), r * math.sin(phi))


def isnan(z):
    """Whether either part is not a number."""
    return math.isnan(z.real) or math.isnan(z.imag)


def isinf(z):
    """Whether either part is infinite."""
    return math.isinf(z.real) or math.isinf(z.imag)


def isfinite(z):
    """Whether neither part is infinite or nan."""
    return math.isfinite(z.real) and math.isfinite(z.imag)


def square(z):
    """Z times z."""
    return z * z


def reciprocal(z):
    """1 / z, scaled by the larger part."""
    x, y = z.real, z.imag
    if math.fabs(y) <= math.fabs(x):
        ratio = y / x
        below = x + y * ratio
        return make_complex(1 / below, -ratio / below)
    ratio = x / y
    below = y + x * ratio
    return make_complex(ratio / below, -1 / below)


def sign(z):
    """The number of the same angle on the unit circle; 0 at 0."""
    size = math.hypot(z.real, z.imag)
    if size == 0:
        return make_complex(size, size)
    if math.isinf(size) and math.isinf(z.real) != math.isinf(z.imag):
        if math.isinf(z.real):
            return make_complex(math.copysign(1.0, z.real), 0.0)
        return make_complex(0.0, math.copysign(1.0, z.imag))
    return make_complex(z.real / size, z.imag / size)


def rint(z):
    """Both parts rounded to even."""
    return make_complex(np.rint(z.real), np.rint(z.imag))


def maximum(z, w):
    """The larger in NumPy's order; nan if one is."""
    return z if z >= w or isnan(z) else w


def minimum(z, w):
    """The smaller in NumPy's order; nan if one is."""
    return z if z <= w or isnan(z) else w


def fmax(z, w):
    """The larger in NumPy's order; nan if both are."""
    return z if z >= w or isnan(w) else w


def fmin(z, w):
    """The smaller in NumPy's order; nan if both are."""
    return z if z <= w or isnan(w) else w


def clip(z, low, high):
    """`z` held between two bounds; a part of a bound that is nan bounds nothing unless it is looked at, as in NumPy."""
    larger = z if isnan(z) or _follows(z, low) else low
    return larger if isnan(larger) or _follows(high, larger) else high


def _follows(z, w):
    return z.imag > w.imag if z.real == w.real else z.real > w.real


def _one_if_infinite(x):
    return math.copysign(1.0 if math.isinf(x) else 0.0, x)


def _zero_if_nan(x):
    return math.copysign(0.0, x) if math.isnan(x) else x


def _product(z, w):
    """The product in which an infinite factor makes an infinite number, as Annex G of C99 has it."""
    a, b, c, d = z.real, z.imag, w.real, w.imag
    x, y = a * c - b * d, a * d + b * c
    if math.isnan(x) and math.isnan(y):
        is_infinite = isinf(z) or isinf(w)
        if isinf(z):
            a, b, c, d = _one_if_infinite(a), _one_if_infinite(b), _zero_if_nan(c), _zero_if_nan(d)
        if isinf(w):
            a, b, c, d = _zero_if_nan(a), _zero_if_nan(b), _one_if_infinite(c), _one_if_infinite(d)
        if not is_infinite and (math.isinf(a * c) or math.isinf(b * d) or math.isinf(a * d) or math.isinf(b * c)):
            a, b, c, d = _zero_if_nan(a), _zero_if_nan(b), _zero_if_nan(c), _zero_if_nan(d)
            is_infinite = True
        if is_infinite:
            return make_complex(math.inf * (a * c - b * d), math.inf * (a * d + b * c))
    return make_complex(x, y)


def complex_power(base, exponent):
    """`base ** exponent`; small integer exponents by repeated multiplication, which is exact where that is."""
    x, y = exponent.real, exponent.imag
    if x == 0 and y == 0:
        return make_complex(1 + math.fabs(x), math.fabs(y))
    if base.real == 0 and base.imag == 0:
        zero = math.fabs(base.real)
        return make_complex(zero, zero) if x > 0 else make_complex(zero / zero, zero / zero)
    if y == 0 and math.fabs(x) < 100 and math.floor(x) == x:
        if x == 1:
            return base
        if x == 2:
            return base * base
        if x == 3:
            return base * (base * base)
        left = int(math.fabs(x))
        one = make_complex(1 + 0 * x, math.fabs(y))
        found = one
        factor = base
        while left > 0:
            if left % 2 == 1:
                found = found * factor
            factor = factor * factor
            left //= 2
        return found if x > 0 else one / found
    return exp(_product(exponent, log(base)))


FUNCTIONS = {
    function.__name__: function
    for function in (
        sqrt, exp, exp2, expm1, log, log1p, log2, log10, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh,
        acosh, atanh, phase, polar, rect, isnan, isinf, isfinite, square, reciprocal, sign, rint,
        maximum, minimum, fmax, fmin, clip,
    )
}  # fmt: skip
"""By the name of the operation."""
