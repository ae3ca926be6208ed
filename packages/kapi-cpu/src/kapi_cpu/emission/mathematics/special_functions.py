"""The gamma function and its logarithm, the error function and its complement.

The gamma function is Stirling's series from 8 on, and the functional equation below.

References
----------
M. M. Shepherd, J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < oo", 1981.
"""

from __future__ import annotations

from .exponential import exponential
from .logarithm import log
from .powers_and_roots import binary_logarithm, power_of_sum
from .writer import Value, Writer

__all__ = ["erf", "erfc", "gamma", "lgamma"]

_INFINITY = float("inf")


def _stirling(w: Writer, a: Value) -> tuple[Value, Value, Value, Value]:
    """The log2(gamma(a) * p) of a positive a, and p, as sums of two: p is 1, or a * (a + 1) * ... * (a + 7) below 8."""
    is_less = a < 8.0
    moved, moved_low = w.two_sum(a, w.select(is_less, w.value(8.0), 0.0))
    # The factors in pairs: with u = a * (a + 7), these are u, u + 6, u + 10 and u + 12.
    seventh, seventh_low = w.two_sum(a, w.value(7.0))
    product, low = w.two_product(a, seventh)
    u = w.fast_two_sum(product, low + a * seventh_low)
    p = u
    for number in (6.0, 10.0, 12.0):
        high, rest = w.two_sum(u[0], w.value(number))
        p = _product(w, p, w.fast_two_sum(high, rest + u[1]))
    x, x_low = moved, moved_low
    inverse = 1.0 / x
    series = inverse * w.polynomial("stirling", inverse * inverse)
    logarithm, rest = binary_logarithm(w, x)
    rest = rest + x_low * inverse * w.constant("1/log(2)")
    less = x - 0.5
    high, low = _product(w, (less, x_low), (logarithm, rest))
    linear = w.two_product(x, w.value(w.constant("1/log(2)")))
    high, error = w.two_sum(high, -linear[0])
    small = linear[1] + x * w.constant("1/log(2) rest") + x_low * w.constant("1/log(2)")
    low = low + error - small
    high, error = w.two_sum(high, w.value(w.constant("log2(2pi)/2")))
    low = low + (error + (series * w.constant("1/log(2)") + w.constant("log2(2pi)/2 low")))
    high, low = w.fast_two_sum(high, low)
    return high, low, w.select(is_less, p[0], 1.0), w.select(is_less, p[1], 0.0)


def _product(w: Writer, one: tuple[Value, Value], other: tuple[Value, Value]) -> tuple[Value, Value]:
    high, low = w.two_product(one[0], other[0])
    return w.fast_two_sum(high, low + (one[0] * other[1] + one[1] * other[0]))


def _reflected(w: Writer, a: Value) -> tuple[Value, Value, Value]:
    """The rest r of a, the sine of pi * a over pi, and whether the nearest integer is odd."""
    integral = w.intrinsic("rint", a)
    r = a - integral
    half = integral * 0.5
    is_odd = w.intrinsic("trunc", half).differs(half)
    z = r * r
    return r, r + r * z * w.polynomial("sine of pi", z), is_odd


def gamma(w: Writer, x: Value) -> Value:
    """Gamma function."""
    if not w.is_double:
        with w.widened():
            return gamma(w, x.to("double")).to("float")
    a = abs(x)
    a = w.select(a > 200.0, 200.0 + (a - a), a)
    high, low, p, p_low = _stirling(w, w.select(a < 2.0**-60, 2.0**-60, a))
    is_negative = x < 0.0
    r, sine, is_odd = _reflected(w, abs(x))
    # gamma(-a) * gamma(a) = -pi / (a * sin(pi * a))
    below = -p / (a * sine)
    below = w.select(is_odd, -below, below)
    factor = w.select(is_negative, below + below * (p_low / p), (1.0 - p_low / p) / p)
    y = power_of_sum(w, w.select(is_negative, -high, high), w.select(is_negative, -low, low), factor)
    y = w.select(a < 2.0**-60, 1.0 / x, y)
    y = w.select(is_negative & r.equals(0.0) & (a > 0.5), float("nan"), y)
    y = w.select(x.equals(_INFINITY), _INFINITY, y)
    return w.select((x.equals(-_INFINITY)) | x.is_nan(), float("nan"), y)


def lgamma(w: Writer, x: Value) -> Value:
    """Logarithm of the absolute gamma function."""
    if not w.is_double:
        with w.widened():
            return lgamma(w, x.to("double")).to("float")
    a = abs(x)
    is_tiny = a < 2.0**-60
    is_large = a > 2.0**60
    held = w.select(is_tiny, 2.0**-60, w.select(is_large, 2.0**60, a))
    high, low, p, p_low = _stirling(w, held)
    p_high, p_rest = binary_logarithm(w, p)
    high, error = w.two_sum(high, -p_high)
    low = low + (error - p_rest - (p_low / p) * w.constant("1/log(2)"))
    y = high * w.constant("log(2)") + (low * w.constant("log(2)") + high * w.constant("log(2) rest"))
    near_one, near_two = held - 1.0, held - 2.0
    y = w.select(abs(near_one) < 0.25, near_one * w.polynomial("lgamma 1", near_one) + 0.0, y)
    y = w.select(abs(near_two) < 0.25, near_two * w.polynomial("lgamma 2", near_two), y)
    y = w.select(is_large, a * (log(w, a) - 1.0), y)
    r, sine, _ = _reflected(w, a)
    is_negative = (x < 0.0) & ~is_tiny
    below = -log(w, a * abs(sine)) - y
    y = w.select(is_negative, below, y)
    y = w.select(is_tiny, -log(w, a), y)
    is_infinite = a.equals(_INFINITY) | (is_negative & r.equals(0.0))
    return w.select(is_infinite, _INFINITY, y)


def _tail(w: Writer, a: Value) -> Value:
    """Erfc of a number that is not negative."""
    limit = w.pick(28.0, 10.5)
    a = w.select(a > limit, limit, a)
    q = (a - 4.0) / (a + 4.0)
    square, error = w.two_product(a, a)
    return exponential(w, -square, low=-error, factor=w.polynomial("erfc", q) / (a + a + 1.0))


def erf(w: Writer, x: Value) -> Value:
    """Error function."""
    a = abs(x)
    near = w.product_and_sum(a, w.polynomial("erf", a * a), a)
    # From 6 on, erfc is less than half of what the last place of 1 is worth; it needs few exact bits below. Its eighth
    # root has as short a polynomial as its logarithm, and the power takes three products.
    y = w.select(a > 6.0, 6.0, a) - 1.0
    root = w.product_and_sum(y, w.polynomial("root of erfc", y), w.value(w.constant("root of erfc(1)")))
    square = root * root
    fourth = square * square
    far = w.product_and_sum(-fourth, fourth, w.value(1.0))
    return w.select(a < 1.0, near, far).with_sign_of(x)


def erfc(w: Writer, x: Value) -> Value:
    """Complementary error function, 1 - erf(x)."""
    a = abs(x)
    tail = _tail(w, a)
    return w.select(x < 0.0, 2.0 - tail, tail)
