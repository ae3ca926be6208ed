"""Loops that only wait: they read until somebody else has written, and do nothing meanwhile."""

from __future__ import annotations

import ast

from kapi_sim.names import dotted_path

__all__ = ["only_waits"]

_QUIET = frozenset({"AtomicRef", "abs", "atomic_fence", "bool", "float", "int", "len", "load", "max", "min"})
"""The last part of the names of what such a loop may call."""
_EXPRESSIONS = (
    *(ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.Name),
    *(ast.Subscript, ast.Tuple, ast.UnaryOp, ast.keyword),
    *(ast.operator, ast.boolop, ast.cmpop, ast.unaryop, ast.expr_context),
)


def only_waits(loop: ast.While) -> bool:
    """Tell whether nothing but an atomic load of what others write can end a loop.

    Parameters
    ----------
    loop : ast.While
        As written.
    """
    parts: list[ast.AST] = [loop.test]
    assigned = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    fresh: set[str] = set()
    pending: list[ast.stmt] = list(reversed(loop.body))
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.If):
            parts.append(statement.test)
            pending += [*reversed(statement.orelse), *reversed(statement.body)]
        elif isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
            read = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
            # What a turn has from the turn before makes the loop go on by itself.
            if read & (assigned - fresh):
                return False
            fresh |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
            parts.append(statement.value)
        elif isinstance(statement, ast.Expr):
            parts.append(statement.value)
        elif not isinstance(statement, (ast.Pass, ast.Break, ast.Continue)):
            return False
    nodes = [node for part in parts for node in ast.walk(part)]
    called = [_last_name(node.func) for node in nodes if isinstance(node, ast.Call)]
    # Queries of the index space are quiet, too.
    is_quiet = all(isinstance(node, _EXPRESSIONS) for node in nodes) and all(
        name in _QUIET or name.startswith("get_") for name in called
    )
    return is_quiet and not loop.orelse and "load" in called


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    path = dotted_path(node)
    return "" if path is None else path[-1]
