"""Conditions of launches: operands of equal lengths and, of a loop that one work-group does, indices within arrays.

A work-group raises no error, so a loop is its only where the launch tells that there is none.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Literal

from kapi_numba_offload.loops.body.group_arrays import GroupArrays, Resolved
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import Extent

__all__ = ["invariant", "require_elements", "require_equal", "within"]

_EMPTY = "an extremum must be of one element or more, got an empty array"


def invariant(state: BodyState, node: ast.expr) -> ast.expr | None:
    """An integer as an expression of what the loop is given; None if that does not tell it."""
    resolved = _resolved(state)
    made = resolved.of(node)
    return made if resolved.is_invariant else None


def _resolved(state: BodyState) -> Resolved:
    return Resolved(state.group or GroupArrays(frozenset()), state.value_of, state.assignments)


def require_equal(
    state: BodyState,
    one: Sequence[Extent],
    other: Sequence[Extent],
    node: ast.AST,
    text: str,
    *,
    ones: Literal["", "first", "both"] = "",
) -> None:
    """Require that the last axes of two shapes have the same lengths.

    - `text`: the words of the error.
    - `ones`: which of the two may have one element instead.
    """
    for own, others in zip(reversed(one), reversed(other), strict=False):
        may_be_one = {"": [], "first": [own], "both": [own, others]}[ones]
        if any(each.is_one is True for each in may_be_one):
            continue
        if state.group is not None:
            _require_of_launch(state, state.group, own.length, others.length, node)
        else:
            lengths = [each.length for each in may_be_one if each.is_one is None]
            state.put(state.lengths.required(own.length, others.length, text, lengths), node)


def _require_of_launch(state: BodyState, group: GroupArrays, one: ast.expr, other: ast.expr, node: ast.AST) -> None:
    """Require of a launch that two lengths are equal."""
    first, second = invariant(state, one), invariant(state, other)
    if first is not None and second is not None:
        if ast.unparse(first) != ast.unparse(second):
            group.require("A == B", A=first, B=second)
        return
    pairs = _differences(_resolved(state).of(one), _resolved(state).of(other))
    if pairs is None:
        raise NotInKernelError("operands whose lengths the launch does not tell", node)
    for first, second in pairs:
        group.require("A == B", A=first, B=second)


def require_elements(state: BodyState, shape: Sequence[Extent], node: ast.AST) -> None:
    """Require that an array has elements: of the launch of a group, in all iterations."""
    for each in shape:
        if state.group is None:
            state.put(state.lengths.required_element(each.length, _EMPTY), node)
            continue
        least = _least(state, each.length)
        if least is None:
            raise NotInKernelError("an array of which the launch does not tell that it has elements", node)
        state.group.require("A > 0", A=least)


def within(state: BodyState, index: ast.expr, length: ast.expr, node: ast.AST) -> ast.expr:
    """An index, which the launch of a group has to have within an axis of that length in all iterations."""
    group = state.group
    if group is None:
        return index
    match index:
        case ast.Call(ast.Name("kapi_wrapped_index"), [own, _]) if invariant(state, index) is None:
            index = own  # which counts from the start in all iterations, as is required
    least, most, end = _least(state, index), _most(state, index), invariant(state, length)
    if least is None or most is None or end is None:
        raise NotInKernelError("an index of which the launch does not tell that it is in its array", node)
    group.require("0 <= A <= B < C", A=least, B=most, C=end)
    return index


def _most(state: BodyState, node: ast.expr) -> ast.expr | None:
    """The most that an integer is in any iteration, as far as it is told."""
    return _extreme(state, node, is_most=True)


def _least(state: BodyState, node: ast.expr) -> ast.expr | None:
    return _extreme(state, node, is_most=False)


def _extreme(state: BodyState, node: ast.expr, *, is_most: bool) -> ast.expr | None:
    found = invariant(state, node)
    if found is not None:
        return found
    match node:
        case ast.Name(name) if name in state.counters:
            start, stop, step = state.counters[name]
            if is_most == (step > 0):
                last = _extreme(state, stop, is_most=is_most)
                return None if last is None else ast.BinOp(last, ast.Sub() if step > 0 else ast.Add(), ast.Constant(1))
            return _extreme(state, start, is_most=is_most)
        case ast.Name(name) if (value := state.value_of(name)) is not None:
            return _extreme(state, value, is_most=is_most)
        case ast.BinOp(left, ast.Add() | ast.Sub() as operation, right):
            one = _extreme(state, left, is_most=is_most)
            other = _extreme(state, right, is_most=is_most == isinstance(operation, ast.Add))
            return None if one is None or other is None else ast.BinOp(one, operation, other)
    return None


def _differences(one: Any, other: Any) -> list[tuple[ast.expr, ast.expr]] | None:
    """The lengths of arrays in which two expressions differ; None if they differ otherwise."""
    if _is_length(one) and _is_length(other):
        return [] if ast.unparse(one) == ast.unparse(other) else [(one, other)]
    if type(one) is not type(other):
        return None
    if isinstance(one, ast.AST):
        fields = [(getattr(one, name, None), getattr(other, name, None)) for name in one._fields]
    elif isinstance(one, list):
        if len(one) != len(other):
            return None
        fields = list(zip(one, other, strict=True))
    else:
        return [] if one == other else None
    found = [_differences(*each) for each in fields]
    known = [each for each in found if each is not None]
    return [pair for each in known for pair in each] if len(known) == len(found) else None


def _is_length(node: Any) -> bool:
    match node:
        case ast.Subscript(ast.Attribute(ast.Name(), "shape"), ast.Constant()):
            return True
        case _:
            return False
