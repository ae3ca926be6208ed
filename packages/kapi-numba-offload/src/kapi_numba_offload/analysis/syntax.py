"""Small questions about syntax: literals, roots of subscripts, conjuncts, targets."""

from __future__ import annotations

import ast

__all__ = ["conjuncts", "integer_literal", "root_variable", "targets_of"]


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


def targets_of(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    """The targets of an assignment."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]
