"""Constant negative indices, which numba.cuda counts from the end of an axis: ``a[-1]``, ``a[i, -2]``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.attributes import bound_names, dotted_path, resolve
from kapi_sim.numba_cuda.values.views import FromEnd

__all__ = ["with_indices_from_end"]

_MADE = "_kapi_from_end_"
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def with_indices_from_end(tree: ast.FunctionDef, function: FunctionType) -> dict[str, Any]:
    """Mark the negative indices that the source itself says; a computed one that turns negative is a mistake.

    Parameters
    ----------
    tree : ast.FunctionDef
        The source of a function, changed in place.
    function : function
        Whose globals and closure the names are looked up in.

    Returns
    -------
    dict of str to object
        What the new names in the source stand for.
    """
    marking = _Marking(tree, function)
    for statement in tree.body:
        marking.visit(statement)
    return marking.made


class _Marking(ast.NodeTransformer):
    def __init__(self, tree: ast.FunctionDef, function: FunctionType) -> None:
        self._function = function
        self._local = bound_names(tree)
        self._once = _assigned_once(tree)
        self.made: dict[str, Any] = {}

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        node.slice = self._marked(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        path = dotted_path(node.func)
        word = None if path is None or path[0] in self._local else resolve(self._function, path)
        if isinstance(word, DialectIntrinsic) and word.is_atomic:
            node.args[1:2] = map(self._marked, node.args[1:2])
            for keyword in node.keywords:
                if keyword.arg == "idx":
                    keyword.value = self._marked(keyword.value)
        return node

    def _marked(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            node.elts = [self._marked(each) for each in node.elts]
            return node
        if isinstance(node, ast.IfExp):
            node.body, node.orelse = self._marked(node.body), self._marked(node.orelse)
            return node
        value = self._constant(node)
        if value is None or value >= 0:
            return node
        name = f"{_MADE}{-value}"
        self.made[name] = FromEnd(value)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _constant(self, node: ast.expr) -> int | None:
        """Return the integer that an expression is in each thread; `None` if it is computed."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._constant(node.operand)
            return None if value is None else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self._constant(node.left), self._constant(node.right)
            return None if left is None or right is None else _OPERATIONS[type(node.op)](left, right)
        if isinstance(node, ast.Constant):
            return _integer(node.value)
        if isinstance(node, ast.Name) and node.id in self._local:
            once = self._once.get(node.id)
            return None if once is None else self._constant(once)
        path = dotted_path(node)
        return None if path is None or path[0] in self._local else _integer(resolve(self._function, path))


def _integer(value: object) -> int | None:
    return int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


def _assigned_once(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the literals, negative ones among them, that variables hold from their only assignment on."""
    nodes = list(ast.walk(tree))
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    bound += [node.arg for node in nodes if isinstance(node, ast.arg)]
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            literal = value.operand if isinstance(value, ast.UnaryOp) else value
            if bound.count(name) == 1 and isinstance(literal, ast.Constant):
                found[name] = value
    return found
