"""Arrays of as many elements as a row turns out to have: positions, different values, counts; rows at positions.

`numpy.nonzero` and its kind, `numpy.unique` and `numpy.bincount` have their results before the statement, in an array
of the work-item that has room for the most that there may be. What is at positions, `row[found]`, is computed where it
is used.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kapi_numba_offload.analysis.syntax import expression, flat_index, indices_of, statements, variable
from kapi_numba_offload.loops.body.functions import private_arrays
from kapi_numba_offload.loops.body.functions.row_calls import RowFunction, made_by
from kapi_numba_offload.loops.body.functions.row_functions import sorted_values
from kapi_numba_offload.loops.body.launches.launch_conditions import require_equal
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError, unsupported_option
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, Rows

__all__ = ["POSITIONS", "nonzero_positions", "selected"]

_Given = Mapping[str, ast.expr]

_DIFFERENT = """
COUNT = 0
for AT in range(LENGTH):
    X = VALUES[AT]
    LAST = VALUES[max(COUNT - 1, 0)]
    if COUNT == 0 or (X != LAST and (X == X or LAST == LAST)):
        VALUES[COUNT] = X
        COUNT += 1
"""
_COUNTED = """
NUMBER = MINIMUM
for AT in range(LENGTH):
    NUMBER = max(NUMBER, kapi_np.int64(ELEMENT) + 1)
    COUNTS[kapi_np.int64(ELEMENT)] += WEIGHT
"""
_BYTES = 256


def nonzero_positions(state: BodyState, node: ast.Call) -> list[ArrayPart] | None:
    """Positions that `numpy.nonzero` gives, an array for each axis; None for other calls."""
    is_elementwise = len(state.called(node)[1]) > 1  # `numpy.where` of three operands
    return None if is_elementwise else made_by(_NONZERO, state, node)


def _flat_positions(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    (found,) = _positions(state, rows, node, 1, lambda at: [flat_index(at, rows.lengths)])
    return found


def _positions_in_column(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    return replace(_flat_positions(state, rows, given, node), order=(0, None))


def _positions(
    state: BodyState, rows: Rows, node: ast.Call, axes: int, position: Callable[[list[ast.expr]], list[ast.expr]]
) -> list[ArrayPart]:
    """Arrays of the positions of elements that are not 0, by what `position` makes of an index."""
    arrays = [private_arrays.like(state, rows, node, is_flat=True, dtype="int64") for _ in range(axes)]
    count = _count(state, arrays[0])

    def found(at: list[ast.expr]) -> list[ast.stmt]:
        stores = [statements("ARRAY[COUNT] = AT", ARRAY=each, COUNT=count, AT=own)
                  for each, own in zip(arrays, position(at), strict=True)]  # fmt: skip
        text = "if ELEMENT != 0:\n    STORES\n    COUNT += 1"
        return statements(text, ELEMENT=rows.element(at), STORES=[one for each in stores for one in each], COUNT=count)

    state.put_loops(rows.shape, node, found)
    return [ArrayPart.full(each, [Extent(variable(count))]) for each in arrays]


def _different_values(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    values, length = sorted_values(state, rows, node)
    count = _count(state, values)
    names = {each: state.new("s") for each in ("AT", "X", "LAST")}
    state.put(_DIFFERENT, node, **names, VALUES=values, LENGTH=length, COUNT=count)
    return ArrayPart.full(values, [Extent(variable(count))])


def _counted_values(state: BodyState, rows: Rows, given: _Given, node: ast.Call) -> ArrayPart:
    """The counts of bytes, of which there are 256."""
    weights = state.rows(given["weights"]) if "weights" in given else None
    least = given.get("minlength", ast.Constant(0))
    are_bytes = {state.dtype(each.array) for each in rows.reads} == {np.dtype("uint8")}
    if not are_bytes or not isinstance(least, ast.Constant) or not isinstance(least.value, int) or least.value < 0:
        raise NotInKernelError(f"an array of a length that values decide, {ast.unparse(node)}", node)
    if ("weights" in given and weights is None) or (weights and weights.mask):
        raise unsupported_option(node)
    if weights is not None:
        require_equal(state, weights.shape, rows.shape, node, "length of the weights must be that of the row")
    room = Rows.of((Extent(ast.Constant(max(least.value, _BYTES))),), lambda at: ast.Constant(0))
    counts = private_arrays.like(state, room, node, dtype="int64" if weights is None else "float64")
    count, at = _count(state, counts), variable(state.new("k"))
    weight = ast.Constant(1) if weights is None else weights.element([at])
    state.put(_COUNTED, node, COUNTS=counts, NUMBER=count, MINIMUM=least, AT=at.id, LENGTH=rows.lengths[0],
              ELEMENT=rows.element([at]), WEIGHT=weight)  # fmt: skip
    return ArrayPart.full(counts, [Extent(variable(count))])


def selected(state: BodyState, node: ast.Subscript, indices: Sequence[ast.expr]) -> Rows:
    """Elements of an array where a row is true, and at positions that are a row: `array[row > 0]`, `array[i, found]`.

    The other indices are numbers and slices; as the row has the place of its axis, no slice may be between it and a
    number.
    """
    others = list(indices)
    number = next(number for number, each in enumerate(others) if state.is_row(each))
    row = state.rows(others[number])
    others[number] = ast.Slice()
    advanced = [at for at, each in enumerate(indices) if not isinstance(each, ast.Slice)]
    rest = ast.Subscript(node.value, ast.Tuple(others, ast.Load()), ast.Load())
    owner = state.rows(node.value if len(others) == 1 else ast.copy_location(rest, node))
    if (
        row is None or owner is None or row.mask is not None or owner.mask is not None or any(map(state.is_row, others))
        or any(isinstance(each, ast.Constant) and each.value in (None, ...) for each in indices)
        or advanced[-1] - advanced[0] >= len(advanced)
    ):  # fmt: skip
        raise NotInKernelError("an index that is an array", node)
    if _is_mask(state, indices[number], row) and len(row.shape) == len(owner.shape):
        require_equal(state, row.shape, owner.shape, node, "lengths of a mask must be those of the row")
        return replace(owner, mask=replace(row, is_bool=True), reads=owner.reads | row.reads)
    if len(row.shape) != 1 or not state.holds_integers(row):
        raise NotInKernelError("an index that is an array", node)
    axis = sum(isinstance(each, ast.Slice) for each in others[:number])
    length = owner.shape[axis].length

    def element(at: Sequence[ast.expr]) -> ast.expr:
        position = expression("kapi_wrapped_index(AT, LENGTH)", AT=row.element([at[axis]]), LENGTH=length)
        return owner.element([*at[:axis], position, *at[axis + 1 :]])

    shape = (*owner.shape[:axis], row.shape[0], *owner.shape[axis + 1 :])
    reads = owner.elsewhere.reads | row.reads
    return Rows.of(shape, element, reads=reads, has_narrow_integers=owner.has_narrow_integers)


def _is_mask(state: BodyState, node: ast.expr, rows: Rows) -> bool:
    is_selection = isinstance(node, ast.Subscript) and any(map(state.is_row, indices_of(node)))
    view = None if rows.is_bool or is_selection else state.view(node)
    return rows.is_bool or (view is not None and state.kind(view.array) == "b")


def _count(state: BodyState, array: str) -> str:
    """A variable for the number of elements that a flat array has."""
    count, most = state.new("n"), state.launch.sizes[f"{array}.shape[0]"]
    state.started(count, ast.Constant(0))
    state.launch.bounds[count] = lambda: most
    state.lower.take_counter(count)
    return count


_NONZERO = dict.fromkeys(("nonzero", "where"), RowFunction[list[ArrayPart]](
    lambda state, rows, given, node: _positions(state, rows, node, len(rows.shape), lambda at: at)))  # fmt: skip
POSITIONS = {
    "flatnonzero": RowFunction(_flat_positions), "argwhere": RowFunction(_positions_in_column, rank=1),
    "unique": RowFunction(_different_values, of_selections=True),
    "bincount": RowFunction(_counted_values, ("weights", "minlength"), rank=1),
}  # fmt: skip
"""The functions that give an array of as many elements as a row turns out to have, by NumPy's names."""
