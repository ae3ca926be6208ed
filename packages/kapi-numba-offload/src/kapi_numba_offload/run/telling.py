"""Warnings that stand at the author's line, each once, whichever part of this package finds what they tell."""

from __future__ import annotations

import warnings
from typing import Any

from kapi_sim.errors import KapiWarning

__all__ = ["ArrayIntegersWarning", "warn_at"]

_told: dict[str, dict[Any, Any]] = {}
"""For each file what `warnings` keeps of it; a module that is imported has such a record of its own."""


class ArrayIntegersWarning(KapiWarning):
    """An expression of integer arrays has other types than for Numba.

    Arrays have the types of NumPy 2: ``a + 1`` keeps the type of `a`, and wraps where it holds no more. For Numba, a
    Python integer makes such an expression one of 64 bits.
    """


def warn_at(warning: Warning, filename: str, line: int) -> None:
    """Warn at a line of the author's: by default once for each text and line."""
    warnings.warn_explicit(warning, type(warning), filename, line, registry=_told.setdefault(filename, {}))
