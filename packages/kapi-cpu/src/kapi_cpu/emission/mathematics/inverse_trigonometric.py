"""Arc functions: arguments that are brought near 0, and a polynomial."""

from __future__ import annotations

from .writer import Value, Writer

__all__ = ["acos", "asin", "atan", "atan2"]


def _arc(w: Writer, a: Value, b: Value) -> Value:
    """The angle from 0 to pi/2 whose tangent is a / b, of numbers that are not negative and not extreme."""
    is_low, is_middle = a <= b * 0.41421356, a < b * 2.4142135
    t = w.select(is_low, a, w.select(is_middle, a - b, -b)) / w.select(is_low, b, w.select(is_middle, a + b, a))
    z = t * t
    high = w.select(is_low, 0.0, w.select(is_middle, w.constant("pi/4"), w.constant("pi/2")))
    low = w.select(is_low, 0.0, w.select(is_middle, w.constant("pi/4 low"), w.constant("pi/2 low")))
    return high + (t + w.product_and_sum(t * z, w.polynomial("atan", z), low))


def atan(w: Writer, x: Value) -> Value:
    """Arc tangent."""
    return _arc(w, abs(x), w.value(1.0)).with_sign_of(x)


def atan2(w: Writer, y: Value, x: Value) -> Value:
    """Angle of the point (x, y)."""
    a, b = abs(y), abs(x)
    larger = w.select(a > b, a, b)
    are_infinite = a.equals(float("inf")) & b.equals(float("inf"))
    factor = w.select(larger < w.pick(2.0**-900, 2.0**-90), w.pick(2.0**110, 2.0**50), 1.0)
    factor = w.select(larger > w.pick(2.0**1020, 2.0**125), 0.25, factor)
    one, other = w.select(are_infinite, 1.0, a * factor), w.select(are_infinite, 1.0, b * factor)
    # Angles of the positive quadrant, without a division of 0 by 0.
    angle = _arc(w, one, w.select(larger.equals(0.0), 1.0, other))
    is_left = (x.bits() >> w.integer(63, 31)).equals(1)
    angle = w.select(is_left, w.constant("pi") - (angle - w.constant("pi low")), angle)
    angle = w.select(x.is_nan(), x, angle)
    return w.select(y.is_nan(), y, angle).with_sign_of(y)


def _inner(w: Writer, x: Value, z: Value) -> Value:
    """asin(x) - x, for x up to 1/2 and z = x * x."""
    return x * z * w.polynomial("asin", z)


def _outer(w: Writer, a: Value) -> tuple[Value, Value]:
    """The high and low part of acos(a), for a from 1/2."""
    z = (1.0 - a) * 0.5
    s = w.intrinsic("sqrt", z)
    # The error of the root, which its square shows.
    square, error = w.two_product(s, s)
    lost = w.select(z > 0.0, ((z - square) - error) / (s + s), 0.0)
    return s + s, (_inner(w, s, z) + lost) * 2.0


def asin(w: Writer, x: Value) -> Value:
    """Arc sine."""
    a = abs(x)
    high, low = _outer(w, a)
    near = a + _inner(w, a, a * a)
    far = w.constant("pi/2") - (high - (w.constant("pi/2 low") - low))
    return w.select(a < 0.5, near, w.select(a <= 1.0, far, float("nan"))).with_sign_of(x)


def acos(w: Writer, x: Value) -> Value:
    """Arc cosine."""
    a = abs(x)
    high, low = _outer(w, a)
    middle = w.constant("pi/2") - (x - (w.constant("pi/2 low") - _inner(w, x, x * x)))
    right = high + low
    left = w.constant("pi") - (high - (w.constant("pi low") - low))
    y = w.select(a < 0.5, middle, w.select(x > 0.0, right, left))
    return w.select(a <= 1.0, y, float("nan"))
