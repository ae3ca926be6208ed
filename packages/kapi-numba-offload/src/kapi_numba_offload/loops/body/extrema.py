"""Statements that keep the larger or the smaller one of an element and a value: `if x > a[k]: a[k] = x`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["Extremum", "extremum_of"]

_FUNCTIONS: Mapping[Any, type[ast.cmpop]] = {max: ast.Gt, min: ast.Lt}
_SWAPPED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.Lt: ast.Gt}


class Extremum(NamedTuple):
    """What such a statement does.

    Attributes
    ----------
    target : ast.Subscript
        The element, as it is stored to.
    value : ast.expr
        What it becomes if the comparison says so.
    comparison : type of ast.cmpop
        `ast.Gt` if the value is stored where it is larger than the element, `ast.Lt` where it is smaller.
    """

    target: ast.Subscript
    value: ast.expr
    comparison: type[ast.cmpop]


def extremum_of(node: ast.stmt, value_of: Callable[[ast.expr], Any]) -> Extremum | None:
    """The extremum that a statement keeps; None for other statements.

    `a[k] = max(a[k], x)` is Python's `max`, which keeps its first argument unless the second one is larger: what is not
    a number is kept in an element, and is no reason to store it. `max(x, a[k])` and NumPy's functions differ in that.

    Parameters
    ----------
    node : ast.stmt
        The statement.
    value_of : callable
        The value of a name outside of the function.
    """
    if isinstance(node, ast.If):
        return _of_choice(node)
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    (target,), call = node.targets, node.value
    if not isinstance(target, ast.Subscript) or not isinstance(call, ast.Call) or call.keywords or len(call.args) != 2:
        return None
    function = value_of(call.func)
    comparison = next((each for known, each in _FUNCTIONS.items() if function is known), None)
    first, second = call.args
    if comparison is None or ast.unparse(first) != ast.unparse(target):
        return None
    return _unless_it_reads(Extremum(target, second, comparison))


def _of_choice(node: ast.If) -> Extremum | None:
    """`if x > a[k]: a[k] = x`, and the same the other way around."""
    test, body = node.test, node.body
    if (
        node.orelse
        or len(body) != 1
        or not isinstance(body[0], ast.Assign)
        or len(body[0].targets) != 1
        or not isinstance(body[0].targets[0], ast.Subscript)
        or not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or type(test.ops[0]) not in _SWAPPED
    ):
        return None
    target, value, comparison = body[0].targets[0], body[0].value, type(test.ops[0])
    sides = [test.left, test.comparators[0]]
    if ast.unparse(sides[0]) == ast.unparse(target):
        sides.reverse()
        comparison = _SWAPPED[comparison]
    if [ast.unparse(each) for each in sides] != [ast.unparse(value), ast.unparse(target)]:
        return None
    return _unless_it_reads(Extremum(target, value, comparison))


def _unless_it_reads(found: Extremum) -> Extremum | None:
    """None if the value is made of the array itself, of which other iterations may change what it reads."""
    owner = ast.unparse(found.target.value)
    return (
        None
        if any(ast.unparse(each) == owner for each in ast.walk(found.value) if isinstance(each, ast.expr))
        else found
    )
