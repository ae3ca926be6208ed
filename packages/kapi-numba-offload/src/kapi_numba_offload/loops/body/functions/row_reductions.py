"""Reductions of rows to a number in the body of a loop: a loop before the statement for each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kapi_numba_offload.analysis.syntax import expression, flat_index, statements, variable
from kapi_numba_offload.elements.operation_source import syntax_of
from kapi_numba_offload.elements.reduction_operators import COMBINATIONS
from kapi_numba_offload.loops.body.functions import private_arrays
from kapi_numba_offload.loops.body.functions.combined_rows import combined
from kapi_numba_offload.loops.body.functions.row_calls import RowFunction
from kapi_numba_offload.loops.body.launches.launch_conditions import require_elements, require_equal
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import Extent, Rows, spelling

__all__ = ["REDUCTIONS", "counted", "dot_of_rows", "product", "start_of_sum", "total", "without_nans"]

_Reduction = Callable[[BodyState, Rows, ast.expr], ast.expr]


def product(state: BodyState, node: ast.expr) -> ast.expr | None:
    """The number that a product of two rows is; None if the expression is none."""
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            return _dot(state, [left, right], node)
        case ast.Call() if (called := state.called(node))[0] in ("dot", "inner", "vdot"):
            return _dot(state, called[1], node, conjugates=called[0] == "vdot")
    return None


def _dot(
    state: BodyState, operands: Sequence[ast.expr], node: ast.expr, *, conjugates: bool = False
) -> ast.expr | None:
    """The sum of products, in their own type: NumPy's `dot` of integers wraps where its `sum` has 64 bits."""
    known = [row for each in operands if (row := state.rows(each)) is not None]
    if not known:
        return None
    if isinstance(node, ast.Call) and node.keywords:
        raise NotInKernelError(f"a product that is stored by its function, {ast.unparse(node)}", node)
    if len(operands) != 2 or len(known) != 2 or any(len(each.shape) != 1 for each in known):
        raise NotInKernelError(f"a product of matrices, {ast.unparse(node)}", node)
    if conjugates and not all(state.kinds(row) <= {*"biuf"} for row in known):
        known[0] = known[0].applied("conjugate")
    return dot_of_rows(state, known, node)


def dot_of_rows(state: BodyState, operands: Sequence[Rows], node: ast.expr) -> ast.expr:
    """The sum of products of two rows of rank 1, in the type of the products."""
    require_equal(
        state, operands[0].shape, operands[1].shape, node, "lengths of the factors of a product must be equal"
    )
    rows = combined(state, "multiply", operands, node)
    if not rows.has_narrow_integers or rows.mask is not None:
        return total(state, rows, node)
    one = Rows((Extent(ast.Constant(1)),), rows.spelled, has_narrow_integers=True)
    so_far_array = private_arrays.like(state, one, node, sample=rows.first)
    so_far = expression("TOTAL[0]", TOTAL=so_far_array)
    state.put_loops(rows.shape, node, lambda at: statements(
        "TOTAL[0] = X", TOTAL=so_far_array, X=syntax_of("add", [so_far, rows.element(at)], has_numpy_integers=True)
    ))  # fmt: skip
    return so_far


def start_of_sum(state: BodyState, rows: Rows, name: str = "sum", *, in_floats: bool = False) -> ast.expr:
    """The number that a sum or product of rows starts with, of the type that NumPy gives the result."""
    kinds = state.kinds(rows)
    # A Python integer takes the type of the floats or integers that it is added to.
    if in_floats or not (rows.is_bool or kinds <= {*"biu"}):
        return _identity(name, float if in_floats else int)
    signed = rows.is_bool or bool(kinds & {*"bi"})
    return expression(f"kapi_np.{'int64' if signed else 'uint64'}(START)", START=_identity(name, int))


def total(state: BodyState, rows: Rows, node: ast.expr, name: str = "sum", *, in_floats: bool = False) -> ast.expr:
    """The sum or product of rows, in NumPy's type or in floats."""
    start = start_of_sum(state, rows, name, in_floats=in_floats)
    return _loop(state, rows, node, f"RESULT {'*' if name == 'prod' else '+'}= ELEMENT", RESULT=start)


def _mean(state: BodyState, rows: Rows, node: ast.expr) -> ast.expr:
    so_far = total(state, rows, node, in_floats=True)
    count = private_arrays.size(rows) if rows.mask is None else counted(state, rows, node)
    return expression("TOTAL / COUNT", TOTAL=so_far, COUNT=count)


def counted(state: BodyState, rows: Rows, node: ast.expr) -> ast.expr:
    """Number of elements that a mask selects."""
    assert rows.mask is not None
    return total(state, rows.mask, node)


def _variance(state: BodyState, rows: Rows, node: ast.expr) -> ast.expr:
    mean = state.kept(_mean(state, rows, node))
    return _mean(state, _squares(rows.applied("subtract", mean)), node)


def _root(of_rows: _Reduction) -> _Reduction:
    return lambda state, rows, node: expression("kapi_np.sqrt(X)", X=of_rows(state, rows, node))


def _squares(rows: Rows) -> Rows:
    """The squares of absolute values, in floats: squares of complex numbers are complex, and those of integers wrap."""
    return rows.applied("absolute").applied("multiply", ast.Constant(1.0)).applied("square")


def _range(state: BodyState, rows: Rows, node: ast.expr) -> ast.expr:
    largest = state.kept(_MADE["max"](state, rows, node))
    return expression("LARGEST - LEAST", LARGEST=largest, LEAST=_MADE["min"](state, rows, node))


def _extremum(order: str, others: str, then: str = "") -> _Reduction:
    """The least or largest element; `others` is the condition by which one of no order takes its place."""

    def made(state: BodyState, rows: Rows, node: ast.expr) -> ast.expr:
        require_elements(state, rows.shape, node)
        text = f"X = ELEMENT\nif X {order} BEST or {others}:\n    BEST = X\n    {then}"
        starts = {"RESULT": ast.Constant(0)} if then else {}
        return _loop(state, rows, node, text, **starts, BEST=rows.first)

    return made


def _truth(name: str, test: str) -> _Reduction:
    start = _identity(name, bool)
    text = f"if {test}:\n    RESULT = {not start.value}"
    return lambda state, rows, node: _loop(state, rows, node, text, RESULT=start)


def _loop(state: BodyState, rows: Rows, node: ast.expr, text: str, **starts: ast.expr) -> ast.expr:
    """A loop over all elements that does what `text` says, and the first of the variables that it begins with."""
    names = {name: state.new("r") for name in starts}
    for name, start in starts.items():
        state.started(names[name], ast.copy_location(start, node))
    own = state.new("e")

    def update(at: list[ast.expr]) -> list[ast.stmt]:
        return statements(text, **names, X=own, ELEMENT=rows.element(at), AT=flat_index(at, rows.lengths))

    state.put_loops(rows.shape, node, update, rows.mask)
    return variable(next(iter(names.values())))


def _identity(name: str, kind: type[bool | int | float]) -> ast.Constant:
    """The number that a reduction starts with."""
    return ast.Constant(COMBINATIONS[name].identity(np.dtype(kind)).item())


def without_nans(rows: Rows) -> Rows:
    """The elements of rows that are numbers, of those that a mask selects."""
    numbers = replace(rows, spelled=spelling("equal", [rows, rows]), is_bool=True, mask=None)
    if rows.mask is not None:
        numbers = replace(numbers, spelled=spelling("bitwise_and", [numbers, rows.mask]))
    return replace(rows, mask=numbers)


_IS_FIRST_NAN = "(X != X and BEST == BEST)"  # one that is not a number is both least and largest, as in NumPy
_IS_NAN = "BEST != BEST"  # without nans: the result is nan if there is none else

_MADE: dict[str, _Reduction] = {
    "sum": total,
    "prod": lambda state, rows, node: total(state, rows, node, "prod"),
    "mean": _mean,
    "var": _variance,
    "std": _root(_variance),
    "linalg.norm": _root(lambda state, rows, node: total(state, _squares(rows), node, in_floats=True)),
    "count_nonzero": lambda state, rows, node: (
        total(state, rows.applied("not_equal", ast.Constant(0), is_bool=True), node)),
    "any": _truth("any", "ELEMENT != 0"),
    "all": _truth("all", "ELEMENT == 0"),
    "ptp": _range,
    "min": _extremum("<", _IS_FIRST_NAN),
    "max": _extremum(">", _IS_FIRST_NAN),
    "argmin": _extremum("<", _IS_FIRST_NAN, "RESULT = AT"),
    "argmax": _extremum(">", _IS_FIRST_NAN, "RESULT = AT"),
    "nanmin": _extremum("<", _IS_NAN),
    "nanmax": _extremum(">", _IS_NAN),
}  # fmt: skip
_MADE |= {"amin": _MADE["min"], "amax": _MADE["max"]}
_OF_NONE = ("sum", "prod", "mean", "var", "std", "linalg.norm", "count_nonzero", "any", "all")
"""The reductions that have a value of no element."""


def _reduction(reduce: _Reduction, *, leaves_nans: bool = False) -> RowFunction[ast.expr]:
    return RowFunction(
        lambda state, rows, given, node: reduce(state, without_nans(rows) if leaves_nans else rows, node),
        of_selections=any(reduce is _MADE[each] for each in _OF_NONE),
    )


REDUCTIONS = {name: _reduction(each) for name, each in _MADE.items()} | {
    f"nan{name}": _reduction(_MADE[name], leaves_nans=True) for name in ("sum", "prod", "mean", "var", "std")
}
"""The reductions by NumPy's names."""
