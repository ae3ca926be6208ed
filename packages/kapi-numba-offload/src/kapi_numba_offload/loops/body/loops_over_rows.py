"""Loops over the elements of rows in the body of a loop, as loops over indices."""

from __future__ import annotations

import ast
import copy

import numpy as np

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.loops.body.row_expressions import RowExpressions
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import call_of, plus, variable
from kapi_numba_offload.loops.body.views import Rows

__all__ = ["as_loop_over_indices"]


def as_loop_over_indices(state: BodyState, expressions: RowExpressions, node: ast.For) -> ast.For:
    """`for x in row`, and the same over `enumerate` and `zip` of rows, as a loop over indices; others as they are."""
    function = state.names.value(node.iter.func) if isinstance(node.iter, ast.Call) else None
    made = None
    if function is enumerate:
        made = _enumerated(state, expressions, node)
    elif function is zip:
        made = _zipped(state, expressions, node)
    elif function is np.ndindex or getattr(function, "__name__", None) == "ndindex":
        made = _over_indices(state, expressions, node)
    elif function is np.ndenumerate:
        made = _enumerated_by_indices(state, expressions, node)
    elif isinstance(node.iter, ast.Attribute) and node.iter.attr == "flat":
        made = _over_elements(state, expressions, node, node.iter.value, None, node.target)
    elif not isinstance(node.iter, ast.Call):
        made = _over(state, expressions, node, [(node.target, node.iter)], None)
    return node if made is None else made


def _over_indices(state: BodyState, expressions: RowExpressions, node: ast.For) -> ast.For | None:
    """`for i, j in np.ndindex(m, n)` as loops in each other."""
    assert isinstance(node.iter, ast.Call)
    args = list(node.iter.args)
    if len(args) == 1 and isinstance(args[0], ast.Tuple):
        args = args[0].elts
    elif len(args) == 1 and isinstance(args[0], ast.Attribute) and args[0].attr == "shape":
        rows = expressions.rows(args[0].value)
        args = args if rows is None else [copy.deepcopy(each) for each in rows.lengths]
    return None if not args or node.iter.keywords else _nested(state, node, args, node.target, None)


def _enumerated_by_indices(state: BodyState, expressions: RowExpressions, node: ast.For) -> ast.For | None:
    """`for index, x in np.ndenumerate(array)` as loops in each other."""
    assert isinstance(node.iter, ast.Call)
    if len(node.iter.args) != 1 or not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2:
        return None
    index, element = node.target.elts
    return _over_elements(state, expressions, node, node.iter.args[0], index, element)


def _over_elements(
    state: BodyState,
    expressions: RowExpressions,
    node: ast.For,
    value: ast.expr,
    index: ast.expr | None,
    element: ast.expr,
) -> ast.For | None:
    """A loop over all elements of an array in C order, with their indices if these have a target."""
    rows = expressions.rows(value)
    if rows is None:
        return None
    if rows.mask is not None:
        raise NotInKernelError("a loop over what a mask selects", node)
    name = _named(state, expressions, value, rows)
    return _nested(state, node, [copy.deepcopy(each) for each in rows.lengths], index, (element, name))


def _nested(
    state: BodyState,
    node: ast.For,
    lengths: list[ast.expr],
    index: ast.expr | None,
    element: tuple[ast.expr, str] | None,
) -> ast.For | None:
    """Loops in each other for one over indices, and the element of an array at them if that has a target and a name."""
    if node.orelse or (len(lengths) > 1 and has_break(node)):
        return None
    counters = [state.new("k") for _ in lengths]
    at = ast.Tuple([variable(each) for each in counters], ast.Load())
    body = list(node.body)
    if isinstance(index, ast.Name):
        stored = [each for part in body for each in ast.walk(part) if isinstance(each, ast.Name) and each.id == index.id
                  and not isinstance(each.ctx, ast.Load)]  # fmt: skip
        if not stored:
            body = [_AtIndex(index.id, counters).visit(each) for each in body]
    first: list[ast.stmt] = [] if index is None else [ast.Assign([index], copy.deepcopy(at))]
    if element is not None:
        full = copy.deepcopy(at) if len(counters) > 1 else variable(counters[0])
        first.append(ast.Assign([element[0]], ast.Subscript(variable(element[1]), full, ast.Load())))
    body = [*first, *body]
    for counter, length in zip(reversed(counters), reversed(lengths), strict=True):
        state.lower.take_counter(counter)
        body = [ast.For(ast.Name(counter, ast.Store()), call_of("range", length), body, [])]
    (loop,) = body
    assert isinstance(loop, ast.For)
    return ast.fix_missing_locations(ast.copy_location(loop, node))


class _AtIndex(ast.NodeTransformer):
    """The counters instead of an index that is a tuple: `a[index]` is `a[i, j]`, and `index[0]` is `i`."""

    def __init__(self, name: str, counters: list[str]) -> None:
        self._name, self._counters = name, counters

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Name) and node.slice.id == self._name:
            parts: list[ast.expr] = [variable(each) for each in self._counters]
            node.slice = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
        elif isinstance(node.value, ast.Name) and node.value.id == self._name:
            position = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(position, int) and 0 <= position < len(self._counters):
                return ast.copy_location(variable(self._counters[position]), node)
        return node


def _enumerated(state: BodyState, expressions: RowExpressions, node: ast.For) -> ast.For | None:
    assert isinstance(node.iter, ast.Call)
    if not node.iter.args or not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2 or node.iter.keywords:
        return None
    start = node.iter.args[1] if len(node.iter.args) == 2 else ast.Constant(0)
    counted = (node.target.elts[0], start)
    return _over(state, expressions, node, [(node.target.elts[1], node.iter.args[0])], counted)


def _zipped(state: BodyState, expressions: RowExpressions, node: ast.For) -> ast.For | None:
    assert isinstance(node.iter, ast.Call)
    if not isinstance(node.target, ast.Tuple) or len(node.target.elts) != len(node.iter.args):
        return None
    return _over(state, expressions, node, list(zip(node.target.elts, node.iter.args, strict=True)), None)


def _over(
    state: BodyState,
    expressions: RowExpressions,
    node: ast.For,
    pairs: list[tuple[ast.expr, ast.expr]],
    counted: tuple[ast.expr, ast.expr] | None,
) -> ast.For | None:
    """A loop over the elements of several rows at once."""
    rows = [expressions.rows(each) for _, each in pairs]
    if any(each is None for each in rows):
        return None
    if any(each is not None and each.mask is not None for each in rows):
        raise NotInKernelError("a loop over what a mask selects", node)
    counter = state.new("k")
    body: list[ast.stmt] = []
    lengths: list[ast.expr] = []
    for (target, value), each in zip(pairs, rows, strict=True):
        assert each is not None
        name = _named(state, expressions, value, each)
        body.append(ast.Assign([target], ast.Subscript(variable(name), variable(counter), ast.Load())))
        lengths.append(copy.deepcopy(each.lengths[0]))
    if counted is not None:
        body.append(ast.Assign([counted[0]], plus(variable(counter), counted[1])))
    state.lower.take_counter(counter)
    length = lengths[0] if len(lengths) == 1 else call_of("min", *lengths)
    loop = ast.For(ast.Name(counter, ast.Store()), call_of("range", length), [*body, *node.body], node.orelse)
    return ast.fix_missing_locations(ast.copy_location(loop, node))


def _named(state: BodyState, expressions: RowExpressions, value: ast.expr, rows: Rows) -> str:
    """A variable for what is iterated, as it is before the loop."""
    name = state.new("s")
    view = expressions.view(value)
    if view is not None:
        expressions.views.bind(name, view, value)
    else:
        state.expressions[name] = rows
    return name
