"""Returns of a function that is written out: assignments of its result, and loops that end when it has returned."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.analysis.syntax import assignment, nodes_in, variable

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
                made.append(assignment(result, statement.value))
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
            guard = ast.If(ast.UnaryOp(ast.Not(), variable(result + _LEFT)), after or [ast.Pass()], [])
            start = [assignment(result, _start_for(values[0]))] if values else []  # never read, but each path has one
            return [*made, *start, assignment(result + _LEFT, ast.Constant(False)), left, guard]
        if not isinstance(statement, ast.If):
            return None
        then, otherwise = (
            with_result([*branch, *([] if _always_returns(branch) else copy.deepcopy(list(rest)))], result)
            for branch in (statement.body, statement.orelse)
        )
        if then is None or otherwise is None:
            return None
        return [*made, ast.If(statement.test, then or [ast.Pass()], otherwise)]
    return made


def _left_by_break(loop: ast.For | ast.While, result: str) -> ast.For | ast.While | None:
    """A loop that notes that the function has returned, and ends; None where that cannot be."""
    body = _noting(loop.body, result)
    if body is None or any(isinstance(each, ast.Return) for each in nodes_in(loop.orelse)):
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
                made.append(assignment(result, statement.value))
            return [*made, assignment(result + _LEFT, ast.Constant(True)), ast.Break()]
        if not any(isinstance(each, ast.Return) for each in ast.walk(statement)):
            made.append(statement)
        elif isinstance(statement, ast.If):
            then, otherwise = _noting(statement.body, result), _noting(statement.orelse, result)
            if then is None or otherwise is None:
                return None
            made.append(ast.If(statement.test, then, otherwise))
        else:
            inner = _left_by_break(statement, result) if isinstance(statement, (ast.For, ast.While)) else None
            if inner is None:
                return None
            made += [inner, ast.If(variable(result + _LEFT), [ast.Break()], [])]
    return made


def _start_for(value: ast.expr) -> ast.expr:
    """A number, truth value or tuple that a variable for such a value can have before."""
    if isinstance(value, ast.Tuple):
        return ast.Tuple([_start_for(each) for each in value.elts], ast.Load())
    is_truth = isinstance(value, ast.Compare) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))
    is_truth = is_truth or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
    return ast.Constant(False) if is_truth else ast.Constant(0)


def _is_endless(statement: ast.stmt) -> bool:
    """Whether a loop is left by `return` alone."""
    match statement:
        case ast.While(ast.Constant(value)) if value:
            return not has_break(statement)
    return False


def _always_returns(statements: Sequence[ast.stmt]) -> bool:
    match statements:
        case [*_, ast.If(_, then, otherwise)]:
            return _always_returns(then) and _always_returns(otherwise)
        case [*_, last]:
            return isinstance(last, ast.Return) or _is_endless(last)
    return False
