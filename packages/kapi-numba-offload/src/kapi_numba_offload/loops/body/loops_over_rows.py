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
    elif not isinstance(node.iter, ast.Call):
        value = node.iter
        if isinstance(value, ast.Attribute) and value.attr == "flat":
            rows = expressions.rows(value.value)
            value = value.value if rows is not None and len(rows.lengths) == 1 else value
        made = _over(state, expressions, node, [(node.target, value)], None)
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
    is_nested = len(args) > 1
    if not args or node.iter.keywords or (is_nested and has_break(node)) or node.orelse:
        return None
    counters = [state.new("k") for _ in args]
    index = ast.Tuple([variable(each) for each in counters], ast.Load())
    target = node.target
    single = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) == 1 else target
    value: ast.expr = index.elts[0] if len(args) == 1 else index
    if len(args) == 1 and single is target and not isinstance(target, ast.Name):
        return None
    body: list[ast.stmt] = [ast.Assign([single], value), *node.body]
    for counter, length in zip(reversed(counters), reversed(args), strict=True):
        state.lower.take_counter(counter)
        body = [ast.For(ast.Name(counter, ast.Store()), call_of("range", length), body, [])]
    (loop,) = body
    assert isinstance(loop, ast.For)
    return ast.fix_missing_locations(ast.copy_location(loop, node))


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
