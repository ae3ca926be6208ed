"""Logarithms: the exponent, and a series of the mantissa's inverse hyperbolic tangent.

References
----------
K. C. Ng, "log(x) and its error analysis", in the notes of 4.3 BSD, 1986: the order of the terms.
"""

from __future__ import annotations

from .writer import Value, Writer

__all__ = ["log", "log1p", "log1p_of", "log2", "log10", "mantissa_and_exponent"]


def mantissa_and_exponent(w: Writer, x: Value) -> tuple[Value, Value]:
    """The m and k of a positive number m * 2**k, where m is from sqrt(1/2) to sqrt(2)."""
    is_double = x.type == "double"
    mantissa, bias, tiny = (52, 1023, -1022) if is_double else (23, 127, -126)
    is_subnormal = x < 2.0**tiny
    scale = mantissa + 2
    x = w.select(is_subnormal, x * 2.0**scale, x)
    start = w.bits_of(w.constant("sqrt(1/2)", x.type), x.type)
    shifted = x.bits() + (w.bits_of(1.0, x.type) - start)
    m = ((shifted & ((1 << mantissa) - 1)) + start).as_float()
    integer = 2.0**mantissa
    k = ((shifted >> mantissa) | w.bits_of(integer, x.type)).as_float() - w.select(
        is_subnormal, w.value(integer + bias + scale, x.type), integer + bias
    )
    return m, k


def _series(w: Writer, f: Value) -> tuple[Value, Value]:
    """The h and r with log(1 + f) = f - h + r."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return half, s * w.product_and_sum(z, w.polynomial("log", z), half)


def _specials(w: Writer, x: Value, y: Value) -> Value:
    y = w.select(x < float("inf"), y, x)  # of nan, too
    return w.select(x <= 0.0, w.select(x < 0.0, w.value(float("nan")), -float("inf")), y)


def log(w: Writer, x: Value) -> Value:
    """Natural logarithm."""
    m, k = mantissa_and_exponent(w, x)
    f = m - 1.0
    half, r = _series(w, f)
    rest = f - (half - w.product_and_sum(k, w.constant("log(2) low"), r))
    y = w.product_and_sum(k, w.constant("log(2) high"), rest)
    return _specials(w, x, y)


def log1p_of(w: Writer, x: Value, doubled: Value | None = None) -> Value:
    """log(1 + x) of a finite x above -1, plus log(2) where `doubled` holds."""
    u = x + 1.0
    m, k = mantissa_and_exponent(w, u)
    c = w.select(k >= 2.0, 1.0 - (u - x), x - (u - 1.0)) / u
    is_near = (x > -0.29) & (x < 0.41)
    f = w.select(is_near, x, m - 1.0)
    c = w.select(is_near, 0.0, c)
    k = w.select(is_near, 0.0, k)
    if doubled is not None:
        k = w.select(doubled, k + 1.0, k)
    half, r = _series(w, f)
    rest = f - (half - (r + w.product_and_sum(k, w.constant("log(2) low"), c)))
    return w.product_and_sum(k, w.constant("log(2) high"), rest)


def log1p(w: Writer, x: Value) -> Value:
    """log(1 + x)."""
    y = log1p_of(w, x).with_sign_of(x)
    y = w.select(x.equals(float("inf")), x, y)
    y = w.select(x.equals(-1.0), -float("inf"), y)
    y = w.select(x < -1.0, float("nan"), y)
    return w.select(x.is_nan(), x, y)


def _parts(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """The k, high and low with log(x) = k * log(2) + high + low, where `high` has few bits."""
    m, k = mantissa_and_exponent(w, x)
    f = m - 1.0
    half, r = _series(w, f)
    mask = -(1 << 32) if w.is_double else -(1 << 12)
    high = ((f - half).bits() & mask).as_float()
    return k, high, ((f - high) - half) + r


def log2(w: Writer, x: Value) -> Value:
    """Logarithm to base 2."""
    k, high, low = _parts(w, x)
    factor, rest = w.constant("1/log(2) high"), w.constant("1/log(2) low")
    y, error = w.fast_two_sum(k, high * factor)
    return _specials(w, x, y + (error + ((low + high) * rest + low * factor)))


def log10(w: Writer, x: Value) -> Value:
    """Logarithm to base 10."""
    k, high, low = _parts(w, x)
    factor, rest = w.constant("1/log(10) high"), w.constant("1/log(10) low")
    y, error = w.fast_two_sum(k * w.constant("log10(2) high"), high * factor)
    small = k * w.constant("log10(2) low") + ((low + high) * rest + low * factor)
    return _specials(w, x, y + (error + small))
