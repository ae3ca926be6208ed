"""Small questions about syntax: literals, roots and indices of subscripts, conjuncts, targets, variables."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TypeVar

__all__ = [
    "conjuncts", "indices_of", "integer_literal", "located", "names_in", "nodes_in", "root_variable", "targets_of",
]  # fmt: skip

_Node = TypeVar("_Node", bound=ast.AST)


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


def located(made: _Node, source: ast.AST) -> _Node:
    """A new node, at the source location of another one with all its parts."""
    return ast.fix_missing_locations(ast.copy_location(made, source))
