"""NumPy's searches of one number in a sorted row, and rows of evenly spaced numbers.

A search is a loop before the statement, which halves the row.

`numpy.searchsorted`, `numpy.digitize` and `numpy.interp` are written out here, with NumPy's order of nans: they come
last. The row may be any part of an array, or an expression of parts. `numpy.linspace` is a row whose elements are
computed where they are used.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence

from kapi_numba_offload.analysis.syntax import expression, named_arguments, variable
from kapi_numba_offload.loops.body.functions.private_arrays import filled
from kapi_numba_offload.loops.body.launches.launch_conditions import require_elements, require_equal
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError, unsupported_option
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, Rows

__all__ = ["searched", "searched_rows", "spaced"]

_SEARCH = """
LOW = 0
HIGH = LENGTH
while LOW < HIGH:
    MIDDLE = (LOW + HIGH) // 2
    X = ELEMENT
    if TEST:
        LOW = MIDDLE + 1
    else:
        HIGH = MIDDLE
"""
_IS_BELOW = "X < V or (V != V and X == X)"
_IS_NOT_ABOVE = "not (V < X or (X != X and V == V))"

_INTERPOLATION = """
LAST = LENGTH - 1
if V != V:
    RESULT = V
elif LOW == 0:
    RESULT = LEFT
elif LOW > LAST:
    RESULT = RIGHT if V > X_LAST else Y_LAST
else:
    SLOPE = (Y_HIGH - Y_LOW) / (X_HIGH - X_LOW)
    RESULT = SLOPE * (V - X_LOW) + Y_LOW
    if V == X_LOW:
        RESULT = Y_LOW
    elif RESULT != RESULT:
        RESULT = SLOPE * (V - X_HIGH) + Y_HIGH
        if RESULT != RESULT and Y_LOW == Y_HIGH:
            RESULT = Y_LOW
"""

_SPACED = "STOP if AT > 0 and AT == NUMBER - 1 else AT * STEP + START"


def searched(state: BodyState, node: ast.Call) -> ast.expr | None:
    """The number that a search of one number gives; None for other calls."""
    called = _called(state, node)
    return None if called is None else _SEARCHES[called[0]][0](state, called[1], node)


def searched_rows(state: BodyState, node: ast.Call) -> ArrayPart | None:
    """An array with the numbers that a search of each element of a row gives; None for other calls."""
    name, given = _called(state, node) or ("", {})
    make, _, sought = _SEARCHES.get(name, (None, (), ""))
    values = state.rows(given[sought]) if sought in given else None
    if make is None or values is None or values.mask is not None:
        return None

    def element(at: Sequence[ast.expr]) -> ast.expr:
        value = state.assigned(state.new("v"), values.element(at))
        number = make(state, {**given, sought: value}, node)
        if number is None:
            raise unsupported_option(node)
        return number

    return filled(state, values, node, element, dtype="float64" if name == "interp" else "int64")


def _called(state: BodyState, node: ast.Call) -> tuple[str, dict[str, ast.expr]] | None:
    """Name and arguments of a search; None for other calls."""
    name, operands = state.called(node)
    is_method = state.numpy_name(node) is None
    if name not in _SEARCHES or (is_method and (name != "searchsorted" or state.rows(operands[0]) is None)):
        return None
    return name, named_arguments(node, _SEARCHES[name][1], operands)


def spaced(state: BodyState, node: ast.Call) -> Rows | None:
    """The row that `numpy.linspace` makes; None for other calls."""
    if state.numpy_name(node) != "linspace":
        return None
    given: dict[str, ast.expr] = {"num": ast.Constant(50), "endpoint": ast.Constant(True)}
    given |= named_arguments(node, ("start", "stop", "num", "endpoint"))
    if given.keys() != {"start", "stop", "num", "endpoint"} or any(
        state.rows(given[name]) is not None for name in ("start", "stop", "num")
    ):
        raise NotInKernelError("np.linspace of arrays, or with further options", node)
    number, start, stop = (state.frozen(state.scalar(given[name])) for name in ("num", "start", "stop"))
    has_end = _literal(given["endpoint"], (False, True), node)
    first, last = (state.frozen(_as_float(each)) for each in (start, stop))
    spaces = "max(NUMBER - 1, 1)" if has_end else "max(NUMBER, 1)"
    step = state.frozen(expression(f"(STOP - START) / {spaces}", STOP=last, START=first, NUMBER=number))
    text = _SPACED if has_end else "AT * STEP + START"
    return Rows.of((Extent(number),), lambda at: expression(
        text, AT=at[0], NUMBER=number, STOP=last, START=first, STEP=step))  # fmt: skip


def _searchsorted(state: BodyState, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
    row, value = _operands(state, given, "a", "v", node, ("side",))
    if row is None or value is None:
        return None
    side = _literal(given.get("side", ast.Constant("left")), ("left", "right"), node)
    return _search(state, row, value, node, is_right=side == "right")


def _digitize(state: BodyState, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
    row, value = _operands(state, given, "bins", "x", node, ("right",))
    if row is None or value is None:
        return None
    is_right = not _literal(given.get("right", ast.Constant(False)), (False, True), node)
    length = state.frozen(row.lengths[0])
    ends = {"FIRST": row.first, "LAST": row.element([expression("LENGTH - 1", LENGTH=length)])}
    # Bins may fall as well as rise.
    falls = state.kept(expression("LENGTH > 0 and FIRST > LAST", LENGTH=length, **ends))
    text = "LENGTH - 1 - AT if FALLS else AT"
    turned = row.rearranged(row.shape, lambda at: [expression(text, LENGTH=length, AT=at[0], FALLS=falls)])
    found = _search(state, turned, value, node, is_right=is_right)
    return expression("LENGTH - FOUND if FALLS else FOUND", LENGTH=length, FOUND=found, FALLS=falls)


def _interp(state: BodyState, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
    row, value = _operands(state, given, "xp", "x", node, ("fp", "left", "right"))
    heights = state.rows(given["fp"]) if "fp" in given else None
    if row is None or value is None or heights is None or len(heights.shape) != 1 or heights.mask is not None:
        return None
    require_elements(state, row.shape, node)
    require_equal(state, row.shape, heights.shape, node, "xp and fp of np.interp must have the same length")
    value = state.kept(_as_float(value))
    length = state.frozen(row.lengths[0])
    low = _search(state, row, value, node, is_right=True)
    names = {name: state.new("v") for name in ("LAST", "RESULT", "SLOPE")}
    positions = {
        "FIRST": ast.Constant(0), "LAST": expression("LENGTH - 1", LENGTH=length),
        "LOW": expression("LOW - 1", LOW=low), "HIGH": low,
    }  # fmt: skip
    parts = {f"{axis}_{position}": _as_float(of.element([at]))
             for axis, of in (("X", row), ("Y", heights)) for position, at in positions.items()}  # fmt: skip
    outside = {word.upper(): _as_float(state.scalar(given[word])) if word in given else parts[f"Y_{position}"]
               for word, position in (("left", "FIRST"), ("right", "LAST"))}  # fmt: skip
    state.put(_INTERPOLATION, node, **names, **parts, **outside, LENGTH=length, V=value, LOW=low)
    return variable(names["RESULT"])


def _operands(
    state: BodyState, given: Mapping[str, ast.expr], row: str, value: str, node: ast.Call, options: Sequence[str]
) -> tuple[Rows | None, ast.expr | None]:
    """The row that is searched and the number, None for one that is something else."""
    if row not in given or value not in given:
        return None, None
    rows = state.rows(given[row])
    if rows is None or len(rows.shape) != 1 or state.rows(given[value]) is not None:
        return None, None
    others = given.keys() - {row, value, *options}
    if rows.mask is not None or others:
        raise NotInKernelError(f"a search with {', '.join(sorted(others)) or 'what a mask selects'}", node)
    return rows, state.scalar(copy.deepcopy(given[value]))


def _search(state: BodyState, row: Rows, value: ast.expr, where: ast.Call, *, is_right: bool) -> ast.expr:
    """The number of elements that come before a value, or are equal to it."""
    names = {name: state.new("s") for name in ("LOW", "HIGH", "MIDDLE", "X")}
    found = row.element([variable(names["MIDDLE"])])
    sought, length = state.kept(value), state.frozen(row.lengths[0])
    text = _SEARCH.replace("TEST", _IS_NOT_ABOVE if is_right else _IS_BELOW)
    state.put(text, where, **names, LENGTH=length, ELEMENT=found, V=sought)
    state.lower.take_counter(names["LOW"])
    return variable(names["LOW"])


def _literal(node: ast.expr, values: Sequence[object], where: ast.Call) -> object:
    if not isinstance(node, ast.Constant) or node.value not in values:
        raise NotInKernelError("a search whose side is no literal", where)
    return node.value


def _as_float(value: ast.expr) -> ast.expr:
    return expression("kapi_np.float64(VALUE)", VALUE=value)


_Search = Callable[[BodyState, Mapping[str, ast.expr], ast.Call], ast.expr | None]

_SEARCHES: dict[str, tuple[_Search, tuple[str, ...], str]] = {
    "searchsorted": (_searchsorted, ("a", "v", "side", "sorter"), "v"),
    "digitize": (_digitize, ("x", "bins", "right"), "x"),
    "interp": (_interp, ("x", "xp", "fp", "left", "right", "period"), "x"),
}
"""The writer of a search, by NumPy's names, its parameters, and that of the number."""
