"""Parts of arrays in the body of a loop: views, rows, and the index arithmetic that kernels do for them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["HELPERS", "FixedAxis", "FreeAxis", "Rows", "View"]


def wrapped_index(index: Any, length: Any) -> Any:
    """An index that may count from the end, from the start."""
    return index + length if index < 0 else index


def slice_bound(bound: Any, length: Any) -> Any:
    """A slice's bound, between 0 and the length."""
    counted = bound + length if bound < 0 else bound
    return max(0, min(counted, length))


def slice_length(start: Any, stop: Any, step: Any) -> Any:
    """How many elements a slice of positive step has."""
    return max(0, (stop - start + step - 1) // step)


HELPERS: dict[str, Any] = {
    "kapi_wrapped_index": wrapped_index,
    "kapi_slice_bound": slice_bound,
    "kapi_slice_length": slice_length,
}
"""Functions that the rewritten body calls."""


@dataclass(frozen=True, slots=True)
class FixedAxis:
    """An axis of an array at one index."""

    index: ast.expr


@dataclass(frozen=True, slots=True)
class FreeAxis:
    """An axis of an array, or a slice of it."""

    start: ast.expr
    step: ast.expr
    length: ast.expr


@dataclass(frozen=True, slots=True)
class View:
    """Part of an array."""

    array: str
    axes: tuple[FixedAxis | FreeAxis, ...]

    @property
    def free(self) -> list[FreeAxis]:
        """The axes that are not at one index."""
        return [each for each in self.axes if isinstance(each, FreeAxis)]


@dataclass(frozen=True, slots=True)
class Rows:
    """A value of rank 1 or more: the lengths of its axes, and its element at given indices."""

    lengths: tuple[ast.expr, ...]
    element: Callable[[Sequence[ast.expr]], ast.expr]
    arrays: frozenset[tuple[str, str]]  # array and text of the part of it
