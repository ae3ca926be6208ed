"""Returns of a function that is written out: assignments of its result, and loops that end when it has returned."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.analysis.syntax import assignment, nodes_in, variable

__all__ = ["with_result"]

_LEFT = "_left"  # behind the name of a result: whether the function has returned from within a loop


def with_result(statements: Sequence[ast.stmt], result: str, *, in_loop: bool = False) -> list[ast.stmt] | None:
    """The statements with assignments for their `return`s; None where that cannot be.

    - `in_loop`: whether they are in a loop, which they note to have left, and leave.
    """
    made: list[ast.stmt] = []
    for number, statement in enumerate(statements):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        if isinstance(statement, ast.Return):
            made += [] if statement.value is None else [assignment(result, statement.value)]
            made += [assignment(result + _LEFT, ast.Constant(True)), ast.Break()] if in_loop else []
            return made or [ast.Pass()]
        returns = [each for each in ast.walk(statement) if isinstance(each, ast.Return)]
        if not returns:
            made.append(statement)
            continue
        rest: Sequence[ast.stmt] = [] if in_loop else statements[number + 1 :]
        if isinstance(statement, (ast.For, ast.While)):
            body, after = with_result(statement.body, result, in_loop=True), with_result(rest, result)
            values = [each.value for each in returns if each.value]
            has_value = in_loop or not values or _is_endless(statement) or _always_returns(rest)
            in_else = any(isinstance(each, ast.Return) for each in nodes_in(statement.orelse))
            if body is None or after is None or in_else or not has_value:
                return None
            statement = copy.copy(statement)
            statement.body, left = body, variable(result + _LEFT)
            if in_loop:
                made += [statement, ast.If(left, [ast.Break()], [])]
                continue
            start = [assignment(result, _start_for(values[0]))] if values else []  # never read, but each path has one
            guard = ast.If(ast.UnaryOp(ast.Not(), left), after or [ast.Pass()], [])
            return [*made, *start, assignment(left.id, ast.Constant(False)), statement, guard]
        if not isinstance(statement, ast.If):
            return None
        then, otherwise = (
            with_result(
                [*branch, *([] if _always_returns(branch) else copy.deepcopy(list(rest)))], result, in_loop=in_loop
            )
            for branch in (statement.body, statement.orelse)
        )
        if then is None or otherwise is None:
            return None
        made.append(ast.If(statement.test, then or [ast.Pass()], otherwise))
        if not in_loop:
            return made
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
