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
from functools import partial
from types import FunctionType
from typing import Any

from kapi_numba_offload.analysis.effects import stores_to_given
from kapi_numba_offload.analysis.normal_form import given_arguments, normalised
from kapi_numba_offload.analysis.random_functions import function_draws
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.source import parsed_function, user_function
from kapi_numba_offload.analysis.syntax import (
    assignment,
    conjuncts,
    indices_of,
    located,
    names_in,
    names_rows,
    nodes_in,
    rewrite_blocks,
    root_variable,
    substituted,
    variable,
)
from kapi_numba_offload.loops.body.index_analysis import LowerBounds, counted_range
from kapi_numba_offload.loops.body.passes.returns import with_result
from kapi_numba_offload.loops.body.state import NotInKernelError

__all__ = ["Inliner"]

_DEEPEST = 8  # helpers that call helpers; deeper ones are left to the compiler, which refuses recursion
_VALUES = {ast.For: "iter", ast.If: "test", ast.Assign: "value", ast.AugAssign: "value", ast.Expr: "value"}
"""The expressions of statements whose calls are written out before them."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A function that is called.

    - `names`: what its names mean; None for a function within the loop's own, which has that one's names.
    """

    syntax: ast.FunctionDef
    names: Scope | None


class Inliner:
    """Writes helpers out.

    - `body`: the loop's body, with the functions that it defines or that are defined around it.
    - `outside`: names in the written-out code and the objects that they stand for.
    - `operands`: prefixes of the variables of helpers whose result is an operand: others may be read after the helper.
    """

    def __init__(self, names: Scope, ranks: Mapping[str, int], body: Sequence[ast.stmt]) -> None:
        self.names, self._ranks = names, ranks
        definitions = [each for each in nodes_in(body) if isinstance(each, ast.FunctionDef)]
        count = Counter(each.name for each in definitions)
        self._within = {each.name: Helper(copy.deepcopy(each), None) for each in definitions if count[each.name] == 1}
        self._known: dict[FunctionType, Helper | None] = {}
        self._rows: set[str] = set()
        self._count = 0
        self.outside: dict[str, Any] = {}
        self.operands: set[str] = set()
        self._is_operand = False

    def block(self, statements: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """The statements, helpers written out before those that call them."""
        made: list[ast.stmt] = []
        for written in statements:
            statement = self._with_calls_reached(written, depth)
            rewrite_blocks(statement, lambda block: self.block(block, depth))
            before: list[ast.stmt] = []
            field = _VALUES.get(type(statement))
            if field is not None and depth < _DEEPEST:
                value = getattr(statement, field)
                last = None if self._reads_before(statement) else value
                setattr(statement, field, _Calls(self, before, depth, last).visit(value))
            made += before
            match statement:
                case ast.Expr(ast.Constant()) if before:
                    continue
                case ast.Assign([ast.Name(name), *_], value) if self._is_row(value):
                    self._rows.add(name)
            made.append(statement)
        return made

    def _reads_before(self, statement: ast.stmt) -> bool:
        """Whether a statement reads, before it calls functions, what they may update: `a[i, 0] += f(a[i])` does."""
        if not isinstance(statement, ast.AugAssign):
            return False
        own, nodes = root_variable(statement.target), list(ast.walk(statement.value))
        given = [root_variable(arg) for each in nodes if isinstance(each, ast.Call) for arg in each.args]
        given += [root_variable(each.value) for each in nodes if isinstance(each, ast.keyword)]
        is_number = isinstance(statement.target, ast.Name) and not self._is_row(statement.target)
        return not is_number and (own in given or any(each in self._rows for each in (own, *given)))

    def _with_calls_reached(self, node: ast.stmt, depth: int) -> ast.stmt:
        """A statement whose calls of helpers are not always reached, with branches that say when they are."""
        made: ast.stmt
        match node:
            case ast.Assign(targets, ast.IfExp(test, then, otherwise) as value) if self._calls_helper(value, depth):
                branches = ast.Assign(copy.deepcopy(targets), then), ast.Assign(targets, otherwise)
                made = ast.If(test, [branches[0]], [branches[1]])
            case ast.While(test, body, []) if self._calls_helper(test, depth):
                ends = [ast.If(ast.UnaryOp(ast.Not(), each), [ast.Break()], []) for each in conjuncts(test)]
                made = ast.While(ast.Constant(True), [*ends, *body], [])
            case ast.If(ast.BoolOp(ast.And(), [*outer, last]) as test, body, []) if self._calls_helper(test, depth):
                inner = ast.copy_location(ast.If(last, body, []), node)
                made = ast.If(outer[0] if len(outer) == 1 else ast.BoolOp(ast.And(), outer), [inner], [])
            case _:
                return node
        return located(made, node)

    def _calls_helper(self, node: ast.expr, depth: int) -> bool:
        calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
        return depth < _DEEPEST and any(self.helper(each) is not None for each in calls)

    def helper(self, call: ast.Call) -> Helper | None:
        """The function that a call is of, if it is one to write out."""
        found = self._called(call, None)
        if found is None or any(map(self._is_row, (*call.args, *(each.value for each in call.keywords)))):
            return found
        if found.names is not None:
            return found if function_draws(self._value(call, None)) else None
        # Kernels count no index of these from the end, and make no update of an element atomic.
        has_elements = any(isinstance(each, (ast.Subscript, ast.Attribute)) for each in ast.walk(found.syntax))
        return found if has_elements else None

    def _called(self, call: ast.Call, names: Scope | None) -> Helper | None:
        """The user's function that a call is of, where names mean what a scope says, or what they mean in the loop."""
        value = self._value(call, names)
        if value is UNKNOWN and names is None and isinstance(call.func, ast.Name):
            return self._within.get(call.func.id)
        function = user_function(value)
        if function is not None and function not in self._known:
            definition = parsed_function(function)
            self._known[function] = None if definition is None else Helper(definition, Scope(function, definition))
        return None if function is None else self._known[function]

    def _value(self, call: ast.Call, names: Scope | None) -> Any:
        value = (names or self.names).value(call.func)
        is_written_out = value is UNKNOWN and names is None and isinstance(call.func, ast.Name)
        return self.outside.get(ast.unparse(call.func), UNKNOWN) if is_written_out else value

    def _is_row(self, node: ast.expr) -> bool:
        return names_rows(node, self._ranks, self._rows)

    def written_out(
        self, helper: Helper, call: ast.Call, depth: int, *, is_operand: bool
    ) -> tuple[list[ast.stmt], ast.expr] | None:
        """The statements of a call, and its value; None if the function cannot be written out."""
        given = given_arguments(helper.syntax.args, call)
        if given is None or any(
            isinstance(each, _REFUSED) for each in ast.walk(helper.syntax) if each is not helper.syntax
        ):
            return None
        definition = normalised(copy.deepcopy(helper.syntax))
        self._count += 1
        prefix = f"kapi_in{self._count}_"
        body = with_result(definition.body, f"{prefix}result")
        if body is None:
            return None
        self._rows.update(prefix + name for name, arg in given.items() if self._is_row(arg))
        own = {*names_in(ast.walk(definition), ast.Store), *_parameters(definition)}
        renamed = partial(self._renamed, helper.names, own, prefix)
        start = [assignment(prefix + name, arg) for name, arg in given.items()]
        outer, self._is_operand = self._is_operand, self._is_operand or is_operand
        if self._is_operand:
            self.operands.add(prefix)
        made = [*start, *self.block([substituted(each, renamed) for each in body], depth + 1)]
        self._is_operand = outer
        for each in nodes_in(made):
            if isinstance(each, (ast.stmt, ast.expr)):  # problems are reported at the line of the call
                ast.copy_location(each, call)
        returns = any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(definition))
        value = variable(f"{prefix}result") if returns else ast.Constant(None)
        return [ast.fix_missing_locations(each) for each in made], ast.copy_location(value, call)

    def stores(self, helper: Helper, seen: set[Helper]) -> bool:
        """Whether a function, or one that it calls, may store to an array that it is given."""
        seen.add(helper)
        if stores_to_given(helper.syntax):
            return True
        for node in ast.walk(helper.syntax):
            if isinstance(node, ast.Call):
                called = self._called(node, helper.names)
                if called is None and user_function(self._value(node, helper.names)) is not None:
                    return True  # it has no source
                if called is not None and called not in seen and self.stores(called, seen):
                    return True
        return False

    def _renamed(self, outside: Scope | None, own: set[str], prefix: str, node: ast.Name) -> ast.Name:
        """A helper's variable or outside name under a name of its own."""
        name = node.id
        value = UNKNOWN if outside is None else outside.value(node)
        if value is not UNKNOWN:
            is_builtin = value is getattr(builtins, name, None) and self.names.value(node) is value
            name = name if is_builtin else self._alias(name, value)
        elif name in own or (outside is not None and not name.startswith(prefix)):
            name = prefix + name
        return ast.Name(name, node.ctx)

    def _alias(self, name: str, value: Any) -> str:
        """A name for what a helper names from outside of it."""
        for known, other in self.outside.items():
            if other is value:
                return known
        made = f"kapi_out{len(self.outside)}_{name}"
        self.outside[made] = value
        return made


class _Calls(ast.NodeTransformer):
    """Puts variables instead of calls, as long as nothing before a call may see what it changes.

    - `last`: what is evaluated after all else of the statement; None if that is nothing.
    """

    def __init__(self, inliner: Inliner, before: list[ast.stmt], depth: int, last: ast.expr | None) -> None:
        self._inliner, self._before, self._depth, self._last = inliner, before, depth, last

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
        is_operand = node is not self._last
        made = (None if stores and is_operand
                else self._inliner.written_out(helper, node, self._depth, is_operand=is_operand))  # fmt: skip
        if made is not None:
            self._before += made[0]
            return made[1]
        if stores and _updates(helper):
            raise NotInKernelError(f"a call of {helper.syntax.name}, which updates elements", node)
        if _may_count_from_ends(helper, helper.names or self._inliner.names):
            raise NotInKernelError(f"a call of {helper.syntax.name}, whose indices may count from the end", node)
        return node


_REFUSED = (
    ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Try, ast.With, ast.Yield, ast.YieldFrom,
    ast.Import, ast.ImportFrom, ast.Assert, ast.Raise, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp,
)  # fmt: skip
"""Parts that a function that is written out has not."""


def _parameters(definition: ast.FunctionDef) -> set[str]:
    return {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}


def _updates(helper: Helper) -> bool:
    """Whether a function reads elements of an array that it stores to; what it calls is not looked at."""
    nodes = list(ast.walk(helper.syntax))
    subscripts = [each for each in nodes if isinstance(each, ast.Subscript)]
    read = {ast.unparse(each) for each in subscripts if isinstance(each.ctx, ast.Load)}
    return any(
        (isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Subscript))
        or (isinstance(each, ast.Assign) and bool(read & set(map(ast.unparse, each.targets))))
        for each in nodes
    )


def _may_count_from_ends(helper: Helper, names: Scope) -> bool:
    """Whether an index in a function may be negative: a kernel that calls it does not count such ones from the end."""
    nodes = list(ast.walk(helper.syntax))
    stores = Counter(names_in(nodes, ast.Store))
    given = {each.arg for each in nodes if isinstance(each, ast.arg)}
    once = {name for name, count in stores.items() if count == 1} - given
    loops = [each for each in nodes if isinstance(each, ast.For) and names.is_range(each.iter)]
    counters = {each.target.id: found for each in loops if isinstance(each.target, ast.Name)
                and each.target.id in once and (found := counted_range(each)) is not None}  # fmt: skip
    lower = LowerBounds(names, {}, once, counters)
    indices = [index for each in nodes if isinstance(each, ast.Subscript) for index in indices_of(each)]
    parts = [part for each in indices
             for part in ([each.lower, each.upper, each.step] if isinstance(each, ast.Slice) else [each])]  # fmt: skip
    lows = [lower.of(each) for each in parts if each is not None]
    return any(each is None or each < 0 for each in lows)
