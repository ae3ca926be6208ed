"""Constant negative indices, which count from the end of an axis: ``a[-1]``, ``a[i, -2]``."""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.instrument.instrumented_function import Dependency
from kapi_sim.language.attributes import bound_names, dotted_path, resolve
from kapi_sim.memory.dialect import Dialect
from kapi_sim.memory.views import FromEnd

__all__ = ["with_indices_from_end"]

_MADE = "_kapi_from_end_"
_MAX_DEPTH = 6
"""Operations one in the other: kapi's compilers fold no more."""
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def with_indices_from_end(
    tree: ast.FunctionDef, function: Callable[..., Any], dialect: Dialect
) -> tuple[dict[str, Any], list[Dependency]]:
    """Mark the negative indices that the source itself says; a computed one that becomes negative is a mistake.

    - `tree`: the source of a function, changed in place.
    - `function`: whose globals and closure the names are looked up in.
    - `dialect`: in which it is written.

    Returns meanings of the new names in the source, and the global variables that decided.
    """
    marking = _Marking(tree, function, dialect)
    for statement in tree.body:
        marking.visit(statement)
    return marking.made, marking.dependencies


class _Marking(ast.NodeTransformer):
    def __init__(self, tree: ast.FunctionDef, function: Callable[..., Any], dialect: Dialect) -> None:
        self._function = function
        self._dialect = dialect
        self._local = bound_names(tree)
        self._once = _assigned_once(tree)
        self.made: dict[str, Any] = {}
        self.dependencies: list[Dependency] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._within(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._within(node)

    def _within(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        outer, self._local = self._local, self._local | bound_names(node)
        self.generic_visit(node)
        self._local = outer
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.Tuple):
            node.slice = self._marked(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        path = dotted_path(node.func)
        called = None if path is None or path[0] in self._local else resolve(self._function, path)
        keyword_name = self._dialect.index_keyword(called)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("load", "store") and self._dialect.is_strict:
            keyword_name = "index"  # of a vector; those of an AtomicRef take no second argument
        if keyword_name is not None:
            node.args[1:2] = map(self._marked, node.args[1:2])
            for keyword in node.keywords:
                if keyword.arg == keyword_name:
                    keyword.value = self._marked(keyword.value)
        return node

    def _marked(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            node.elts = [self._marked(each) for each in node.elts]
            return node
        if isinstance(node, ast.Name) and isinstance(made := self._once.get(node.id), ast.Tuple):
            return self._marked(copy.deepcopy(made)) if node.id in self._local else node
        if isinstance(members := self._outside(node), tuple) and all(map(self._is_integer, members)):
            return ast.copy_location(ast.Tuple([self._made(int(each), node) for each in members], ast.Load()), node)
        if isinstance(node, ast.IfExp) and not self._dialect.is_strict:
            node.body, node.orelse = self._marked(node.body), self._marked(node.orelse)
            return node
        value = self._constant(node)
        return node if value is None or value >= 0 else self._made(value, node)

    def _made(self, value: int, node: ast.expr) -> ast.expr:
        if value >= 0:
            return ast.copy_location(ast.Constant(value), node)
        name = f"{_MADE}{-value}"
        self.made[name] = FromEnd(value)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _constant(self, node: ast.expr, depth: int = _MAX_DEPTH) -> int | None:
        """Return the integer that an expression is in each work-item; `None` if it is computed."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and depth:
            value = self._constant(node.operand, depth - 1)
            return None if value is None else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS and depth:
            left, right = self._constant(node.left, depth - 1), self._constant(node.right, depth - 1)
            return None if left is None or right is None else _OPERATIONS[type(node.op)](left, right)
        if isinstance(node, ast.Name) and node.id in self._local:
            once = self._once.get(node.id)
            return None if once is None else self._constant(once)
        found: Any = node.value if isinstance(node, ast.Constant) else self._outside(node)
        return int(found) if self._is_integer(found) else None

    def _outside(self, node: ast.expr) -> Any:
        """Return the number or tuple that a name of the function's surroundings leads to; else `None`."""
        path = dotted_path(node)
        found = None if path is None or path[0] in self._local else resolve(self._function, path)
        if path is not None and isinstance(found, (int, np.integer, tuple)):
            self.dependencies.append((self._function, path, found))
            return found
        return None

    def _is_integer(self, value: object) -> bool:
        # To kapi's compilers a NumPy integer, as a member of an enumeration, is a value like a computed one.
        is_taken = type(value) is int if self._dialect.is_strict else isinstance(value, (int, np.integer))
        return is_taken and not isinstance(value, bool)


def _assigned_once(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the literals, negative ones among them, that variables hold from their only assignment on."""
    nodes = list(ast.walk(tree))
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    bound += [node.arg for node in nodes if isinstance(node, ast.arg)]
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            if bound.count(name) == 1 and all(
                map(_is_literal, value.elts if isinstance(value, ast.Tuple) else [value])
            ):
                found[name] = value
    return found


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
