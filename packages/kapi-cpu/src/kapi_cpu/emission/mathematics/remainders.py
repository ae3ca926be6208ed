"""Remainders, exact: long division, some bits of the quotient at a time."""

from __future__ import annotations

from .exponential import scaled
from .logarithm import mantissa_and_exponent
from .writer import Value, Writer

__all__ = ["fmod", "remainder"]

_INFINITY = float("inf")


def _rest(w: Writer, m: Value, distance: Value, divisor: Value) -> Value:
    """The rest of m * 2**distance in a division by a number next to 1."""
    digits = w.pick(48.0, 20.0)

    def step(r: Value, left: Value) -> tuple[tuple[Value, Value], Value]:
        taken = w.select(left > digits, digits, left)
        number = r * w.power_of_two(taken)
        product, error = w.two_product(w.intrinsic("trunc", number / divisor), divisor)
        rest = (number - product) - error
        # A rounded quotient may be one too many.
        rest = w.select(rest < 0.0, rest + divisor, rest)
        return (rest, left - taken), left > digits

    return w.repeated((m, distance), step)[0]


def _checked(w: Writer, x: Value, y: Value, result: Value) -> Value:
    """The result where it has one: nan of an infinite or no number, or of a division by zero."""
    is_right = (abs(x) < _INFINITY) & y.differs(0.0)
    return w.select(is_right, result, float("nan"))


def fmod(w: Writer, x: Value, y: Value) -> Value:
    """Remainder with the sign of x."""
    a, b = abs(x), abs(y)
    m, k = mantissa_and_exponent(w, a)
    divisor, exponent = mantissa_and_exponent(w, b)
    is_less = a < b
    distance = w.select(is_less | ~(a < _INFINITY) | ~(b > 0.0), 0.0, k - exponent)
    rest = scaled(w, _rest(w, m, distance, divisor), exponent)
    return _checked(w, x, y, w.select(is_less, x, rest.with_sign_of(x)))


def remainder(w: Writer, x: Value, y: Value) -> Value:
    """The rest of the nearest quotient, of the even one of two that are as near."""
    a, b = abs(x), abs(y)
    m, k = mantissa_and_exponent(w, a)
    divisor, exponent = mantissa_and_exponent(w, b)
    distance = k - exponent
    is_less = (distance < -2.0) | a.equals(0.0) | b.equals(_INFINITY)
    distance = w.select(is_less | ~(a < _INFINITY) | ~(b > 0.0), 0.0, distance)
    rest = _rest(w, m, distance, divisor * 2.0)
    is_above = rest + rest > divisor
    rest = w.select(is_above, rest - divisor, rest)
    rest = w.select(is_above & (rest + rest >= divisor), rest - divisor, rest)
    rest = scaled(w, rest, exponent)
    return _checked(w, x, y, w.select(is_less, x, w.select(x.is_negative(), -rest, rest)))
