"""Integers as expressions of what a launch gives: its own integers, and extents of its arrays."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from kapi_types.kernel_typing.library import index_functions

__all__ = ["FUNCTIONS", "Meaning", "evaluated", "is_extent", "resolve", "resolve_partly"]

_OF_PYTHON = SimpleNamespace(int64=int)  # NumPy's integers take ten times as long on the host
FUNCTIONS: dict[str, Any] = {
    "max": max, "min": min, "abs": abs,
    **{f"kapi_{name}": FunctionType(getattr(index_functions, name).__code__, {"np": _OF_PYTHON})
       for name in index_functions.__all__},
}  # fmt: skip
"""The functions of lengths and indices."""

Meaning = Callable[[str], ast.expr | None]
"""Meaning of a variable or extent, by its text: the same, where it is the launch's; None where that is unknown."""


def evaluated(text: str, values: Mapping[str, Any]) -> Any:
    """The value of an expression of what a launch gives."""
    return eval(_compiled(text), {"__builtins__": {}, **FUNCTIONS}, dict(values))


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    return compile(text, "<condition>", "eval")


def resolve(node: ast.expr, meaning: Meaning) -> ast.expr | None:
    """An integer as an expression of what the launch gives; None if that does not tell it."""
    resolver = _Resolver(meaning)
    made: ast.expr = resolver.visit(copy.deepcopy(node))
    return made if resolver.is_resolved else None


def resolve_partly(node: ast.expr, meaning: Meaning) -> ast.expr:
    """An integer as such an expression, as far as it is told."""
    made: ast.expr = _Resolver(meaning).visit(copy.deepcopy(node))
    return made


class _Resolver(ast.NodeTransformer):
    """Expressions of what a launch gives, instead of variables.

    - `is_resolved`: whether there are no other variables, and nothing but operations of integers.
    """

    def __init__(self, meaning: Meaning) -> None:
        self._meaning, self.is_resolved = meaning, True

    def _leaf(self, node: ast.expr, text: str) -> ast.expr:
        value = self._meaning(text)
        if value is None:
            self.is_resolved = False
            return node
        made: ast.expr = value if ast.unparse(value) == text else self.visit(copy.deepcopy(value))
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.is_resolved &= isinstance(node, _OPERATIONS)
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        self.is_resolved &= type(node.value) is int
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._leaf(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._leaf(node, ast.unparse(node))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if is_extent(node):
            return self._leaf(node, ast.unparse(node))
        self.is_resolved = False
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Name("len"), [ast.Name(name)], []):
                return self._leaf(node, f"{name}.shape[0]")
            case ast.Call(ast.Name(name), args, []) if name in FUNCTIONS:
                node.args = [self.visit(each) for each in args]
            case _:
                self.is_resolved = False
        return node


_OPERATIONS = (
    ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.cmpop, ast.expr_context,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub,
)  # fmt: skip


def is_extent(node: Any) -> bool:
    """Whether an expression is `a.shape[0]` or its like."""
    match node:
        case ast.Subscript(ast.Attribute(ast.Name(), "shape"), ast.Constant(int())):
            return True
    return False
