"""NumPy's functions of rows that give rows: sorted and summed up in private memory, or elements at other indices.

`numpy.sort`, `argsort`, `cumsum` and `cumprod` have their results before the statement, in an array of the work-item.
The rows of `numpy.diff`, `roll`, `flip` and `clip` are computed where they are used. `numpy.median` and its kind are
numbers of a sorted row.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from kapi_numba_offload.analysis.syntax import Part, expression, variable
from kapi_numba_offload.loops.body.functions import private_arrays
from kapi_numba_offload.loops.body.functions.combined_rows import combined
from kapi_numba_offload.loops.body.functions.row_calls import RowFunction
from kapi_numba_offload.loops.body.functions.row_reductions import start_of_sum, without_nans
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError, unsupported_option
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, Rows

__all__ = ["ARRAYS", "QUANTILES", "ROWS", "rounded", "RUNNING", "run", "sorted_values"]

_Given = Mapping[str, ast.expr]

# Shell's sort, by Knuth's gaps; nans come last. The lines with ORDER sort the positions of the values, of which the
# lower one comes first where values are equal.
_SORT = """
GAP = FIRST_GAP
while GAP > 0:
    for AT in range(GAP, LENGTH):
        X = VALUES[AT]
        OWN = ORDER[AT]
        TO = AT
        while TO >= GAP and COMES_FIRST:
            VALUES[TO] = VALUES[TO - GAP]
            ORDER[TO] = ORDER[TO - GAP]
            TO = TO - GAP
        VALUES[TO] = X
        ORDER[TO] = OWN
    GAP = GAP // 3
"""
_COMES_FIRST = "(X < OTHER or (OTHER != OTHER and X == X))"
_OWN_COMES_FIRST = f"({_COMES_FIRST} or (OWN < ORDER[TO - GAP] and not (OTHER < X or (X != X and OTHER == OTHER))))"

_MEDIAN = """
HALF = LENGTH // 2
RESULT = VALUES[HALF] / 1
if LENGTH % 2 == 0:
    RESULT = (VALUES[max(HALF - 1, 0)] + VALUES[HALF]) / 2
"""
_PERCENTILE = """
PLACE = max(LENGTH - 1, 0) * SHARE
LOW = int(PLACE)
X = kapi_np.float64(VALUES[LOW])
RESULT = X
if PLACE > LOW:
    Y = kapi_np.float64(VALUES[LOW + 1])
    if X != Y:
        RESULT = X * (1 - (PLACE - LOW)) + Y * (PLACE - LOW)
"""
_UNLESS_NAN = """
if LENGTH == 0 or VALUES[LENGTH - 1] != VALUES[LENGTH - 1]:
    RESULT = RESULT * kapi_np.nan
"""


def _sorted(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    values, length = sorted_values(state, rows, node)
    return private_arrays.full_part(state, values, [Extent(length)])


def _argsorted(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    order = private_arrays.like(state, rows, node, dtype="int64")
    _, length = sorted_values(state, rows, node, order)
    return private_arrays.full_part(state, order, [Extent(length)])


def sorted_values(state: BodyState, rows: Rows, node: ast.AST, order: str = "") -> tuple[str, ast.expr]:
    """A flat array with the sorted elements of rows, and their number; `order` is one for their positions."""
    values, length = private_arrays.flat(state, rows, node)
    gap, most = 1, state.launch.sizes[f"{values}.shape[0]"]
    while 3 * gap + 1 < most:
        gap = 3 * gap + 1
    text = "\n".join(line for line in _SORT.splitlines() if order or "ORDER" not in line)
    text = text.replace("COMES_FIRST", _OWN_COMES_FIRST if order else _COMES_FIRST).replace("OTHER", "VALUES[TO - GAP]")
    names = {each: state.new("s") for each in ("GAP", "AT", "TO", "X", "OWN")}
    if order:
        state.put("for AT in range(LENGTH):\n    ORDER[AT] = AT", node, AT=names["AT"], LENGTH=length, ORDER=order)
    state.put(text, node, **names, VALUES=values, ORDER=order, LENGTH=length, FIRST_GAP=gap)
    return values, length


def run(
    state: BodyState, rows: Rows, target: Callable[[list[ast.expr]], ast.expr], node: ast.Call, extent: Extent
) -> None:
    """Running sums or products of rows of rank 1, each stored to what `target`, of an extent, gives for its index."""
    name = str(state.called(node)[0])
    total, at = state.new("r"), variable(state.new("k"))
    state.started(total, start_of_sum(state, rows, name.removeprefix("cum")))
    text = f"for AT in range(LENGTH):\n    TOTAL {_OPERATIONS[name]}= ELEMENT\n    TARGET = TOTAL"
    holes: dict[str, Part] = {"AT": at.id, "LENGTH": rows.lengths[0], "TOTAL": total, "TARGET": target([at])}
    state.put(text, node, **holes, ELEMENT=rows.element([at]))
    is_one, differs = rows.shape[0].is_one, ast.unparse(rows.shape[0].length) != ast.unparse(extent.length)
    if differs and (is_one or (is_one is None and state.group is None)):
        text = "for AT in range(LENGTH, ALL):\n    TARGET = TOTAL"  # of the one element
        state.put(text, node, **holes, ALL=extent.length)


def _running(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    name = str(state.called(node)[0])
    start = start_of_sum(state, rows, name.removeprefix("cum"))
    sample = expression(f"START {_OPERATIONS[name]} FIRST", START=start, FIRST=rows.first)
    values = private_arrays.like(state, replace(rows, has_narrow_integers=False), node, sample=sample)
    run(state, rows, partial(private_arrays.stored, values), node, rows.shape[0])
    return private_arrays.full_part(state, values, rows.shape)


def _quantile(kind: str, *, leaves_nans: bool) -> RowFunction[ast.expr]:
    """The median, or a quantile of a constant share."""

    def made(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ast.expr:
        share = _share(state, given["q"], _SHARES[kind]) if "q" in given else None
        if (share is None) != (kind == "median"):
            raise unsupported_option(node)
        values, length = sorted_values(state, without_nans(rows) if leaves_nans else rows, node)
        names = {each: state.new("m") for each in ("HALF", "RESULT", "PLACE", "LOW", "X", "Y")}
        text = _MEDIAN if share is None else _PERCENTILE
        state.put(text + _UNLESS_NAN, node, **names, LENGTH=length, VALUES=values, SHARE=0 if share is None else share)
        return variable(names["RESULT"])

    return RowFunction(made, () if kind == "median" else ("q",), of_selections=True)


def _share(state: BodyState, node: ast.expr, full: float) -> float | None:
    """A constant share of `full`; None if it is no constant, or no share."""
    value = node.value if isinstance(node, ast.Constant) else state.names.value(node)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= full:
        return None
    return value / full


# -------------------------------------------------------------------------------- elements at other indices


def _flipped(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> Rows:
    return _moved(rows, "LENGTH - 1 - AT")


def _rolled(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> Rows:
    if "shift" not in given or state.rows(given["shift"]) is not None:
        raise unsupported_option(node)
    shift, length = state.frozen(state.scalar(given["shift"])), state.frozen(rows.lengths[0])
    return _moved(rows, "(AT - SHIFT) % LENGTH", SHIFT=shift, LENGTH=length)


def _differences(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> Rows:
    if rows.is_bool:
        raise NotInKernelError("`np.diff` of truth values", node)
    shape = (Extent(state.frozen(expression("max(LENGTH - 1, 0)", LENGTH=rows.lengths[0]))),)
    return combined(state, "subtract", [_moved(rows, "AT + 1", shape), _moved(rows, "AT", shape)], node)


def _clipped(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> Rows:
    for word, name in (("a_min", "maximum"), ("a_max", "minimum")):
        limit = given.get(word, ast.Constant(None))
        if state.rows(limit) is not None:
            raise NotInKernelError("`np.clip` by arrays", node)
        if not isinstance(limit, ast.Constant) or limit.value is not None:
            rows = rows.applied(name, state.frozen(state.scalar(limit)))
    return rows


def _moved(rows: Rows, text: str, shape: tuple[Extent, ...] | None = None, **holes: ast.expr) -> Rows:
    """The elements of rows at an index that a text gives for each axis, of its index and its length."""
    return rows.rearranged(shape or rows.shape, lambda at: [
        expression(text, **{"LENGTH": length, "AT": each, **holes})
        for length, each in zip(rows.lengths, at, strict=True)])  # fmt: skip


def rounded(state: BodyState, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Argument of NumPy's `round` or `around`, and the number of decimals; None for anything else."""
    name, operands = state.called(node) if isinstance(node, ast.Call) else (None, [])
    if not isinstance(node, ast.Call) or name not in ("round", "around"):
        return None
    if state.numpy_name(node) is None and (name != "round" or state.rows(operands[0]) is None):
        return None
    given = [*operands, *(each.value for each in node.keywords)]
    if not 1 <= len(given) <= 2 or any(each.arg != "decimals" for each in node.keywords):
        return None
    return given[0], given[1] if len(given) == 2 else ast.Constant(0)


def _filled(value: Callable[[Rows], Callable[[list[ast.expr]], ast.expr] | None]) -> RowFunction[ArrayPart]:
    return RowFunction(lambda state, rows, given, node: private_arrays.filled(state, rows, node, value(rows)))


ARRAYS: dict[str, RowFunction[ArrayPart]] = {
    "sort": RowFunction(_sorted, rank=1, of_selections=True),
    "argsort": RowFunction(_argsorted, ("kind",), rank=1, of_selections=True),
    "cumsum": RowFunction(_running, rank=1),
    "cumprod": RowFunction(_running, rank=1),
    "copy": _filled(lambda rows: rows.element),
    "zeros_like": _filled(lambda rows: None),
    "empty_like": _filled(lambda rows: None),
    "ones_like": _filled(lambda rows: lambda at: ast.Constant(1)),
}
"""The functions that give an array of its own, by NumPy's names."""
ROWS: dict[str, RowFunction[Rows | None]] = {
    "diff": RowFunction(_differences, rank=1), "roll": RowFunction(_rolled, ("shift",), rank=1),
    "flip": RowFunction(_flipped), "clip": RowFunction(_clipped, ("a_min", "a_max")),
}  # fmt: skip
"""Those that give rows, computed where they are used."""
_SHARES = {"median": 1.0, "quantile": 1.0, "percentile": 100.0}
QUANTILES = {name: _quantile(name.removeprefix("nan"), leaves_nans=name.startswith("nan"))
             for kind in _SHARES for name in (kind, f"nan{kind}")}  # fmt: skip
"""Those that give a number of sorted rows."""
_OPERATIONS = {"cumsum": "+", "cumprod": "*"}
RUNNING = dict.fromkeys(_OPERATIONS, RowFunction[Rows](lambda state, rows, given, node: rows, rank=1))
"""The rows that are summed up, or multiplied, as a result runs."""
