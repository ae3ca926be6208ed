"""Functions of `math` that kernels have on every Python, though an older one's module lacks them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

__all__ = ["BACKPORTS"]


def fma(x: float, y: float, z: float) -> float:
    """Return ``x * y + z``, rounded once, which Python has since 3.13.

    Examples
    --------
    >>> fma(0.1, 10, -1), 0.1 * 10 - 1
    (5.551115123125783e-17, 0.0)
    """
    x, y, z = float(x), float(y), float(z)
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


BACKPORTS: dict[tuple[str, str], Callable[..., Any]] = {("math", "fma"): fma}
"""What stands for a function of a module, by the names of both, where the module has none."""
