"""Small parts of syntax trees, made by name."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "attribute", "call_of", "counted_loop", "expression", "length_of", "nested_loops", "one", "or_zero", "plus",
    "statements", "times", "variable", "zero",
]  # fmt: skip


def variable(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def zero() -> ast.expr:
    """The number 0."""
    return ast.Constant(0)


def one() -> ast.expr:
    """The number 1."""
    return ast.Constant(1)


def length_of(array: str, axis: int) -> ast.expr:
    """The length of an array's axis."""
    return ast.Subscript(attribute(array, "shape"), ast.Constant(axis), ast.Load())


def attribute(owner: str, name: str) -> ast.expr:
    """`owner.name`."""
    return ast.Attribute(variable(owner), name, ast.Load())


def call_of(name: str, *args: ast.expr) -> ast.expr:
    """A call of a function by its name."""
    return ast.Call(variable(name), list(args), [])


def counted_loop(counter: str, length: ast.expr, body: list[ast.stmt], orelse: Iterable[ast.stmt] = ()) -> ast.For:
    """`for counter in range(length)`."""
    return ast.For(ast.Name(counter, ast.Store()), call_of("range", length), body, list(orelse))


def nested_loops(counters: Sequence[str], lengths: Sequence[ast.expr], body: list[ast.stmt]) -> ast.For:
    """Counted loops in each other, the first one outermost."""
    for counter, length in zip(reversed(counters), reversed(lengths), strict=True):
        body = [loop := counted_loop(counter, copy.deepcopy(length), body)]
    return loop


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


def or_zero(index: ast.expr, length: ast.expr) -> ast.expr:
    """The index along an axis that may be one element that serves all."""
    one = ast.Compare(copy.deepcopy(length), [ast.Gt()], [ast.Constant(1)])
    return ast.IfExp(one, index, zero())


def expression(text: str, holes: Mapping[str, ast.expr]) -> ast.expr:
    """An expression in which capital names are expressions."""
    (statement,) = statements(text, {}, holes)
    assert isinstance(statement, ast.Expr)
    return statement.value


def statements(text: str, names: Mapping[str, str], holes: Mapping[str, ast.expr]) -> list[ast.stmt]:
    """Statements in which capital names are variables of these names, or expressions."""
    made = [_Filled(names, holes).visit(each) for each in ast.parse(text).body]
    for statement in made:
        for each in ast.walk(statement):
            for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                each.__dict__.pop(field, None)  # they are reported at the line of the call
    return made


class _Filled(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], holes: Mapping[str, ast.expr]) -> None:
        self._names, self._holes = names, holes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._names:
            return ast.Name(self._names[node.id], node.ctx)
        return copy.deepcopy(self._holes[node.id]) if node.id in self._holes else node
