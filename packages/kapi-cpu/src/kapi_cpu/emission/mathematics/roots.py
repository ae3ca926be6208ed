"""Cube roots, and lengths of vectors."""

from __future__ import annotations

from .exponential import nearest_integer
from .logarithm import mantissa_and_exponent
from .writer import Value, Writer

__all__ = ["cbrt", "hypot"]

_INFINITY = float("inf")


def cbrt(w: Writer, x: Value) -> Value:
    """Cube root: a polynomial, and one step of Halley's with an exact square."""
    a = abs(x)
    m, k = mantissa_and_exponent(w, a)
    third = nearest_integer(w, k * (1 / 3))
    rest = k - third * 3.0
    is_less, is_more = rest < 0.0, rest > 0.0
    number = w.select(is_less, m * 0.5, w.select(is_more, m * 2.0, m))
    factor = w.select(is_less, w.value(2.0 ** (-1 / 3)), w.select(is_more, w.value(2.0 ** (1 / 3)), 1.0))
    t = w.polynomial("cbrt", m - 1.0) * factor
    t = (t.bits() & w.integer(-(1 << 27), -(1 << 12))).as_float()
    quotient = number / (t * t)
    t = t + t * ((quotient - t) / (t + t + quotient))
    y = (t * w.power_of_two(third)).with_sign_of(x)
    return w.select((a > 0.0) & (a < _INFINITY), y, x)


def hypot(w: Writer, x: Value, y: Value) -> Value:
    """Length of the vector (x, y)."""
    a, b = abs(x), abs(y)
    if w.is_double:
        larger = w.select(a > b, a, b)
        is_large, is_small = larger > 2.0**500, larger < 2.0**-500
        factor = w.select(is_large, w.value(2.0**-600), w.select(is_small, w.value(2.0**600), 1.0))
        back = w.select(is_large, w.value(2.0**600), w.select(is_small, w.value(2.0**-600), 1.0))
        one, other = a * factor, b * factor
        length = w.intrinsic("sqrt", one * one + other * other) * back
    else:
        one, other = a.to("double"), b.to("double")
        length = w.intrinsic("sqrt", one * one + other * other).to("float")
    return w.select(a.equals(_INFINITY) | b.equals(_INFINITY), _INFINITY, length)
