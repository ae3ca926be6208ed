"""Local functions and lambdas where a kernel cannot have them: a name has one of them, defined before its calls."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.language.attributes import bound_names, dotted_path, resolve
from kapi_sim.language.intrinsics.operators import OPERATORS
from kapi_sim.language.launchables.device_function import DeviceFunction

__all__ = ["FUNCTION_PASSED", "misplaced_functions"]

FUNCTION_PASSED = Finding("function-passed", "a kernel cannot pass a function as a value: call it where it is defined")
_ORDER = Finding("local-function-order", "a local function cannot call itself, or be used before it is defined")


def misplaced_functions(tree: ast.FunctionDef, function: Callable[..., Any]) -> list[tuple[int, Finding]]:
    """Return what is wrong with where a kernel's functions stand, with the lines.

    Parameters
    ----------
    tree : ast.FunctionDef
        The kernel, or a function that it calls.
    function : function
        Whose globals and closure the names are looked up in.
    """
    local = bound_names(tree)
    made = dict(_made(tree))
    names = {name for locations in made.values() for name in locations}
    found = [
        (node.lineno, FUNCTION_PASSED)
        for node in ast.walk(tree)
        if isinstance(node, (ast.expr, ast.stmt)) and _has_function_as_value(node, names, local, function)
    ]
    found += [(node.lineno, FUNCTION_PASSED) for node in _of_several_paths(tree, names)]
    found += [(node.lineno, _ORDER) for node in _too_early(tree, list(made), local)]
    return found


def _made(tree: ast.FunctionDef) -> Iterator[tuple[ast.FunctionDef | ast.Lambda, list[str]]]:
    """Each local function, and the names that it has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node is not tree:
            yield node, [node.name]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            yield node.value, [each.id for each in node.targets if isinstance(each, ast.Name)]
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and isinstance(node.value, ast.Lambda):
            yield node.value, [node.target.id] if isinstance(node.target, ast.Name) else []


def _has_function_as_value(node: ast.AST, names: set[str], local: set[str], function: Callable[..., Any]) -> bool:
    def is_made(part: ast.AST) -> bool:
        return isinstance(part, ast.Lambda) or (isinstance(part, ast.Name) and part.id in names)

    def is_function(part: ast.AST) -> bool:
        path = dotted_path(part) if isinstance(part, ast.expr) else None
        return is_made(part) or (path is not None and path[0] not in local and _is_called(resolve(function, path)))

    match node:
        case ast.Call():
            given = [*node.args, *(each.value for each in node.keywords)]
            return not is_made(node.func) and any(map(is_made, given))
        case ast.IfExp():
            return is_function(node.body) or is_function(node.orelse)
        case ast.For():
            return isinstance(node.iter, ast.Tuple) and any(map(is_function, node.iter.elts))
        case ast.Assign():
            if isinstance(node.value, ast.Tuple) and not all(isinstance(each, ast.Tuple) for each in node.targets):
                return any(map(is_made, node.value.elts))
            return len(node.targets) > 1 and is_made(node.value)
        case ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.UnaryOp() | ast.Subscript():
            parts = [*ast.iter_child_nodes(node)]
            parts += [each for part in parts if isinstance(part, ast.Tuple) for each in part.elts]
            return any(map(is_made, parts))
    return False


def _is_called(value: Any) -> bool:
    """Whether a value from outside is a function, and no operator of kapi's: a group algorithm is given one."""
    kinds = (DeviceFunction, FunctionType, BuiltinFunctionType, type, np.ufunc)
    return isinstance(value, kinds) and all(value is not row.function for row in OPERATORS)


def _of_several_paths(tree: ast.FunctionDef, names: set[str]) -> Iterator[ast.stmt]:
    """The statements by which one name gets a function where it has another one on another path."""
    locations: defaultdict[str, dict[int, ast.stmt]] = defaultdict(dict)
    for node in ast.walk(tree):
        for block in (getattr(node, field, None) for field in ("body", "orelse", "finalbody")):
            for statement in block if isinstance(block, list) else ():
                for name in _given(statement) & names:
                    locations[name].setdefault(id(block), statement)
    for statements in locations.values():
        if len(statements) > 1:
            yield list(statements.values())[-1]


def _given(statement: ast.stmt) -> set[str]:
    """The names that a statement gives a value."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {each.id for each in statement.targets if isinstance(each, ast.Name)}
    return set()


def _too_early(
    tree: ast.FunctionDef, made: list[ast.FunctionDef | ast.Lambda], local: set[str]
) -> Iterator[ast.FunctionDef | ast.Lambda]:
    """The functions that use a variable which gets its first value after them."""
    inner = {id(part) for each in made for part in ast.walk(each) if part is not each}
    first: dict[str, tuple[int, int]] = {}
    for node in ast.walk(tree):
        if node is tree or id(node) in inner:
            continue  # what a local function binds is its own
        if isinstance(node, ast.FunctionDef):
            stored = {node.name: (node.lineno, node.col_offset)}
        else:
            # A statement gives values when it has worked them out, and a loop before its body.
            end = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
            parts = [node.target] if isinstance(node, ast.For) else [node] if _is_assignment(node) else []
            stored = {
                each.id: (each.lineno, each.col_offset) if isinstance(node, ast.For) else end
                for part in parts
                for each in ast.walk(part)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
        for name, location in stored.items():
            first[name] = min(location, first.get(name, location))
    for each in made:
        start = (each.lineno, each.col_offset)
        if id(each) not in inner and any(first.get(name, (0, 0)) >= start for name in _free(each) & local):
            yield each


def _is_assignment(node: ast.AST) -> bool:
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr))


def _free(made: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names that a local function takes from outside."""
    names: set[str] = set()
    pending: list[ast.AST] = [*made.body] if isinstance(made, ast.FunctionDef) else [made.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            names |= _free(node)
            pending.extend(node.args.defaults)
        else:
            names |= {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set()
            pending.extend(ast.iter_child_nodes(node))
    return names - bound_names(made)
