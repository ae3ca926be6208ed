"""The error function and its complement.

References
----------
M. M. Shepherd, J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < oo", 1981.
"""

from __future__ import annotations

from .exponential import exponential
from .writer import Value, Writer

__all__ = ["erf", "erfc"]


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
    near = a + a * w.polynomial("erf", a * a)
    return w.select(a < 1.0, near, 1.0 - _tail(w, a)).with_sign_of(x)


def erfc(w: Writer, x: Value) -> Value:
    """Complementary error function, 1 - erf(x)."""
    a = abs(x)
    tail = _tail(w, a)
    return w.select(x < 0.0, 2.0 - tail, tail)
