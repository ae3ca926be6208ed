"""Calls of helper functions with arrays or rows, written out in the body of a loop: kernels pass full arrays only.

A helper is the loop's own code then: its rows are views, and its indices may count from the end.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from kapi_numba_offload.analysis.normal_form import given_arguments, normalised
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.source import parsed_function
from kapi_numba_offload.analysis.syntax import conjuncts, indices_of, located, names_in, nodes_in
from kapi_numba_offload.libraries.entry import NOT_USER_CODE
from kapi_numba_offload.loops.body.index_analysis import LowerBounds
from kapi_numba_offload.loops.body.passes.draw_random import function_draws
from kapi_numba_offload.loops.body.passes.returns import with_result
from kapi_numba_offload.loops.body.state import NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import statements

__all__ = ["Inliner"]

_DEEPEST = 8  # helpers that call helpers; deeper ones are left to the compiler, which refuses recursion
_BLOCKS = (ast.For, ast.While, ast.If)


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that is called.

    Attributes
    ----------
    syntax : ast.FunctionDef
        Its definition.
    names : Scope or None
        What its names mean; None for a function within the loop's own, which has that one's names.
    """

    syntax: ast.FunctionDef
    names: Scope | None


class Inliner:
    """Writes helpers out.

    Parameters
    ----------
    names : Scope
        What the names of the loop's function mean.
    ranks : mapping of str to int
        The rank of each array that the loop is given.
    body : sequence of ast.stmt
        The loop's body, with the functions that it defines or that are defined around it.

    Attributes
    ----------
    outside : dict
        Names in the written-out code and the objects that they stand for.
    """

    def __init__(self, names: Scope, ranks: Mapping[str, int], body: Sequence[ast.stmt]) -> None:
        self._names, self._ranks = names, dict(ranks)
        nodes = nodes_in(body)
        defined = Counter(each.name for each in nodes if isinstance(each, ast.FunctionDef))
        self._within = {
            each.name: Helper(copy.deepcopy(each), None)
            for each in nodes
            if isinstance(each, ast.FunctionDef) and defined[each.name] == 1
        }
        self._parts: set[str] = set()
        self._count = 0
        self.outside: dict[str, Any] = {}

    def block(self, statements: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """The statements, helpers written out before those that call them."""
        made: list[ast.stmt] = []
        for written in statements:
            statement = self._with_calls_reached(written, depth)
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
                target = statement.targets[0] if isinstance(statement, ast.Assign) else None
                if isinstance(target, ast.Name) and self._is_array(statement.value):
                    self._parts.add(target.id)
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and before:
                    continue
            made.append(statement)
        return made

    def _with_calls_reached(self, node: ast.stmt, depth: int) -> ast.stmt:
        """A statement whose calls of helpers are not always reached, with branches that say when they are."""
        if depth >= _DEEPEST or not self._calls_conditionally(node):
            return node
        made: ast.stmt = node
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
            then: list[ast.stmt] = [ast.Assign(copy.deepcopy(node.targets), node.value.body)]
            made = ast.If(node.value.test, then, [ast.Assign(node.targets, node.value.orelse)])
        elif isinstance(node, ast.While) and not node.orelse:
            ends = [ast.If(ast.UnaryOp(ast.Not(), each), [ast.Break()], []) for each in conjuncts(node.test)]
            made = ast.While(ast.Constant(True), [*ends, *node.body], [])
        elif isinstance(node, ast.If) and not node.orelse and len(conjuncts(node.test)) > 1:
            *outer, last = conjuncts(node.test)
            inner = ast.copy_location(ast.If(last, node.body, []), node)
            made = ast.If(outer[0] if len(outer) == 1 else ast.BoolOp(ast.And(), outer), [inner], [])
        return located(made, node)

    def _calls_conditionally(self, node: ast.stmt) -> bool:
        """Whether the condition of a statement, or a value that it chooses, calls a helper."""
        value = node.test if isinstance(node, (ast.While, ast.If)) else getattr(node, "value", None)
        if isinstance(node, ast.If) and not isinstance(value, ast.BoolOp):
            return False
        return value is not None and any(
            isinstance(each, ast.Call) and self.helper(each) is not None for each in ast.walk(value)
        )

    def _expression(self, node: ast.expr, depth: int) -> tuple[list[ast.stmt], ast.expr]:
        """An expression with variables instead of the first calls that it makes; statements that assign them."""
        before: list[ast.stmt] = []
        if depth < _DEEPEST:
            node = _Calls(self, before, depth, node).visit(node)
        return before, node

    def helper(self, call: ast.Call) -> Helper | None:
        """The function that a call is of, if it is one to write out."""
        value = self._names.value(call.func)
        if value is UNKNOWN and isinstance(call.func, ast.Name):
            value = self.outside.get(call.func.id, UNKNOWN)
            within = self._within.get(call.func.id)
            if value is UNKNOWN and within is not None:
                # Kernels count no index of these from the end, and make no update of an element atomic.
                has_elements = any(isinstance(each, (ast.Subscript, ast.Attribute)) for each in ast.walk(within.syntax))
                return within if has_elements or self._has_arrays(call) else None
        function = getattr(value, "py_func", value)
        is_own = isinstance(function, FunctionType) and numpy_name(value) is None
        if not is_own or (function.__module__ or "").partition(".")[0] in NOT_USER_CODE:
            return None
        is_written_out = self._has_arrays(call) or function_draws(function)
        definition = parsed_function(function) if is_written_out else None
        return None if definition is None else Helper(definition, Scope(function, definition))

    def _has_arrays(self, call: ast.Call) -> bool:
        return any(map(self._is_array, (*call.args, *(each.value for each in call.keywords))))

    def _is_array(self, node: ast.expr) -> bool:
        """Whether an expression may name an array or part of one, of rank 1 or more."""
        if isinstance(node, ast.Name):
            return node.id in self._parts or self._ranks.get(node.id, 0) > 0
        if isinstance(node, ast.Attribute):
            return node.attr == "T" and self._is_array(node.value)
        if not isinstance(node, ast.Subscript) or not self._is_array(node.value):
            return False
        indices = indices_of(node)
        if any(isinstance(each, ast.Slice) for each in indices):
            return True
        rank = self._ranks.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return rank is not None and len(indices) < rank

    def written_out(self, helper: Helper, call: ast.Call, depth: int) -> tuple[list[ast.stmt], ast.expr] | None:
        """The statements of a call, and its value; None if the function cannot be written out."""
        given = given_arguments(helper.syntax.args, call)
        if given is None or not _is_plain(helper.syntax):
            return None
        definition = normalised(copy.deepcopy(helper.syntax))
        self._count += 1
        prefix, result = f"kapi_in{self._count}_", f"kapi_in{self._count}_result"
        body = with_result(definition.body, result)
        if body is None:
            return None
        renamed = _Renamed(self, helper.names, _own_variables(definition), prefix)
        body = [renamed.visit(each) for each in body]
        start = [
            each for name, arg in given.items() for each in statements("OWN = GIVEN", OWN=prefix + name, GIVEN=arg)
        ]
        self._parts.update(prefix + name for name, arg in given.items() if self._is_array(arg))
        returns = any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(definition))
        made = [*start, *self.block(body, depth + 1)]
        for each in nodes_in(made):
            if isinstance(each, (ast.stmt, ast.expr)):  # problems are reported at the line of the call
                ast.copy_location(each, call)
        value: ast.expr = ast.Name(result, ast.Load()) if returns else ast.Constant(None)
        return [ast.fix_missing_locations(each) for each in made], ast.copy_location(value, call)

    def stores(self, helper: Helper, seen: set[Any]) -> bool:
        """Whether a function, or one that it calls, may store to an array that it is given."""
        seen.add(helper.syntax.name if helper.names is None else helper.syntax)
        given = {each.arg for each in ast.walk(helper.syntax.args) if isinstance(each, ast.arg)}
        for node in ast.walk(helper.syntax):
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                return True
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                if node.target.id in given or any(_is_copy_of_one(each) for each in ast.walk(helper.syntax)):
                    return True
            if isinstance(node, ast.Call) and self._stores_in_call(helper, node, seen):
                return True
        return False

    def _stores_in_call(self, helper: Helper, call: ast.Call, seen: set[Any]) -> bool:
        value = (helper.names or self._names).value(call.func)
        within = self._within.get(call.func.id) if isinstance(call.func, ast.Name) and helper.names is None else None
        if value is UNKNOWN and within is not None:
            return within.syntax.name not in seen and self.stores(within, seen)
        called = getattr(value, "py_func", value)
        if not isinstance(called, FunctionType) or numpy_name(value) is not None or called in seen:
            return False
        seen.add(called)
        definition = parsed_function(called)
        return definition is None or self.stores(Helper(definition, Scope(called, definition)), seen)

    def may_count_from_ends(self, helper: Helper) -> bool:
        """Whether an index in a function may be negative."""
        return _may_count_from_ends(helper, self._names)

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
    """Puts variables instead of calls, as long as nothing before a call may see what it changes."""

    def __init__(self, inliner: Inliner, before: list[ast.stmt], depth: int, statement_value: ast.expr) -> None:
        self._inliner, self._before, self._depth, self._value = inliner, before, depth, statement_value

    def visit(self, node: ast.AST) -> Any:
        # What is not reached is not called.
        return node if isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda)) else super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        helper = self._inliner.helper(node)
        if helper is None:
            return node
        stores = self._inliner.stores(helper, set())
        # The call may modify other operands of the expression.
        made = None if stores and node is not self._value else self._inliner.written_out(helper, node, self._depth)
        if made is None:
            if stores and _updates(helper):
                raise NotInKernelError(f"a call of {helper.syntax.name}, which updates elements", node)
            if self._inliner.may_count_from_ends(helper):
                raise NotInKernelError(f"a call of {helper.syntax.name}, whose indices may count from the end", node)
            return node
        self._before += made[0]
        return made[1]


class _Renamed(ast.NodeTransformer):
    """A helper's variables and outside names under names of their own."""

    def __init__(self, inliner: Inliner, outside: Scope | None, own: set[str], prefix: str) -> None:
        self._inliner, self._outside, self._own, self._prefix = inliner, outside, own, prefix

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id.startswith(self._prefix):
            return node
        if self._outside is None:  # the loop's own names
            name = self._prefix + node.id if node.id in self._own else node.id
            return ast.copy_location(ast.Name(name, node.ctx), node)
        value = self._outside.value(node)
        if value is getattr(builtins, node.id, None) and self._inliner.has_builtin(node.id):
            return node
        name = self._prefix + node.id if value is UNKNOWN else self._inliner.alias(node.id, value)
        return ast.copy_location(ast.Name(name, node.ctx), node)


_REFUSED = (
    ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Try, ast.With, ast.Yield, ast.YieldFrom,
    ast.Import, ast.ImportFrom, ast.Assert, ast.Raise, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp,
)  # fmt: skip
"""Parts that a function that is written out has not."""


def _is_plain(definition: ast.FunctionDef) -> bool:
    return not any(isinstance(each, _REFUSED) for each in ast.walk(definition) if each is not definition)


def _own_variables(definition: ast.FunctionDef) -> set[str]:
    stored = names_in(ast.walk(definition), ast.Store)
    return {*stored} | {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}


def _updates(helper: Helper) -> bool:
    """Whether a function reads elements of an array that it stores to; what it calls is not looked at."""
    nodes = list(ast.walk(helper.syntax))
    subscripts = [each for each in nodes if isinstance(each, ast.Subscript)]
    read = {ast.unparse(each) for each in subscripts if isinstance(each.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            return True
        if isinstance(node, ast.Assign) and read & {ast.unparse(each) for each in node.targets}:
            return True
    return False


def _may_count_from_ends(helper: Helper, outside: Scope) -> bool:
    """Whether an index in a function may be negative: a kernel that calls it does not count such ones from the end."""
    nodes = list(ast.walk(helper.syntax))
    stores = Counter(names_in(nodes, ast.Store))
    given = {each.arg for each in nodes if isinstance(each, ast.arg)}
    lower = LowerBounds(helper.names or outside, {})
    lower.assigned_once = {name for name, count in stores.items() if count == 1} - given
    for each in nodes:
        if isinstance(each, ast.For) and _is_range(each.iter):
            lower.take_loop(each)
    indices = [index for each in nodes if isinstance(each, ast.Subscript) for index in indices_of(each)]
    parts = [part for each in indices
             for part in ([each.lower, each.upper, each.step] if isinstance(each, ast.Slice) else [each])]  # fmt: skip
    lows = [lower.of(each) for each in parts if each is not None]
    return any(each is None or each < 0 for each in lows)


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "prange")


def _is_copy_of_one(node: ast.AST) -> bool:
    """Whether a variable is another name of a parameter, or of a part of one."""
    match node:
        case ast.Assign(value=ast.Name() | ast.Attribute()):
            return True
        case ast.Assign(value=ast.Subscript(slice=index)):
            return any(isinstance(each, ast.Slice) for each in ast.walk(index))
    return False
