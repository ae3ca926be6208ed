"""Conditions of launches: operands of equal lengths and, of a loop that one work-group does, indices within arrays.

A work-group raises no error, so a loop is its only where the launch tells that there is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Literal

from kapi_numba_offload.analysis.syntax import expression, is_number, names_in, nodes_in
from kapi_numba_offload.loops.body.launches.group_arrays import GroupArrays
from kapi_numba_offload.loops.body.launches.integer_expressions import is_extent
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import Extent

__all__ = ["require_elements", "require_equal", "within"]

_EXTENT = re.compile(r"\w+\.shape\[\d+\]")
_EMPTY = "an extremum must be of one element or more, got an empty array"


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
            ones_of = [each.length for each in may_be_one if each.is_one is None]
            state.put(state.lengths.required(_equality, [own.length, others.length, *ones_of], text), node)


def _require_of_launch(state: BodyState, group: GroupArrays, one: ast.expr, other: ast.expr, node: ast.AST) -> None:
    """Require of a launch that two lengths are equal."""
    first, second = state.launch.resolve_so_far(one), state.launch.resolve_so_far(other)
    if first is not None and second is not None:
        if ast.unparse(first) != ast.unparse(second):
            group.require("A == B", A=first, B=second)
        return
    lengths = [state.launch.resolve_partly(each) for each in (one, other)]
    names = names_in(nodes_in(lengths), ast.Load)
    # Variables of one name may have had other values.
    pairs = None if any(state.assignments[each] > 1 for each in names) else _differences(*lengths)
    if pairs is None:
        raise NotInKernelError("operands whose lengths the launch does not tell", node)
    for first, second in pairs:
        group.require("A == B", A=first, B=second)


def require_elements(state: BodyState, shape: Sequence[Extent], node: ast.AST) -> None:
    """Require that an array has elements: of the launch of a group, in all iterations."""
    for each in shape:
        if state.group is None:
            state.put(state.lengths.required(_positivity, [each.length], _EMPTY), node)
            continue
        least = state.launch.extreme(each.length, is_most=False)
        if least is None:
            raise NotInKernelError("an array of which the launch does not tell that it has elements", node)
        state.group.require("A > 0", A=least)


def within(state: BodyState, index: ast.expr, length: ast.expr, node: ast.AST) -> ast.expr:
    """An index, which the launch of a group has to have within an axis of that length in all iterations."""
    group, launch = state.group, state.launch
    if group is None:
        return index
    match index:
        case ast.Call(ast.Name("kapi_wrapped_index"), [own, _]) if launch.resolve_so_far(index) is None:
            index = own  # which counts from the start in all iterations, as is required
    least, most = (launch.extreme(index, is_most=is_most) for is_most in (False, True))
    end = launch.resolve_so_far(length)
    if least is None or most is None or end is None:
        raise NotInKernelError("an index of which the launch does not tell that it is in its array", node)
    group.require("0 <= A <= B < C", A=least, B=most, C=end)
    return index


def _equality(lengths: Sequence[ast.expr]) -> ast.expr | None:
    """The test that two lengths are equal, or one of the others is 1; None where that is sure."""
    one, other, *ones = lengths
    if ast.unparse(one) == ast.unparse(other) or any(is_number(each, 1) for each in ones):
        return None
    test = expression("ONE == OTHER", ONE=one, OTHER=other)
    for each in ones:
        if not isinstance(each, ast.Constant):
            test = expression("TEST or LENGTH == 1", TEST=test, LENGTH=each)
    return test


def _positivity(lengths: Sequence[ast.expr]) -> ast.expr | None:
    (length,) = lengths
    is_sure = isinstance(length, ast.Constant) and isinstance(length.value, int) and length.value > 0
    return None if is_sure else expression("LENGTH > 0", LENGTH=length)


def _differences(one: ast.expr, other: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """The lengths of arrays in which two expressions differ; None if they differ otherwise."""
    if len({_EXTENT.sub("", ast.unparse(each)) for each in (one, other)}) > 1:
        return None
    extents = ([part for part in ast.walk(each) if is_extent(part)] for each in (one, other))
    return [pair for pair in zip(*extents, strict=True) if len(set(map(ast.unparse, pair))) > 1]
