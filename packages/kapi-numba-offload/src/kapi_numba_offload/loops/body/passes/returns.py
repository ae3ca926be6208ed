"""Returns of a function that is written out: assignments of its result, and loops that end when it has returned."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

__all__ = ["with_result"]

_LEFT = "_left"  # behind the name of a result: whether the function has returned from within a loop


def with_result(statements: Sequence[ast.stmt], result: str) -> list[ast.stmt] | None:
    """The statements with assignments for their `return`s; None where that cannot be."""
    made: list[ast.stmt] = []
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        if isinstance(statement, ast.Return):
            if statement.value is not None:
                made.append(_assigned(result, statement.value))
            return made or [ast.Pass()]
        if not any(isinstance(each, ast.Return) for each in ast.walk(statement)):
            made.append(statement)
            continue
        rest = statements[number + 1 :]
        if isinstance(statement, (ast.For, ast.While)):
            after = with_result(rest, result)
            left = _left_by_break(statement, result)
            values = [each.value for each in ast.walk(statement) if isinstance(each, ast.Return) and each.value]
            has_value = not values or _is_endless(statement) or _always_returns(rest)
            if after is None or left is None or not has_value:
                return None
            guard = ast.If(ast.UnaryOp(ast.Not(), ast.Name(result + _LEFT, ast.Load())), after or [ast.Pass()], [])
            start = [_assigned(result, _start_for(values[0]))] if values else []  # never read, but each path has one
            return [*made, *start, _assigned(result + _LEFT, ast.Constant(False)), left, guard]
        if not isinstance(statement, ast.If):
            return None
        branches = [
            with_result([*branch, *([] if _always_returns(branch) else copy.deepcopy(list(rest)))], result)
            for branch in (statement.body, statement.orelse)
        ]
        if branches[0] is None or branches[1] is None:
            return None
        return [*made, ast.If(statement.test, branches[0] or [ast.Pass()], branches[1])]
    return made


def _left_by_break(loop: ast.For | ast.While, result: str) -> ast.For | ast.While | None:
    """A loop that notes that the function has returned, and ends; None where that cannot be."""
    body = _noting(loop.body, result)
    if body is None or any(isinstance(each, ast.Return) for part in loop.orelse for each in ast.walk(part)):
        return None
    made = copy.copy(loop)
    made.body = body
    return made


def _noting(statements: Sequence[ast.stmt], result: str) -> list[ast.stmt] | None:
    """Statements of a loop that note a `return`, and leave the loop."""
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Return):
            if statement.value is not None:
                made.append(_assigned(result, statement.value))
            return [*made, _assigned(result + _LEFT, ast.Constant(True)), ast.Break()]
        if not any(isinstance(each, ast.Return) for each in ast.walk(statement)):
            made.append(statement)
        elif isinstance(statement, ast.If):
            branches = [_noting(branch, result) for branch in (statement.body, statement.orelse)]
            if branches[0] is None or branches[1] is None:
                return None
            made.append(ast.If(statement.test, branches[0], branches[1]))
        elif isinstance(statement, (ast.For, ast.While)):
            inner = _left_by_break(statement, result)
            if inner is None:
                return None
            made += [inner, ast.If(ast.Name(result + _LEFT, ast.Load()), [ast.Break()], [])]
        else:
            return None
    return made


def _start_for(value: ast.expr) -> ast.expr:
    """A number, truth value or tuple that a variable for such a value can have before."""
    if isinstance(value, ast.Tuple):
        return ast.Tuple([_start_for(each) for each in value.elts], ast.Load())
    is_truth = isinstance(value, ast.Compare) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))
    is_truth = is_truth or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
    return ast.Constant(False) if is_truth else ast.Constant(0)


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _is_endless(statement: ast.stmt) -> bool:
    """Whether a loop is left by `return` alone."""
    if not isinstance(statement, ast.While) or not isinstance(statement.test, ast.Constant) or not statement.test.value:
        return False
    return not _has_own_break(statement.body)


def _has_own_break(statements: Sequence[ast.stmt]) -> bool:
    for each in statements:
        if isinstance(each, ast.Break):
            return True
        if isinstance(each, ast.If) and (_has_own_break(each.body) or _has_own_break(each.orelse)):
            return True
        if isinstance(each, (ast.For, ast.While)) and _has_own_break(each.orelse):
            return True
    return False


def _always_returns(statements: Sequence[ast.stmt]) -> bool:
    if not statements:
        return False
    last = statements[-1]
    if _is_endless(last):
        return True
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return)
