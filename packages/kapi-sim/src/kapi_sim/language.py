"""What the kernel language does not have: the compiler refuses it, so the simulator does as well.

`print`, `assert`, `raise` and `breakpoint` are the simulator's own: a kernel may hold them while it is
looked into.  All problems of a kernel, and of the functions that it calls, are told at once.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.foreign import foreign_call, foreign_value
from kapi_sim.names import MISSING, bound_names, dotted_path, resolve

__all__ = ["find_problems"]

_PASSED = "a function that is passed around cannot be made in a kernel; call it where it is defined"
_LIST = "a list cannot be made in a kernel; use a tuple, LocalAccessor or array argument"
_STRING = "a string cannot be made in a kernel; print() takes texts and numbers one by one"
_COMPREHENSION = "a comprehension cannot be made in a kernel; write a loop"
_REFUSED: dict[type[ast.AST], str] = {
    ast.ListComp: _COMPREHENSION,
    ast.SetComp: _COMPREHENSION,
    ast.DictComp: _COMPREHENSION,
    ast.GeneratorExp: _COMPREHENSION,
    ast.Dict: "a dict cannot be made in a kernel",
    ast.Set: "a set cannot be made in a kernel",
    ast.JoinedStr: _STRING,
    ast.Yield: "a kernel must not yield or await",
    ast.YieldFrom: "a kernel must not yield or await",
    ast.Await: "a kernel must not yield or await",
    ast.Try: "a kernel cannot use try: nothing in it raises",
    ast.With: "a kernel cannot use with",
    ast.AsyncWith: "a kernel cannot use with",
    ast.AsyncFor: "a kernel must not yield or await",
    ast.AsyncFunctionDef: "a kernel must not yield or await",
    ast.Import: "a kernel cannot import: import above it",
    ast.ImportFrom: "a kernel cannot import: import above it",
    ast.ClassDef: "a class cannot be made in a kernel",
    ast.Global: "a kernel cannot change a global: write to an array",
    ast.Nonlocal: "a local function cannot change a variable of the kernel: return the value",
    ast.Delete: "a kernel cannot use del",
}
if hasattr(ast, "TryStar"):
    _REFUSED[ast.TryStar] = _REFUSED[ast.Try]
_LACKING: dict[type[ast.AST], str] = {
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.MatMult: "@",
}
_MADE_BY = {
    **dict.fromkeys(("list", "sorted"), _LIST),
    "dict": "a dict cannot be made in a kernel",
    **dict.fromkeys(("set", "frozenset"), "a set cannot be made in a kernel"),
    **dict.fromkeys(("str", "repr", "format", "bytes", "bytearray", "chr", "input"), _STRING),
}
_FREE = ("print", "breakpoint")
"""Calls that a kernel may make in the simulator only, whatever they are given."""


def find_problems(tree: ast.FunctionDef, function: Callable[..., Any], is_kernel: bool) -> list[str]:
    """Return what a kernel, or a function that it calls, may not contain: ``file:line: problem`` each.

    Parameters
    ----------
    tree : ast.FunctionDef
        The source as written.
    function : function
        Whose globals and closure the names are looked up in.
    is_kernel : bool
        Whether it must return nothing.
    """
    finder = _Finder(function, bound_names(tree))
    if is_kernel:
        finder.find_returns(tree)
    for statement in tree.body:
        finder.visit(statement)
    found = sorted(set(finder.found))
    return [f"{function.__code__.co_filename}:{line}: {text}" for line, text in found]


def _names_dtype(text: str) -> bool:
    found = getattr(np, text, None) if text.isidentifier() else None
    return isinstance(found, type) and issubclass(found, np.generic)


class _Finder(ast.NodeVisitor):
    def __init__(self, function: Callable[..., Any], local: set[str]) -> None:
        self._function = function
        self._scopes = [local]
        self.found: list[tuple[int, str]] = []

    def _add(self, node: ast.AST, text: str) -> None:
        self.found.append((getattr(node, "lineno", 0), text))

    def find_returns(self, tree: ast.FunctionDef) -> None:
        pending: list[ast.AST] = list(tree.body)
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                continue
            if isinstance(node, ast.Return) and not (
                node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
            ):
                self._add(node, "a kernel must return nothing, got a value: write it to an array")
            pending.extend(ast.iter_child_nodes(node))

    def visit(self, node: ast.AST) -> None:
        text = _REFUSED.get(type(node))
        if text is not None:
            self._add(node, text)
            # What such a construct holds is no mistake of its own, but a block's statements may be.
            for statement in (*getattr(node, "body", ()), *getattr(node, "finalbody", ())):
                if isinstance(statement, ast.stmt) and not isinstance(node, ast.ClassDef):
                    self.visit(statement)
            return
        super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """The simulator's own: its text may be anything."""

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scopes.append(bound_names(node))
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._scopes.append(bound_names(node))
        self.visit(node.body)
        self._scopes.pop()

    def visit_Name(self, node: ast.Name) -> None:
        text = foreign_value(node.id, self._found_outside(node))
        if text:
            self._add(node, text)

    def _found_outside(self, node: ast.AST) -> Any:
        """The object that a name of the kernel's module or closure leads to, or `MISSING`."""
        path = dotted_path(node)
        if path is None or any(path[0] in scope for scope in self._scopes):
            return MISSING
        return resolve(self._function, path)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_List(self, node: ast.List) -> None:
        if isinstance(node.ctx, ast.Load):
            self._add(node, _LIST)
        else:
            self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        if isinstance(node.ctx, ast.Store):
            self._add(node, "a list cannot be made in a kernel; name each element of the tuple")
        else:
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _names_dtype(node.value):
            self._add(node, f"dtype must be NumPy's type itself in a kernel, got a text; write np.{node.value}")
        elif isinstance(node.value, (str, bytes)):
            self._add(node, _STRING)
        elif type(node.value) is int and not -(2**63) <= node.value < 2**64:
            self._add(node, f"constant must fit 64 bits, got {node.value}")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if not isinstance(node.slice, ast.Constant):  # an index of another type is told with its array
            self.visit(node.slice)

    def visit_Compare(self, node: ast.Compare) -> None:
        for operation in node.ops:
            self._operator(node, operation)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node, node.op)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._operator(node, node.op)
        self.generic_visit(node)

    def _operator(self, node: ast.AST, operation: ast.AST) -> None:
        sign = _LACKING.get(type(operation))
        if sign is not None:
            cure = {"is": "; write ==", "is not": "; write !="}.get(sign, "")
            self._add(node, f"operator {sign} is none that kernels have{cure}")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        value = self._found_outside(node.func)
        if name and value is getattr(builtins, name, None):
            if name in _FREE:
                return
            if name in _MADE_BY:
                self._add(node, _MADE_BY[name])
                return
        text = foreign_call(value, dotted_path(node.func) or ())
        if text:
            self._add(node, text)
            return
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(argument, ast.Lambda):
                self._add(argument, _PASSED)
        self.generic_visit(node)
