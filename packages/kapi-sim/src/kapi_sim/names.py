"""What the names in a function's source stand for, without running the function."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from kapi_sim.device_function import DeviceFunction

__all__ = ["MISSING", "bound_names", "called_function", "dotted_path", "resolve"]

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<not defined>"})()
"""Stands for an object that a name does not lead to."""


def called_function(value: object) -> Callable[..., Any] | None:
    """Return the Python function that a kernel runs when it calls `value`; `None` if it runs none.

    A function that is not decorated is one like a device function, as it is for the compiler.  What
    kapi, NumPy and the standard library define is not the user's, and runs as it is.
    """
    if isinstance(value, DeviceFunction):
        function: Callable[..., Any] = value.py_func
        return function
    if not isinstance(value, FunctionType):
        return None
    package = (value.__module__ or "").partition(".")[0]
    is_foreign = package in ("kapi_sim", "numpy") or package in sys.stdlib_module_names - {"__main__"}
    return None if is_foreign and not (value.__module__ or "").startswith("kapi_sim.testing.") else value


def dotted_path(node: ast.AST) -> tuple[str, ...] | None:
    """Return ``("kapi", "group_barrier")`` for ``kapi.group_barrier``, `None` for other expressions."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else None


def resolve(function: Callable[..., Any], path: tuple[str, ...]) -> Any:
    """Return what `path` means in the closure, globals or builtins of `function`, else `MISSING`.

    Only attributes of modules are followed: others may have effects.
    """
    name, *attributes = path
    code = function.__code__
    value = MISSING
    if name in code.co_freevars and function.__closure__ is not None:
        try:
            value = function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:
            return MISSING
    elif name in function.__globals__:
        value = function.__globals__[name]
    else:
        value = getattr(builtins, name, MISSING)
    for attribute in attributes:
        if not isinstance(value, ModuleType):
            return MISSING
        value = getattr(value, attribute, MISSING)
    return value


def bound_names(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Return the names that are local to `function`: its parameters and all that its body binds."""
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    pending: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    foreign: set[str] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            foreign |= set(node.names)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif not isinstance(node, ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return names - foreign
