"""What a call gives to each parameter of a function whose definition is known."""

from __future__ import annotations

import ast
import copy
from collections import Counter

__all__ = ["given_arguments", "with_calls_by_position"]


def given_arguments(parameters: ast.arguments, call: ast.Call) -> dict[str, ast.expr] | None:
    """What each parameter is given, by position, by name or as its default; None if that is not known.

    Parameters
    ----------
    parameters : ast.arguments
        Those of the function.
    call : ast.Call
        A call of it.
    """
    if parameters.vararg or parameters.kwarg or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    by_place = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    by_name = {each.arg: each.value for each in call.keywords if each.arg is not None}
    names = [*by_place, *(each.arg for each in parameters.kwonlyargs)]
    if len(by_name) != len(call.keywords) or len(call.args) > len(by_place):
        return None
    defaults = dict(zip(reversed(by_place), reversed(parameters.defaults), strict=False))
    defaults |= {each.arg: value for each, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
                 if value is not None}  # fmt: skip
    positional = dict(zip(by_place, call.args, strict=False))
    known = {name: value for name, value in defaults.items() if _is_number(value)}
    found = {**known, **positional, **by_name}
    is_whole = set(found) == set(names) and not positional.keys() & by_name.keys()
    return {name: copy.deepcopy(found[name]) for name in names} if is_whole else None


def _is_number(node: ast.expr) -> bool:
    """Whether a default is the same wherever it is read."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, complex))


def with_calls_by_position(definition: ast.FunctionDef) -> None:
    """Write all arguments of calls of functions within the function by position, defaults included.

    Numba gives a function within another one what is given by name as if it were given by position.
    """
    nodes = list(ast.walk(definition))
    stored = Counter(each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    named = Counter(each.name for each in nodes if isinstance(each, (ast.FunctionDef, ast.ClassDef)))
    parameters = {each.arg for each in nodes if isinstance(each, ast.arg)}
    known: dict[str, ast.arguments] = {}
    for each in nodes:
        if isinstance(each, ast.FunctionDef) and each is not definition and not each.decorator_list:
            known[each.name] = each.args
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda):
            known |= {target.id: each.value.args for target in each.targets if isinstance(target, ast.Name)}
    for call in nodes:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        name = call.func.id
        if name not in known or stored[name] + named[name] != 1 or name in parameters or known[name].kwonlyargs:
            continue
        given = given_arguments(known[name], call)
        if given is not None:
            call.args, call.keywords = list(given.values()), []
