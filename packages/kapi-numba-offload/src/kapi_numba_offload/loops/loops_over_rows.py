"""Loops over the elements of rows in the body of a loop, as loops over indices."""

from __future__ import annotations

import ast
import copy

from kapi_numba_offload.loops.body_state import BodyState
from kapi_numba_offload.loops.loop_views import Rows
from kapi_numba_offload.loops.row_expressions import RowExpressions
from kapi_numba_offload.loops.syntax_parts import call_of, plus, variable

__all__ = ["as_loop_over_indices"]


def as_loop_over_indices(state: BodyState, expressions: RowExpressions, node: ast.For) -> ast.For:
    """`for x in row`, and the same over `enumerate` and `zip` of rows, as a loop over indices; others as they are."""
    function = state.names.value(node.iter.func) if isinstance(node.iter, ast.Call) else None
    made = None
    if function is enumerate:
        made = _enumerated(state, expressions, node)
    elif function is zip:
        made = _zipped(state, expressions, node)
    elif not isinstance(node.iter, ast.Call):
        made = _over(state, expressions, node, [(node.target, node.iter)], None)
    return node if made is None else made


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
    view = expressions.views.of(value)
    if view is not None:
        expressions.views.bind(name, view, value)
    else:
        state.expressions[name] = rows
    return name
