"""Arrays of a work-group that does a whole loop, and what its lengths and indices must be for a launch.

Device memory for the arrays is there before the launch. So their lengths, and those of operands that have to be equal,
are expressions of what the loop is given.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.syntax import expression
from kapi_types.kernel_typing.library import index_functions

__all__ = ["FUNCTIONS", "GroupArrays", "MadeArray", "Resolved"]

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
        return tuple(int(_evaluated(compile(each, "<length>", "eval"), values)) for each in self.lengths)


@dataclass(eq=False)
class GroupArrays:
    """The arrays that a group makes in a loop, and the conditions of its launches.

    - `given`: variables that the loop is given and does not assign.
    - `made`: the arrays, by name.
    - `hoisted`: variables that are assigned before the loop, and their values.
    """

    given: Set[str]
    made: dict[str, MadeArray] = field(default_factory=dict)
    hoisted: dict[str, ast.expr] = field(default_factory=dict)
    _conditions: dict[str, CodeType] = field(default_factory=dict)

    def make(self, name: str, dtype: np.dtype[Any], lengths: Sequence[ast.expr]) -> bool:
        """Make an array, or take the one of that name; whether it is such an array."""
        made = MadeArray(dtype, tuple(map(ast.unparse, lengths)))
        return self.made.setdefault(name, made) == made

    def invariant(self, node: ast.expr) -> ast.expr | None:
        """An integer of the lowered loop as an expression of what it is given; None if that does not tell it."""
        resolved = Resolved(self, self.hoisted.get, {})
        made = resolved.of(node)
        return made if resolved.is_invariant else None

    def require(self, text: str, **holes: ast.expr) -> None:
        """Require a condition of integers that the launch tells."""
        made = ast.unparse(expression(text, **holes))
        self._conditions.setdefault(made, compile(made, "<condition>", "eval"))

    def hold(self, values: Mapping[str, Any]) -> bool:
        """Whether all conditions hold for such values."""
        try:
            return all(_evaluated(each, values) for each in self._conditions.values())
        except (TypeError, ValueError, IndexError):  # such as of an index that is a float
            return False


class Resolved(ast.NodeTransformer):
    """Expressions of what a loop is given, instead of variables that the author has not.

    - `value_of`: the one value of such a variable; None for other ones.
    - `assigned`: how often the loop assigns each variable.
    - `is_invariant`: whether all expressions are told by what the loop is given.
    """

    def __init__(
        self, group: GroupArrays, value_of: Callable[[str], ast.expr | None], assigned: Mapping[str, int]
    ) -> None:
        self._group, self._value_of, self._assigned, self.is_invariant = group, value_of, assigned, True

    def of(self, node: ast.expr) -> ast.expr:
        """The expression, as far as it is told."""
        made: ast.expr = self.visit(copy.deepcopy(node))
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._value_of(node.id)
        if value is not None:
            return self.of(value)
        is_given = node.id in self._group.given and not self._assigned.get(node.id)
        self.is_invariant &= is_given or node.id in FUNCTIONS
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(axis))):
                made = self._group.made.get(name)
                if made is not None:
                    return ast.parse(made.lengths[axis], mode="eval").body
                self.is_invariant &= name in self._group.given  # an array, which stays one when it is updated
            case _:
                self.is_invariant = False  # an element
        return node


def _evaluated(code: CodeType, values: Mapping[str, Any]) -> Any:
    return eval(code, {"__builtins__": {}, **FUNCTIONS}, dict(values))
