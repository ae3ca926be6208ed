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

from kapi_numba_offload.elements.expression import Leaf
from kapi_numba_offload.loops.body.functions.private_arrays import PrivateCopies
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import attribute, expression, variable
from kapi_numba_offload.loops.body.views import ArrayPart, RowLeaf, Rows

__all__ = ["SEARCHES", "Searches"]

_PARAMETERS = {
    "searchsorted": ("a", "v", "side", "sorter"),
    "digitize": ("x", "bins", "right"),
    "interp": ("x", "xp", "fp", "left", "right", "period"),
}
_SOUGHT = {"searchsorted": "v", "digitize": "x", "interp": "x"}
SEARCHES = frozenset(_PARAMETERS)
"""The functions by NumPy's names."""

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


_SPACED = "STOP if AT > 0 and AT == LAST else AT * STEP + START"


class Searches:
    """Writes searches.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    rows : callable
        What an expression is, element by element; None for numbers.
    scalar : callable
        An expression of rank 0, rewritten.
    """

    def __init__(
        self, state: BodyState, rows: Callable[[ast.expr], Rows | None], scalar: Callable[[ast.expr], ast.expr]
    ) -> None:
        self._state, self._rows, self._scalar = state, rows, scalar

    def made(self, node: ast.Call) -> ast.expr | None:
        """The number that a search of one number gives; None for other calls.

        Raises
        ------
        NotInKernelError
            For an option that is not written out.
        """
        called = self._called(node)
        return None if called is None else self._number(*called, node)

    def of_rows(self, node: ast.Call) -> ArrayPart | None:
        """An array with the numbers that a search of each element of a row gives; None for other calls.

        Raises
        ------
        NotInKernelError
            For an option that is not written out, and where there is no room.
        """
        called = self._called(node)
        if called is None or _SOUGHT[called[0]] not in called[1]:
            return None
        name, given = called
        values = self._rows(given[_SOUGHT[name]])
        if values is None or values.mask is not None:
            return None
        state, copies = self._state, PrivateCopies(self._state)
        found = copies.like(values, node, dtype=attribute("kapi_np", "float64" if name == "interp" else "int64"))

        def element(at: Sequence[ast.expr]) -> ast.expr:
            sought = state.assigned(state.new("v"), values.element(at))
            number = self._number(name, {**given, _SOUGHT[name]: sought}, node)
            if number is None:
                raise NotInKernelError(f"an option of `{ast.unparse(node)}`", node)
            return number

        copies.fill(found, values, node, element)
        return copies.full_part(found, values)

    def _called(self, node: ast.Call) -> tuple[str, dict[str, ast.expr]] | None:
        """Name and arguments of a search; None for other calls."""
        name, operands = self._state.numpy_name(node), list(node.args)
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "searchsorted"
        if name is None and is_method and self._rows(node.func.value) is not None:  # type: ignore[attr-defined]
            name, operands = "searchsorted", [node.func.value, *operands]  # type: ignore[attr-defined]
        if name not in SEARCHES:
            return None
        given = dict(zip(_PARAMETERS[name], operands, strict=False))
        return name, given | {each.arg: each.value for each in node.keywords if each.arg is not None}

    def _number(self, name: str, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
        if name == "searchsorted":
            return self._searchsorted(given, node)
        return self._digitize(given, node) if name == "digitize" else self._interp(given, node)

    def spaced(self, node: ast.expr) -> Rows | None:
        """The row that `numpy.linspace` makes; None for other expressions.

        Raises
        ------
        NotInKernelError
            For an option that is not written out.
        """
        if not isinstance(node, ast.Call) or self._state.numpy_name(node) != "linspace":
            return None
        given: dict[str, ast.expr] = {"num": ast.Constant(50), "endpoint": ast.Constant(True)}
        given |= dict(zip(("start", "stop", "num", "endpoint"), node.args, strict=False))
        given |= {each.arg: each.value for each in node.keywords if each.arg is not None}
        if given.keys() != {"start", "stop", "num", "endpoint"} or any(
            self._rows(given[name]) is not None for name in ("start", "stop", "num")
        ):
            raise NotInKernelError("np.linspace of arrays, or with further options", node)
        number, start, stop = (self._state.frozen(self._scalar(given[name])) for name in ("num", "start", "stop"))
        has_end = _literal(given["endpoint"], (False, True), node)
        spaces = expression("max(NUMBER - 1, 1)" if has_end else "max(NUMBER, 1)", {"NUMBER": number})
        first, last = (self._state.frozen(_as_float(each)) for each in (start, stop))
        step = self._state.frozen(expression("(STOP - START) / N", {"STOP": last, "START": first, "N": spaces}))

        def element(at: Sequence[ast.expr]) -> ast.expr:
            holes = {"AT": at[0], "LAST": _minus(number, 1), "STOP": last, "START": first, "STEP": step}
            return expression(_SPACED if has_end else "AT * STEP + START", holes)

        leaf = RowLeaf((number,), (None,), element)
        return Rows((number,), (None,), Leaf(0), (leaf,), frozenset())

    def _searchsorted(self, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
        row, value = self._operands(given, "a", "v", node, ("side",))
        if row is None or value is None:
            return None
        side = _literal(given.get("side", ast.Constant("left")), ("left", "right"), node)
        return self._search(row, value, is_right=side == "right", where=node)

    def _digitize(self, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
        row, value = self._operands(given, "bins", "x", node, ("right",))
        if row is None or value is None:
            return None
        is_right = not _literal(given.get("right", ast.Constant(False)), (False, True), node)
        length = self._state.frozen(row.lengths[0])
        # Bins may fall as well as rise.
        falls = self._state.kept(expression("LENGTH > 0 and FIRST > LAST", {
            "LENGTH": length, "FIRST": row.element([ast.Constant(0)]), "LAST": row.element([_minus(length, 1)]),
        }))  # fmt: skip

        def element(at: ast.expr) -> ast.expr:
            return row.element([expression("LENGTH - 1 - AT if FALLS else AT", {
                "LENGTH": length, "AT": at, "FALLS": falls})])  # fmt: skip

        found = self._search(row, value, is_right=is_right, where=node, element=element)
        return expression("LENGTH - FOUND if FALLS else FOUND", {"LENGTH": length, "FOUND": found, "FALLS": falls})

    def _interp(self, given: Mapping[str, ast.expr], node: ast.Call) -> ast.expr | None:
        row, value = self._operands(given, "xp", "x", node, ("fp", "left", "right"))
        heights = self._rows(given["fp"]) if "fp" in given else None
        if row is None or value is None or heights is None or len(heights.lengths) != 1 or heights.mask is not None:
            return None
        value = self._state.kept(_as_float(value))
        length = self._state.frozen(row.lengths[0])
        low = self._search(row, value, is_right=True, where=node)
        before, last = _minus(low, 1), _minus(length, 1)
        names = {name: self._state.new("v") for name in ("LAST", "RESULT", "SLOPE")}
        first_height, last_height = (_as_float(heights.element([each])) for each in (ast.Constant(0), last))
        holes = {
            "LENGTH": length, "V": value, "LOW": low,
            "X_LAST": _as_float(row.element([last])), "Y_LAST": last_height,
            "X_LOW": _as_float(row.element([before])), "X_HIGH": _as_float(row.element([low])),
            "Y_LOW": _as_float(heights.element([before])), "Y_HIGH": _as_float(heights.element([low])),
            "LEFT": _as_float(self._scalar(given["left"])) if "left" in given else first_height,
            "RIGHT": _as_float(self._scalar(given["right"])) if "right" in given else last_height,
        }  # fmt: skip
        self._state.put_lines_before(_INTERPOLATION, names, holes, node)
        return variable(names["RESULT"])

    def _operands(
        self, given: Mapping[str, ast.expr], row: str, value: str, node: ast.Call, options: Sequence[str]
    ) -> tuple[Rows | None, ast.expr | None]:
        """The row that is searched and the number, None for one that is something else."""
        if row not in given or value not in given:
            return None, None
        rows = self._rows(given[row])
        if rows is None or len(rows.lengths) != 1 or self._rows(given[value]) is not None:
            return None, None
        others = given.keys() - {row, value, *options}
        if rows.mask is not None or others:
            raise NotInKernelError(f"a search with {', '.join(sorted(others)) or 'what a mask selects'}", node)
        return rows, self._scalar(copy.deepcopy(given[value]))

    def _search(
        self,
        row: Rows,
        value: ast.expr,
        *,
        is_right: bool,
        where: ast.Call,
        element: Callable[[ast.expr], ast.expr] | None = None,
    ) -> ast.expr:
        """The number of elements that come before a value, or are equal to it."""
        names = {name: self._state.new("s") for name in ("LOW", "HIGH", "MIDDLE", "X")}
        at = variable(names["MIDDLE"])
        found = row.element([at]) if element is None else element(at)
        sought, length = self._state.kept(value), self._state.frozen(row.lengths[0])
        text = _SEARCH.replace("TEST", _IS_NOT_ABOVE if is_right else _IS_BELOW)
        self._state.put_lines_before(text, names, {"LENGTH": length, "ELEMENT": found, "V": sought}, where)
        self._state.lower.take_counter(names["LOW"])
        return variable(names["LOW"])


def _literal(node: ast.expr, values: Sequence[object], where: ast.Call) -> object:
    if not isinstance(node, ast.Constant) or node.value not in values:
        raise NotInKernelError("a search whose side is no literal", where)
    return node.value


def _as_float(value: ast.expr) -> ast.expr:
    return expression("kapi_np.float64(VALUE)", {"VALUE": value})


def _minus(value: ast.expr, number: int) -> ast.expr:
    return ast.BinOp(copy.deepcopy(value), ast.Sub(), ast.Constant(number))
