"""Arrays of a work-group that does a whole loop, and what its lengths and indices must be for a launch.

Device memory for the arrays is there before the launch. So their lengths, and those of operands that have to be equal,
are expressions of what the loop is given.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.syntax import expression
from kapi_numba_offload.loops.body.launches.integer_expressions import evaluated

__all__ = ["GroupArrays", "MadeArray"]


@dataclass(frozen=True, slots=True)
class MadeArray:
    """An array that a group makes, and the texts of its lengths."""

    dtype: np.dtype[Any]
    lengths: tuple[str, ...]

    def shape(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape for such values of the variables that the loop is given."""
        return tuple(int(evaluated(each, values)) for each in self.lengths)


@dataclass(eq=False)
class GroupArrays:
    """The arrays that a group makes in a loop, and the conditions of its launches.

    - `given`: variables that the loop is given and does not assign.
    - `hoisted`: variables that are assigned before the loop, and their values.
    """

    given: Set[str]
    made: dict[str, MadeArray] = field(default_factory=dict)
    hoisted: dict[str, ast.expr] = field(default_factory=dict)
    _conditions: dict[str, None] = field(default_factory=dict)

    def make(self, name: str, dtype: np.dtype[Any], lengths: Sequence[ast.expr]) -> bool:
        """Make an array, or take the one of that name; whether it is such an array."""
        made = MadeArray(dtype, tuple(map(ast.unparse, lengths)))
        return self.made.setdefault(name, made) == made

    def meaning(self, text: str) -> ast.expr | None:
        """Meaning of a variable or extent of the loop; None if what the loop is given does not tell it."""
        name, _, axis = text.partition(".shape[")
        if axis and name in self.made:
            return expression(self.made[name].lengths[int(axis[:-1])])
        return self.hoisted.get(text, expression(text) if name in self.given else None)

    def require(self, text: str, **holes: ast.expr) -> None:
        """Require a condition of integers that the launch tells."""
        self._conditions[ast.unparse(expression(text, **holes))] = None

    def hold(self, values: Mapping[str, Any]) -> bool:
        """Whether all conditions hold for such values."""
        try:
            return all(evaluated(each, values) for each in self._conditions)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):  # such as of an index that is a float
            return False
