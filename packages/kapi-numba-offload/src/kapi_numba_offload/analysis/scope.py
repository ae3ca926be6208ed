"""Scope of a function: values of globals, closure, builtins, and attributes of modules."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = ["UNKNOWN", "Scope"]


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Any = _Unknown()
"""The meaning of a name that is known only when the function runs."""


class Scope:
    """The names of one function; Numba takes globals and closures for constants, and so does this."""

    def __init__(self, function: Callable[..., Any], definition: ast.FunctionDef) -> None:
        code = function.__code__
        self.closure: dict[str, Any] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:  # a local function that calls itself, not bound yet
                continue
        self.globals = function.__globals__
        self.parameters = _parameters(definition.args)
        self.locals = set(self.parameters)
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                self.locals.add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not definition:
                self.locals.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self.locals |= {(each.asname or each.name).split(".")[0] for each in node.names}

    def with_outside(self, outside: Mapping[str, Any]) -> Scope:
        """The same, and further names with what they stand for."""
        made = copy.copy(self)
        made.closure = {**self.closure, **outside}
        made.locals = self.locals - outside.keys()
        return made

    def is_range(self, node: ast.expr) -> bool:
        """Whether an expression is a call of `range` or of `numba.prange`."""
        function = self.value(node.func) if isinstance(node, ast.Call) else UNKNOWN
        return getattr(function, "__name__", "") in ("range", "prange")

    def value(self, node: ast.expr) -> Any:
        """Value of an expression, if that is known before the function runs; else `UNKNOWN`."""
        if isinstance(node, ast.Name):
            if node.id in self.locals:
                return UNKNOWN
            for scope in (self.closure, self.globals, vars(builtins)):
                if node.id in scope:
                    return scope[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if isinstance(owner, ModuleType):
                return getattr(owner, node.attr, UNKNOWN)
        return UNKNOWN


def _parameters(arguments: ast.arguments) -> list[str]:
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return names + [each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None]
