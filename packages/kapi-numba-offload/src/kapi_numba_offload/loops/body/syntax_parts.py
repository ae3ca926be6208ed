"""Small parts of syntax trees, made of text with holes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

__all__ = [
    "expression", "flat_index", "index_of", "nested_loops", "or_zero", "plus", "statements", "times", "variable",
]  # fmt: skip

Part = ast.expr | list[ast.stmt] | str | float
"""The filling of a hole of a text: an expression or statements, a variable by its name, or a number."""


def variable(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def index_of(at: Sequence[ast.expr]) -> ast.expr:
    """The index of a subscript: a tuple where it has several axes."""
    return at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())


def nested_loops(counters: Sequence[str], lengths: Sequence[ast.expr], body: list[ast.stmt]) -> ast.stmt:
    """Counted loops in each other, the first one outermost."""
    for counter, length in zip(reversed(counters), reversed(lengths), strict=True):
        body = statements("for AT in range(LENGTH):\n    BODY", AT=counter, LENGTH=length, BODY=body)
    return body[0]


def is_number(node: ast.expr, number: int) -> bool:
    """Whether an expression is this number."""
    return isinstance(node, ast.Constant) and node.value == number


def plus(left: ast.expr, right: ast.expr) -> ast.expr:
    """The sum; nothing is added to 0."""
    if is_number(left, 0):
        return right
    return left if is_number(right, 0) else ast.BinOp(copy.deepcopy(left), ast.Add(), right)


def times(left: ast.expr, right: ast.expr) -> ast.expr:
    """The product; nothing is multiplied by 1."""
    if is_number(left, 1):
        return right
    return left if is_number(right, 1) else ast.BinOp(left, ast.Mult(), copy.deepcopy(right))


def flat_index(at: Sequence[ast.expr], lengths: Sequence[ast.expr]) -> ast.expr:
    """The number in C order of the element at an index of axes of such lengths."""
    made: ast.expr = ast.Constant(0)
    for number, (index, length) in enumerate(zip(at, lengths, strict=True)):
        made = plus(times(made, length) if number else made, index)
    return made


def or_zero(index: ast.expr, length: ast.expr) -> ast.expr:
    """The index along an axis that may be one element that serves all."""
    return expression("AT if LENGTH > 1 else 0", AT=index, LENGTH=length)


def expression(text: str, **holes: Part) -> ast.expr:
    """An expression of a text with holes."""
    (statement,) = statements(text, **holes)
    assert isinstance(statement, ast.Expr)
    return statement.value


def statements(text: str, **holes: Part) -> list[ast.stmt]:
    """The statements of a text, whose capital names are holes; they have no locations, which are those of the call."""
    made = _Filled(holes).visit(_without_locations(ast.parse(text)))
    assert isinstance(made, ast.Module)
    return made.body


def _without_locations(node: ast.AST) -> ast.AST:
    for each in ast.walk(node):
        for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            each.__dict__.pop(field, None)
    return node


class _Filled(ast.NodeTransformer):
    def __init__(self, holes: dict[str, Part]) -> None:
        self._holes = holes

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        hole = self._holes.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return hole if isinstance(hole, list) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        hole = self._holes.get(node.id, node)
        if isinstance(hole, str):
            return ast.Name(hole, node.ctx)
        assert not isinstance(hole, list)
        return _without_locations(copy.deepcopy(hole)) if isinstance(hole, ast.AST) else ast.Constant(hole)
