"""Syntax: small questions about expressions and statements, and small parts that are made of text with holes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TypeVar

__all__ = [
    "COMPREHENSIONS", "Part", "assignment", "conjuncts", "expression", "flat_index", "index_of", "indices_of",
    "integer_literal", "is_number", "located", "mentions", "named_arguments", "names_in", "names_rows",
    "nested_loops", "nodes_in", "or_zero", "plus", "rewrite_blocks", "rewrite_expressions", "root_variable",
    "statements", "substituted", "targets_of", "times", "variable",
]  # fmt: skip

_Node = TypeVar("_Node", bound=ast.AST)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Classes of comprehensions and generators, whose variables are their own."""

Part = ast.expr | list[ast.stmt] | str | float
"""The filling of a hole of a text: an expression or statements, a variable by its name, or a number."""


def integer_literal(node: ast.expr) -> int | None:
    """The value of an integer literal, a negative one included; None for other expressions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = integer_literal(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def root_variable(node: ast.expr) -> str | None:
    """The variable of which a subscript or attribute is a part."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def conjuncts(test: ast.expr) -> list[ast.expr]:
    """The conditions that a condition is made of by `and`."""
    return list(test.values) if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def targets_of(node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For) -> list[ast.expr]:
    """The targets of an assignment or loop."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    """The index of each axis that a subscript has one for."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def nodes_in(statements: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes of the statements."""
    return [node for each in statements for node in ast.walk(each)]


def names_in(nodes: Iterable[ast.AST], *contexts: type[ast.expr_context]) -> list[str]:
    """The variable of each node that names one, in one of the contexts: `ast.Load`, `ast.Store` or `ast.Del`."""
    return [each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, contexts)]


def names_rows(node: ast.expr, ranks: Mapping[str, int], rows: Set[str]) -> bool:
    """Whether an expression may name an array or a part of one, of rank 1 or more.

    - `ranks`: the rank of each array.
    - `rows`: other variables that may be parts of arrays.
    """
    match node:
        case ast.Name(name):
            return name in rows or ranks.get(name, 0) > 0
        case ast.Attribute(value, "T"):
            return names_rows(value, ranks, rows)
        case ast.Subscript(value) if names_rows(value, ranks, rows):
            indices = indices_of(node)
            rank = ranks.get(value.id, 0) if isinstance(value, ast.Name) else 0
            return len(indices) < rank or any(isinstance(each, ast.Slice) for each in indices)
    return False


def mentions(node: ast.AST, names: Set[str]) -> bool:
    """Whether a node has one of the variables in it."""
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def located(made: _Node, source: ast.AST) -> _Node:
    """A new node, at the source location of another one with all its parts."""
    return ast.fix_missing_locations(ast.copy_location(made, source))


class _Substitution(ast.NodeTransformer):
    def __init__(self, meaning: Callable[[ast.Name], ast.expr | None]) -> None:
        self._meaning = meaning

    def visit_Name(self, node: ast.Name) -> ast.expr:
        made = self._meaning(node)
        return node if made is None else ast.copy_location(made, node)


def substituted(node: _Node, meaning: Callable[[ast.Name], ast.expr | None]) -> _Node:
    """A node with other expressions in place of its variables; where `meaning` gives None, one stays."""
    made: _Node = _Substitution(meaning).visit(node)
    return made


# ------------------------------------------------------------------------------------------------ small parts


def variable(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def assignment(name: str, value: ast.expr) -> ast.Assign:
    """A statement that assigns a variable."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def rewrite_expressions(node: ast.AST, rewritten: Callable[[ast.expr], ast.expr]) -> None:
    """Replace the expressions of a node, those in its statements left out."""
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            setattr(node, field, rewritten(value))
        elif isinstance(value, list):
            setattr(node, field, [rewritten(each) if isinstance(each, ast.expr) else each for each in value])


def rewrite_blocks(node: ast.stmt, rewritten: Callable[[list[ast.stmt]], list[ast.stmt]]) -> None:
    """Replace the blocks of a loop or a branch, as far as it has them."""
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if block and not isinstance(node, ast.FunctionDef):
            setattr(node, field, rewritten(block))


def named_arguments(
    call: ast.Call, parameters: Sequence[str], operands: Sequence[ast.expr] | None = None
) -> dict[str, ast.expr]:
    """The arguments of a call by the names of its parameters; `operands` are those by position, if not the call's."""
    given = zip(parameters, call.args if operands is None else operands, strict=False)
    return dict(given) | {str(each.arg): each.value for each in call.keywords}


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
