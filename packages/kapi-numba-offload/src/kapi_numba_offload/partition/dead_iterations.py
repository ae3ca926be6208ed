"""Loops whose iterations all store into the same elements: the last iteration alone has an effect, and alone is run."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable
from typing import Any

from kapi_numba_offload.analysis.effects import has_effects
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import indices_of, located, names_in, nodes_in

__all__ = ["drop_dead_iterations"]

_NEW = {"empty", "zeros", "ones", "full"}
_BOUNDS = (
    ast.Attribute, ast.BinOp, ast.Constant, ast.Name, ast.Subscript, ast.operator, ast.expr_context
)  # fmt: skip


def drop_dead_iterations(definition: ast.FunctionDef, names: Scope) -> None:
    """Make such loops at the top of a function branches with the last iteration; the definition is changed in place."""
    made: list[ast.stmt] = []
    for statement in definition.body:
        is_dead = isinstance(statement, ast.For) and _is_dead_but_for_last(statement, made, names)
        made.append(_last_iteration(statement) if is_dead else statement)
    definition.body = made


def _last_iteration(loop: Any) -> ast.If:
    """The branch that runs the last iteration of a loop, if it has one."""
    *starts, stop = loop.iter.args
    start = starts[0] if starts else ast.Constant(0)
    last = ast.BinOp(_integer(stop), ast.Sub(), ast.Constant(1))
    assigned = ast.Assign([loop.target], last)
    branch = ast.If(ast.Compare(_integer(stop), [ast.Gt()], [start]), [located(assigned, loop), *loop.body], [])
    return located(branch, loop)


def _integer(node: ast.expr) -> ast.expr:
    """An expression as Python's integer, which a loop's variable is."""
    return ast.Call(ast.Name("int", ast.Load()), [copy.deepcopy(node)], [])


def _is_dead_but_for_last(loop: ast.For, before: list[ast.stmt], names: Scope) -> bool:
    iterated = loop.iter
    if not isinstance(iterated, ast.Call) or names.value(iterated.func) is not range or iterated.keywords:
        return False
    if not isinstance(loop.target, ast.Name) or loop.orelse or names.value(ast.Name("int", ast.Load())) is not int:
        return False
    if not 1 <= len(iterated.args) <= 2:
        return False
    *starts, stop = iterated.args
    if not all(isinstance(each, _BOUNDS) for each in ast.walk(stop)):
        return False
    if not all(isinstance(each, ast.Constant) and type(each.value) is int and each.value >= 0 for each in starts):
        return False  # the last of other indices may be inside of an array where the others are not
    targets = {_target_of(each) for each in loop.body}
    if not all(_is_new(each, before, names) for each in targets):
        return False
    is_counted_apart = targets.isdisjoint(names_in(ast.walk(stop), ast.Load))
    return is_counted_apart and all(_stores_alike(each, loop.target.id, targets, names) for each in loop.body)


def _target_of(statement: ast.stmt) -> str | None:
    """The name of the array that a statement stores parts of, and nothing else; None for any other statement."""
    match statement:
        case ast.Assign([ast.Subscript(ast.Name(name))], _):
            return name
    return None


def _stores_alike(statement: ast.stmt, variable: str, targets: Iterable[str | None], names: Scope) -> bool:
    """Whether a statement stores into the same elements for each value of a variable, what reads none of `targets`.

    The variable is an index of views alone, which raise for its last value if they do for one before.
    """
    assert isinstance(statement, ast.Assign)
    (target,) = statement.targets
    assert isinstance(target, ast.Subscript)
    if has_effects(statement, names) or variable in names_in(ast.walk(target.slice), ast.Load):
        return False
    if any(isinstance(each, ast.Call) for each in ast.walk(target.slice)):
        return False
    nodes = list(ast.walk(statement.value))
    if not {*targets}.isdisjoint(names_in([*nodes, *ast.walk(target.slice)], ast.Load)):
        return False
    indices: set[int] = set()
    for each in nodes:
        if isinstance(each, ast.Subscript) and any(isinstance(index, ast.Slice) for index in indices_of(each)):
            indices.update(map(id, indices_of(each)))
    return all(id(each) in indices for each in nodes if isinstance(each, ast.Name) and each.id == variable)


def _is_new(name: str | None, before: list[ast.stmt], names: Scope) -> bool:
    """Whether a variable is an array that was made in the statements before, which have no other name for it."""
    nodes = nodes_in(before)
    makes = [each for each in before if isinstance(each, ast.Assign) and name in names_in(each.targets, ast.Store)]
    if len(makes) != 1 or len(makes[0].targets) != 1 or names_in(nodes, ast.Store).count(str(name)) != 1:
        return False
    call = makes[0].value
    subscripts = [each for each in nodes if isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load)]
    stored = names_in([each.value for each in subscripts], ast.Load).count(str(name))
    is_read = names_in(nodes, ast.Load).count(str(name)) > stored
    return isinstance(call, ast.Call) and numpy_name(names.value(call.func)) in _NEW and not is_read
