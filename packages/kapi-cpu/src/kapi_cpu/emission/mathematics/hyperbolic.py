"""Hyperbolic functions and their inverses, by exponentials and logarithms."""

from __future__ import annotations

from .exponential import expm1, exponential
from .logarithm import log1p_of
from .writer import Value, Writer

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]


def sinh(w: Writer, x: Value) -> Value:
    """Hyperbolic sine."""
    a, z = abs(x), x * x
    half = exponential(w, a, factor=w.value(0.5))
    y = w.select(a < 1.0, w.product_and_sum(a * z, w.polynomial("sinh", z), a), half - 0.25 / half)
    return y.with_sign_of(x)


def cosh(w: Writer, x: Value) -> Value:
    """Hyperbolic cosine."""
    half = exponential(w, abs(x), factor=w.value(0.5))
    return half + 0.25 / half


def tanh(w: Writer, x: Value) -> Value:
    """Hyperbolic tangent."""
    a = abs(x)
    limit = w.pick(22.0, 12.0)
    e = expm1(w, w.select(a > limit, limit, a) * 2.0)
    return (e / (e + 2.0)).with_sign_of(x)


def asinh(w: Writer, x: Value) -> Value:
    """Inverse hyperbolic sine."""
    a = abs(x)
    is_large = a > w.pick(2.0**500, 2.0**60)
    z = a * a
    near = a + z / (w.intrinsic("sqrt", z + 1.0) + 1.0)
    y = log1p_of(w, w.select(is_large, a, near), is_large)
    return w.select(a < float("inf"), y, a).with_sign_of(x)


def acosh(w: Writer, x: Value) -> Value:
    """Inverse hyperbolic cosine."""
    is_large = x > w.pick(2.0**500, 2.0**60)
    t = x - 1.0
    near = t + w.intrinsic("sqrt", t * (t + 2.0))
    y = log1p_of(w, w.select(is_large, x, near), is_large)
    y = w.select(x.equals(float("inf")), x, y)
    return w.select(x >= 1.0, y, float("nan"))


def atanh(w: Writer, x: Value) -> Value:
    """Inverse hyperbolic tangent."""
    a = abs(x)
    doubled = a + a
    t = w.select(a < 0.5, doubled + doubled * a / (1.0 - a), doubled / (1.0 - a))
    y = log1p_of(w, t) * 0.5
    y = w.select(a.equals(1.0), float("inf"), y)
    return w.select(a <= 1.0, y, float("nan")).with_sign_of(x)
