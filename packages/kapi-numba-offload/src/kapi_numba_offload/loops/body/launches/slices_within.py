"""Slices that a launch tells to be within their arrays in all iterations: windows, blocks, and rows without their ends.

Their bounds need no arithmetic of Python's slices, which differs between work-items, and many have one length.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter

from kapi_numba_offload.analysis.syntax import expression, names_in, plus, times
from kapi_numba_offload.loops.body.launches.integer_expressions import resolve
from kapi_numba_offload.loops.body.launches.launch_integers import add_terms
from kapi_numba_offload.loops.body.state import BodyState
from kapi_numba_offload.loops.body.views import Extent

__all__ = ["extent_within"]


def extent_within(state: BodyState, length: ast.expr, index: ast.Slice) -> Extent | None:
    """The extent of a slice of step 1 whose bounds are within an axis, in order, in all iterations; None for others.

    The kernel is made for launches of which that holds.

    - `length`: that of the axis.
    """
    if state.group is not None or (index.lower is None and index.upper is None):
        return None
    bounds = _Bounds(state)
    lower, upper, end = (
        bounds.resolved(each) for each in (index.lower or ast.Constant(0), index.upper or length, length)
    )
    if lower is None or upper is None or end is None or bounds.variables_in(end):
        return None
    if not (bounds.is_affine(lower) and bounds.is_affine(upper)):
        return None
    tests = [f"0 <= {ast.unparse(low)} <= {ast.unparse(high)} <= {ast.unparse(end)}"
             for low, high in zip(bounds.corners(lower, upper), bounds.corners(upper, lower), strict=True)]  # fmt: skip
    if not state.holds(" and ".join(tests)):
        return None
    count = _difference(upper, lower)
    if isinstance(count, ast.Constant):
        return Extent(count, count.value == 1)
    has_more = " and ".join(f"2 <= {ast.unparse(each)}" for each in bounds.corners(count, count))
    is_one = False if state.holds(has_more) else None
    return Extent(count if state.launch.resolve(count) is not None else state.kept(count), is_one)


def _difference(upper: ast.expr, lower: ast.expr) -> ast.expr:
    """The difference of two bounds, without the terms that both have."""
    terms: Counter[str] = Counter()
    add_terms(upper, 1, terms)
    add_terms(lower, -1, terms)
    found: ast.expr = ast.Constant(terms.pop("", 0))
    for text, factor in sorted(terms.items()):
        if factor:
            found = plus(found, times(expression(text), ast.Constant(factor)))
    return found


class _Bounds:
    """Bounds of slices as expressions of what a launch gives, and of the variables of its loops."""

    def __init__(self, state: BodyState) -> None:
        self._state = state
        self._ends = {name: (f"kapi_first_{name}", f"kapi_last_{name}") for name in state.loop_variables}

    def resolved(self, node: ast.expr) -> ast.expr | None:
        """A bound as such an expression; None for others."""
        return resolve(node, self._meaning)

    def _meaning(self, text: str) -> ast.expr | None:
        if text in self._ends:
            return expression(text)
        name, is_size, _ = text.partition(".size")
        facts = self._state.arrays.get(name) if is_size else None
        if facts is not None and len(facts.ones) == 1:
            text = f"{name}.shape[0]"
        return self._state.launch.meaning(text)

    def variables_in(self, node: ast.expr) -> list[str]:
        """The variables of loops in an expression."""
        return sorted(self._ends.keys() & names_in(ast.walk(node), ast.Load))

    def is_affine(self, node: ast.expr) -> bool:
        """Whether an expression is a sum of variables of loops, each times what is the same in all iterations."""
        match node:
            case ast.BinOp(left, ast.Add() | ast.Sub(), right):
                return self.is_affine(left) and self.is_affine(right)
            case ast.BinOp(left, ast.Mult(), right):
                factors = [each for each in (left, right) if self.variables_in(each)]
                return len(factors) <= 1 and all(map(self.is_affine, factors))
        return isinstance(node, ast.Name) or not self.variables_in(node)

    def corners(self, node: ast.expr, other: ast.expr) -> list[ast.expr]:
        """An affine expression where each variable of it, and of another one, has its least or most value."""
        variables = sorted({*self.variables_in(node), *self.variables_in(other)})
        corners = (dict(zip(variables, ends, strict=True))
                   for ends in itertools.product(*(self._ends[each] for each in variables)))  # fmt: skip
        return [expression(ast.unparse(node), **names) for names in corners]
