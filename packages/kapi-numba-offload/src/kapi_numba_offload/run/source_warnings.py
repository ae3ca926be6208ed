"""Warnings at the user's source line, each issued once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from kapi_sim.errors import KapiWarning

__all__ = ["ArrayIntegersWarning", "in_authors_file", "made_of", "warn_at"]

_authors: dict[str, tuple[str, int]] = {}
"""For names of what stands for files, file and line of the user's function that they were made of."""

_registries: dict[str, dict[Any, Any]] = {}
"""For each file what `warnings` keeps of it; a module that is imported has such a record of its own."""


class ArrayIntegersWarning(KapiWarning):
    """An expression of integer arrays has other types than for Numba.

    Arrays have the types of NumPy 2: ``a + 1`` keeps the type of `a`, and wraps where it holds no more. For Numba, a
    Python integer makes such an expression one of 64 bits.
    """


def made_of(name: str, function: Callable[..., Any]) -> None:
    """Note that what stands for a file of that name was made of a user function."""
    _authors[name] = function.__code__.co_filename, function.__code__.co_firstlineno


def in_authors_file(filename: str, line: int) -> tuple[str, int]:
    """File and line of the user's for a line of code."""
    return _authors.get(filename, (filename, line))


def warn_at(warning: Warning, filename: str, line: int) -> None:
    """Warn at a line of the user's: by default once for each text and line."""
    warnings.warn_explicit(warning, type(warning), filename, line, registry=_registries.setdefault(filename, {}))
