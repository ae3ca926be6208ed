"""Powers, cube roots, and lengths of vectors.

A power is a logarithm as a sum of two numbers, a product, and an exponential.
"""

from __future__ import annotations

from .exponential import nearest_integer, scaled
from .logarithm import mantissa_and_exponent
from .writer import Value, Writer

__all__ = ["binary_logarithm", "cbrt", "hypot", "pow", "power_of_sum"]

_INFINITY = float("inf")


def binary_logarithm(w: Writer, x: Value) -> tuple[Value, Value]:
    """The logarithm to base 2 of a positive float64, to some 65 bits, as a rounded number and its error."""
    m, k = mantissa_and_exponent(w, x)
    f = m - 1.0
    sum_high = m + 1.0
    sum_low = m - (sum_high - 1.0)
    inverse = 1.0 / sum_high
    s = f * inverse
    product, error = w.two_product(s, sum_high)
    s_low = (((f - product) - error) - s * sum_low) * inverse
    z, z_low = w.two_product(s, s)
    z_low = z_low + (s + s) * s_low
    # The series' second coefficient, 1/3, is one of two numbers as well.
    c, c_low = w.fast_two_sum(w.value(1 / 3), w.constant("1/3 low") + z * w.polynomial("atanh", z))
    u, u_low = w.two_product(z, c)
    u_low = u_low + (z * c_low + z_low * c)
    v, v_low = w.two_product(s, u)
    v_low = v_low + (s * u_low + s_low * u)
    high, low = w.fast_two_sum(s, v)
    low = low + (s_low + v_low)
    factor = w.value(w.constant("2/log(2)"))
    product, error = w.two_product(high, factor)
    error = error + (high * w.constant("2/log(2) low") + low * factor)
    high, low = w.fast_two_sum(k, product)
    return w.fast_two_sum(high, low + error)


def power_of_sum(w: Writer, high: Value, low: Value, factor: Value | None = None) -> Value:
    """2 to the power of a float64 and a small rest, times a factor, rounded once if it is subnormal."""
    is_extreme = abs(high) > 1200.0
    high = w.select(is_extreme, w.value(1200.0).with_sign_of(high), high)
    low = w.select(is_extreme, 0.0, low)
    k = nearest_integer(w, high)
    near = high - k
    r, rest = w.two_sum(near, low)
    y = (r * w.constant("log(2)") + (r * r * w.polynomial("exp2", r) + rest * w.constant("log(2)"))) + 1.0
    return scaled(w, y if factor is None else y * factor, k)


def pow(w: Writer, x: Value, y: Value) -> Value:
    """One number to the power of another."""
    a = abs(x)
    # A larger exponent changes no result, but a product with it could overflow on its way.
    limit = 2.0**65
    held = w.select(abs(y) > limit, w.value(limit).with_sign_of(y), y)
    magnitude = _power(w, a, held) if w.is_double else _short_power(w, a.to("double"), held.to("double"))
    is_zero, is_infinite = a.equals(0.0), a.equals(_INFINITY)
    is_extreme = is_zero | is_infinite
    extreme = w.select(is_zero ^ (y < 0.0), w.value(0.0), _INFINITY)
    magnitude = w.select(is_extreme, extreme, magnitude)
    half = y * 0.5
    is_integral = w.intrinsic("trunc", y).equals(y)
    is_odd = is_integral & w.intrinsic("trunc", half).differs(half)
    is_negative = x.is_negative()
    result = w.select(is_negative & is_odd, -magnitude, magnitude)
    result = w.select((x < 0.0) & ~is_integral & ~is_extreme, float("nan"), result)
    result = w.select(x.is_nan() | y.is_nan(), float("nan"), result)
    return w.select(x.equals(1.0) | y.equals(0.0), 1.0, result)


def _power(w: Writer, a: Value, y: Value) -> Value:
    high, low = binary_logarithm(w, a)
    product, error = w.two_product(y, high)
    return power_of_sum(w, product, error + y * low)


def _short_power(w: Writer, a: Value, y: Value) -> Value:
    """The power as a float32, computed in float64."""
    m, k = mantissa_and_exponent(w, a)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    logarithm = k + (s + s + s * z * w.polynomial("log", z, "short")) * w.constant("1/log(2)", "double")
    p = y * logarithm
    p = w.select(p > 160.0, 160.0, p)
    p = w.select(p < -160.0, -160.0, p)
    k = nearest_integer(w, p)
    r = p - k
    near = r * w.constant("log(2)", "double") + r * r * w.polynomial("exp2", r, "short") + 1.0
    return (near * w.power_of_two(k)).to("float")


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
