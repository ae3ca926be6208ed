"""Arrays of a work-group that does a whole loop, and what its lengths and indices must be for a launch.

Device memory for the arrays is there before the launch. So their lengths, and those of operands that have to be equal,
are expressions of what the loop is given.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from kapi_types.kernel_typing.library import index_functions

__all__ = ["FUNCTIONS", "GroupArrays", "MadeArray"]

FUNCTIONS: dict[str, Any] = {
    **{f"kapi_{name}": getattr(index_functions, name) for name in index_functions.__all__},
    "max": max, "min": min, "len": len, "abs": abs,
}  # fmt: skip
"""The functions of lengths and indices."""


@dataclass(frozen=True, slots=True)
class MadeArray:
    """An array that a group makes.

    - `lengths`: the texts of its lengths.
    """

    dtype: np.dtype[Any]
    lengths: tuple[str, ...]

    def shape(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape for such values of the variables that the loop is given."""
        return tuple(int(_told(compile(each, "<length>", "eval"), values)) for each in self.lengths)


@dataclass(eq=False)
class GroupArrays:
    """The arrays that a group makes in a loop, and the conditions of its launches.

    - `given`: variables that the loop is given and does not assign.
    - `made`: the arrays, by name.
    """

    given: Set[str]
    made: dict[str, MadeArray] = field(default_factory=dict)
    _conditions: dict[str, CodeType] = field(default_factory=dict)

    def make(self, name: str, dtype: np.dtype[Any], lengths: Sequence[ast.expr]) -> bool:
        """Make an array, or take the one of that name; whether it is such an array."""
        made = MadeArray(dtype, tuple(map(ast.unparse, lengths)))
        return self.made.setdefault(name, made) == made

    def require(self, text: str, **holes: ast.expr) -> None:
        """Require a condition of integers that the launch tells."""
        for name, each in holes.items():
            text = text.replace(name, f"({ast.unparse(each)})")
        self._conditions.setdefault(text, compile(text, "<condition>", "eval"))

    def hold(self, values: Mapping[str, Any]) -> bool:
        """Whether all conditions hold for such values."""
        try:
            return all(_told(each, values) for each in self._conditions.values())
        except (TypeError, ValueError, IndexError):  # such as of an index that is a float
            return False


def _told(code: CodeType, values: Mapping[str, Any]) -> Any:
    return eval(code, {"__builtins__": {}, **FUNCTIONS}, dict(values))
