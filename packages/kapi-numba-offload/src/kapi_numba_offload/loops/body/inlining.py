"""Calls of helper functions with arrays or rows, written out in the body of a loop: kernels pass whole arrays only.

A helper is the loop's own code then: its rows are views, and its indices may count from the end.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from kapi_numba_offload.analysis.names import UNKNOWN, Names
from kapi_numba_offload.analysis.normal_form import normalised
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.source import parsed_function

__all__ = ["Inliner"]

_DEEPEST = 8  # helpers that call helpers; deeper ones are left to the compiler, which refuses recursion
_BLOCKS = (ast.For, ast.While, ast.If)


class Inliner:
    """Writes helpers out.

    Parameters
    ----------
    names : Names
        What the names of the loop's function mean.
    ranks : mapping of str to int
        The rank of each array that the loop is given.

    Attributes
    ----------
    outside : dict
        Names in the written-out code and the objects that they stand for.
    """

    def __init__(self, names: Names, ranks: Mapping[str, int]) -> None:
        self._names, self._ranks = names, dict(ranks)
        self._parts: set[str] = set()
        self._count = 0
        self.outside: dict[str, Any] = {}

    def block(self, statements: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """The statements, helpers written out before those that call them."""
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, _BLOCKS):
                for field in ("body", "orelse"):
                    setattr(statement, field, self.block(getattr(statement, field, []), depth))
            if isinstance(statement, (ast.For, ast.If)):
                head = "iter" if isinstance(statement, ast.For) else "test"
                before, value = self._expression(getattr(statement, head), depth)
                setattr(statement, head, value)
                made += before
            elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)):
                before, statement.value = self._expression(statement.value, depth)
                made += before
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    self._note(statement.targets[0].id, statement.value)
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and before:
                    continue
            made.append(statement)
        return made

    def _note(self, name: str, value: ast.expr) -> None:
        if self._is_array(value):
            self._parts.add(name)

    def _expression(self, node: ast.expr, depth: int) -> tuple[list[ast.stmt], ast.expr]:
        """An expression with variables in the place of the first calls that it makes; statements that assign them."""
        before: list[ast.stmt] = []
        if depth < _DEEPEST:
            node = _Calls(self, before, depth, node).visit(node)
        return before, node

    def helper(self, call: ast.Call) -> FunctionType | None:
        """The function that a call is of, if it is one to write out."""
        value = self._names.value(call.func)
        if value is UNKNOWN:
            value = self.outside.get(call.func.id) if isinstance(call.func, ast.Name) else None
        function = getattr(value, "py_func", value)
        is_own = isinstance(function, FunctionType) and numpy_name(value) is None
        if not is_own or (function.__module__ or "").partition(".")[0] in ("numpy", "dpnp", "numba", "kapi_runtime"):
            return None
        if call.keywords or not any(map(self._is_array, call.args)):
            return None
        return function  # type: ignore[no-any-return]

    def _is_array(self, node: ast.expr) -> bool:
        """Whether an expression may name an array or part of one, of rank 1 or more."""
        if isinstance(node, ast.Name):
            return node.id in self._parts or self._ranks.get(node.id, 0) > 0
        if isinstance(node, ast.Attribute):
            return node.attr == "T" and self._is_array(node.value)
        if not isinstance(node, ast.Subscript) or not self._is_array(node.value):
            return False
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(each, ast.Slice) for each in indices):
            return True
        rank = self._ranks.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return rank is not None and len(indices) < rank

    def written_out(
        self, function: FunctionType, args: Sequence[ast.expr], where: ast.expr, depth: int
    ) -> tuple[list[ast.stmt], ast.expr] | None:
        """The statements of a call, and its value; None if the function cannot be written out."""
        definition = parsed_function(function)
        names = None if definition is None else [each.arg for each in definition.args.args]
        if definition is None or names is None or len(names) != len(args) or not _is_plain(definition):
            return None
        definition = normalised(definition)
        self._count += 1
        prefix, result = f"kapi_in{self._count}_", f"kapi_in{self._count}_result"
        body = _with_result(definition.body, result)
        if body is None:
            return None
        renamed = _Renamed(self, Names(function, definition), prefix)
        body = [renamed.visit(each) for each in body]
        start: list[ast.stmt] = [
            ast.Assign([ast.Name(prefix + name, ast.Store())], copy.deepcopy(arg))
            for name, arg in zip(names, args, strict=True)
        ]
        for name, arg in zip(names, args, strict=True):
            self._note(prefix + name, arg)
        returns = any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(definition))
        made = [*start, *self.block(body, depth + 1)]
        for statement in made:
            for each in ast.walk(statement):
                if isinstance(each, (ast.stmt, ast.expr)):  # problems are told at the line of the call
                    ast.copy_location(each, where)
        value: ast.expr = ast.Name(result, ast.Load()) if returns else ast.Constant(None)
        return [ast.fix_missing_locations(each) for each in made], ast.copy_location(value, where)

    def has_builtin(self, name: str) -> bool:
        """Whether Python's own function of a name has that name in the loop, too."""
        return self._names.value(ast.Name(name, ast.Load())) is getattr(builtins, name)

    def alias(self, name: str, value: Any) -> str:
        """A name for what a helper names from outside of it."""
        for known, other in self.outside.items():
            if other is value:
                return known
        made = f"kapi_out{len(self.outside)}_{name}"
        self.outside[made] = value
        return made


class _Calls(ast.NodeTransformer):
    """Puts variables in the place of calls, as long as nothing before a call may see what it changes."""

    def __init__(self, inliner: Inliner, before: list[ast.stmt], depth: int, whole: ast.expr) -> None:
        self._inliner, self._before, self._depth, self._whole = inliner, before, depth, whole

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return node  # what is not reached is not called

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = self._inliner.helper(node)
        if function is None or (node is not self._whole and _stores(function, set())):
            return node  # what stands beside it may be what it stores to
        made = self._inliner.written_out(function, node.args, node, self._depth)
        if made is None:
            return node
        self._before += made[0]
        return made[1]


class _Renamed(ast.NodeTransformer):
    """A helper's variables and outside names under names of their own."""

    def __init__(self, inliner: Inliner, outside: Names, prefix: str) -> None:
        self._inliner, self._outside, self._prefix = inliner, outside, prefix

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id.startswith(self._prefix):
            return node
        value = self._outside.value(node)
        if value is getattr(builtins, node.id, None) and self._inliner.has_builtin(node.id):
            return node
        name = self._prefix + node.id if value is UNKNOWN else self._inliner.alias(node.id, value)
        return ast.copy_location(ast.Name(name, node.ctx), node)


def _is_plain(definition: ast.FunctionDef) -> bool:
    given = definition.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        return False
    refused = (
        ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Try, ast.With, ast.Yield,
        ast.YieldFrom, ast.Import, ast.ImportFrom, ast.Assert, ast.Raise, ast.ListComp, ast.GeneratorExp, ast.SetComp,
        ast.DictComp,
    )  # fmt: skip
    return not any(isinstance(each, refused) for each in ast.walk(definition) if each is not definition)


def _stores(function: FunctionType, seen: set[FunctionType]) -> bool:
    """Whether a function, or one that it calls, may store to an array that it is given."""
    if function in seen:
        return False
    seen.add(function)
    definition = parsed_function(function)
    if definition is None:
        return True
    names = Names(function, definition)
    for node in ast.walk(definition):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return node.target.id in names.parameters or any(_is_copy_of_one(each) for each in ast.walk(definition))
        if isinstance(node, ast.Call):
            value = names.value(node.func)
            called = getattr(value, "py_func", value)
            if isinstance(called, FunctionType) and numpy_name(value) is None and _stores(called, seen):
                return True
    return False


def _is_copy_of_one(node: ast.AST) -> bool:
    """Whether a variable is another name of a parameter, or of a part of one."""
    return (isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute))) or (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
        and any(isinstance(each, ast.Slice) for each in ast.walk(node.value.slice))
    )  # fmt: skip


def _with_result(statements: Sequence[ast.stmt], result: str) -> list[ast.stmt] | None:
    """The statements with assignments for their `return`s; None if one leaves a loop."""
    made: list[ast.stmt] = []
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        if isinstance(statement, ast.Return):
            if statement.value is not None:
                made.append(ast.Assign([ast.Name(result, ast.Store())], statement.value))
            return made or [ast.Pass()]
        if not any(isinstance(each, ast.Return) for each in ast.walk(statement)):
            made.append(statement)
            continue
        if not isinstance(statement, ast.If):
            return None
        rest = statements[number + 1 :]
        branches = [
            _with_result([*branch, *([] if _always_returns(branch) else copy.deepcopy(list(rest)))], result)
            for branch in (statement.body, statement.orelse)
        ]
        if branches[0] is None or branches[1] is None:
            return None
        return [*made, ast.If(statement.test, branches[0] or [ast.Pass()], branches[1])]
    return made


def _always_returns(statements: Sequence[ast.stmt]) -> bool:
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return)
