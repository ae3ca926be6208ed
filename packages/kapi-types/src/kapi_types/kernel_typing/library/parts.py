"""Names of the library's own, which a kernel's author does not need."""

from __future__ import annotations

from typing import Any

__all__ = ["ilogb", "make_complex"]


def make_complex(real: Any, imag: Any) -> Any:
    """Return the complex number of two floats, strong or weak as they are."""
    return complex(real, imag)


def ilogb(x: Any) -> Any:
    """Return the binary exponent of a finite float other than 0, as a weak int."""
    import math

    return math.frexp(x)[1] - 1
