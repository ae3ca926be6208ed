"""What the values of index expressions are never below, as far as it is known when a loop's kernel is made."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kapi_numba_offload.analysis.names import UNKNOWN, Names

__all__ = ["LowerBounds"]


class LowerBounds:
    """Lower bounds of a loop's integers: an index that is never negative needs no wrapping.

    Parameters
    ----------
    names : Names
        What the function's names mean.
    known : mapping of str to int
        Variables that are never below a number.

    Attributes
    ----------
    assigned_once : set of str
        Variables that have one assignment in the loop.
    """

    def __init__(self, names: Names, known: Mapping[str, int]) -> None:
        self._names = names
        self._lower = dict(known)
        self.assigned_once: set[str] = set()

    def take_assignment(self, name: str, value: ast.expr) -> None:
        """Note what is known of a variable that is assigned a value."""
        low = self.of(value) if name in self.assigned_once else None
        if low is not None:
            self._lower[name] = low

    def take_counter(self, name: str) -> None:
        """Note that a variable counts from 0."""
        self._lower[name] = 0

    def take_loop(self, node: ast.For) -> None:
        """Note what is known of the variable of a loop."""
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            return
        args = node.iter.args
        step = args[2].value if len(args) == 3 and isinstance(args[2], ast.Constant) else 1 if len(args) < 3 else None
        if isinstance(step, int) and step > 0 and node.target.id in self.assigned_once:
            low = 0 if len(args) == 1 else self.of(args[0])
            if low is not None:
                self._lower[node.target.id] = low

    def of(self, node: ast.expr) -> int | None:
        """A number that the value is never below, None if none is known."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.Name):
            value = self._names.value(node)
            return self._lower.get(node.id) if value is UNKNOWN else value if type(value) is int else None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return 0
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("len", "abs", "max"):
            lows = [self.of(each) for each in node.args]
            known = [each for each in lows if each is not None]
            return 0 if node.func.id != "max" else max(known) if known else None
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Sub):
            constant = node.right.value if isinstance(node.right, ast.Constant) else None
            return left - constant if left is not None and type(constant) is int else None
        if isinstance(node.op, ast.Mod):
            return 0 if right is not None and right >= 0 else None
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, (ast.Mult, ast.FloorDiv)) and left >= 0 and right >= 0:
            return 0
        return None
