"""Stores of several iterations to one element, whose order shows: the value of the last iteration stays.

A first body keeps at each element the largest number of an iteration that stores to it. In a second one, only the
iteration of this number stores.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from kapi_numba_offload.analysis.syntax import (
    assignment,
    expression,
    flat_index,
    is_number,
    located,
    plus,
    root_variable,
    statements,
    variable,
)
from kapi_numba_offload.loops.loop_syntax import LoopSyntax

__all__ = ["last_stores", "numbers_of_axes"]

_NUMBER = "kapi_number"


def last_stores(syntax: LoopSyntax, arrays: Sequence[str]) -> tuple[LoopSyntax, LoopSyntax]:
    """Both loops; they are given numbers of the axes, and an array of numbers for each of `arrays`, besides.

    - `syntax`: the loop, which reads none of the arrays that it stores to.
    - `arrays`: those to which several iterations may store one element.
    """
    axes = range(len(syntax.axes))
    numbers = [f"kapi_{word}_of_axis{axis}" for axis in axes for word in ("first", "step", "count")]
    captured = [*syntax.captured, *numbers, *map(_numbers_of, arrays)]
    number = assignment(_NUMBER, _number_of_iteration(syntax))

    def loop(rewriter: Callable[..., ast.NodeTransformer]) -> LoopSyntax:
        body = [rewriter(arrays).visit(copy.deepcopy(each)) for each in syntax.body]
        return replace(syntax, body=[located(copy.deepcopy(number), syntax.node), *body], captured=captured)

    return loop(partial(_Kept, set(syntax.captured))), loop(_StoredByLast)


def numbers_of_axes(spans: Sequence[range]) -> list[int]:
    """The numbers that both loops are given."""
    return [each for span in spans for each in (span.start, span.step, len(span))]


def _numbers_of(name: str) -> str:
    """The array of the numbers of the iterations that store to an array."""
    return f"kapi_last_of_{name}"


def _number_of_iteration(syntax: LoopSyntax) -> ast.expr:
    """The number of an iteration in the order of the loops, from 1."""
    at = []
    for number, axis in enumerate(syntax.axes):
        own: ast.expr = variable(axis.variable)
        if not is_number(axis.start, 0):
            own = expression("AT - FIRST", AT=own, FIRST=f"kapi_first_of_axis{number}")
        if not is_number(axis.step, 1):
            own = expression("AT // STEP", AT=own, STEP=f"kapi_step_of_axis{number}")
        at.append(own)
    return plus(flat_index(at, [variable(f"kapi_count_of_axis{each}") for each in range(len(at))]), ast.Constant(1))


def _last_at(target: ast.Subscript) -> ast.Subscript:
    """The number of the last iteration that stores to an element."""
    made = copy.deepcopy(target)
    made.ctx = ast.Load()
    root: ast.expr = made
    while isinstance(root, ast.Subscript):
        root = root.value
    assert isinstance(root, ast.Name)
    root.id = _numbers_of(root.id)
    return made


class _Kept(ast.NodeTransformer):
    """Keeps numbers of iterations instead of values, and changes nothing else outside of the loop."""

    def __init__(self, outside: Collection[str], arrays: Collection[str]) -> None:
        self._outside, self._arrays = outside, arrays

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or root_variable(target) not in self._outside:
            return node
        if root_variable(target) not in self._arrays:
            return located(ast.Pass(), node)
        last = _last_at(target)
        stored = copy.deepcopy(last)
        stored.ctx = ast.Store()
        (made,) = statements("if NUMBER > LAST:\n    STORED = NUMBER", NUMBER=_NUMBER, LAST=last, STORED=stored)
        return located(made, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        is_outside = isinstance(node.target, ast.Subscript) and root_variable(node.target) in self._outside
        return located(ast.Pass(), node) if is_outside else node


class _StoredByLast(ast.NodeTransformer):
    """Stores values of the last iterations only."""

    def __init__(self, arrays: Collection[str]) -> None:
        self._arrays = arrays

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or root_variable(target) not in self._arrays:
            return node
        (made,) = statements("if LAST == NUMBER:\n    STORE", NUMBER=_NUMBER, LAST=_last_at(target), STORE=[node])
        return located(made, node)
