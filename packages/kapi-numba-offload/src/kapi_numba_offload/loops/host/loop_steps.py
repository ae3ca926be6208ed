"""Steps of a loop: how many statements on arrays it will run, from its bounds and the values before it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

__all__ = ["LoopSteps", "bound"]

_UNCOUNTED = 16  # iterations of a loop whose bounds the values before it do not tell
_FUNCTIONS = {"len": len, "min": min, "max": max, "abs": abs, "int": int}
_PARTS = (
    ast.expr_context, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Subscript,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoopSteps:
    """The steps of a loop nest.

    Attributes
    ----------
    variable : str or None
        What it counts with.
    bounds : tuple of code, or None
        The arguments of `range`; None for other loops.
    statements : int
        Statements on arrays in its own body: each is a launch, or a call of the array library.
    inner : tuple of LoopSteps
        The other loops in its body.
    """

    variable: str | None
    bounds: tuple[CodeType, ...] | None
    statements: int
    inner: tuple[LoopSteps, ...]

    def count(self, values: Mapping[str, Any]) -> int:
        """The number of statements on arrays that a run has.

        A loop whose bounds depend on the variable of one around it counts as for the middle of its range.
        """
        iterations = self._iterations(values)
        if iterations is None:
            return _UNCOUNTED * self._in_iteration(values)
        if iterations and self.variable is not None:
            values = {**values, self.variable: iterations[len(iterations) // 2]}
        return len(iterations) * self._in_iteration(values) if iterations else 0

    def _in_iteration(self, values: Mapping[str, Any]) -> int:
        return self.statements + sum(each.count(values) for each in self.inner)

    def _iterations(self, values: Mapping[str, Any]) -> range | None:
        if self.bounds is None:
            return None
        try:
            return range(*(eval(each, {"__builtins__": _FUNCTIONS}, values) for each in self.bounds))
        except (ArithmeticError, LookupError, NameError, TypeError, ValueError):
            return None  # one that only the loop itself knows


class Extents:
    """The extents of an array, for the bounds of loops."""

    def __init__(self, array: Any) -> None:
        self.shape, self.size, self.ndim = array.shape, array.size, array.ndim

    def __len__(self) -> int:
        return int(self.shape[0])


def bound(node: ast.expr, constant: Callable[[ast.expr], Any]) -> CodeType | None:
    """The code of a bound that is computed from integers and the extents of arrays; None for any other.

    Parameters
    ----------
    node : ast.expr
        The bound.
    constant : callable
        The value of a name from outside of the function, given its node.
    """
    if not all(_is_part(each) for each in ast.walk(node)):
        return None
    made = ast.fix_missing_locations(ast.Expression(_Constants(constant).visit(node)))
    return compile(made, "<bound>", "eval")


def _is_part(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords
    if isinstance(node, ast.Attribute):
        return node.attr in ("shape", "size", "ndim")
    return isinstance(node, _PARTS) and not isinstance(node, ast.Pow)


class _Constants(ast.NodeTransformer):
    """Replaces the names of integers from outside of a function."""

    def __init__(self, constant: Callable[[ast.expr], Any]) -> None:
        self._constant = constant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._constant(node)
        return ast.copy_location(ast.Constant(value), node) if type(value) is int else node
