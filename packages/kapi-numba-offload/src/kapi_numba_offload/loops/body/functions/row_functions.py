"""NumPy's functions of rows that give rows: sorted and summed up in private memory, or elements at other indices.

`numpy.sort`, `argsort`, `cumsum` and `cumprod` have their results before the statement, in an array of the work-item.
The rows of `numpy.diff`, `roll`, `flip` and `clip` are computed where they are used. `numpy.median` and its kind are
numbers of a sorted row.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kapi_numba_offload.elements.expression import Apply, Leaf
from kapi_numba_offload.loops.body.functions.private_arrays import PrivateCopies, array_of_numbers
from kapi_numba_offload.loops.body.functions.row_reductions import RowReductions, without_nans
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import attribute, counted_loop, expression, variable
from kapi_numba_offload.loops.body.view_reading import ViewReader
from kapi_numba_offload.loops.body.views import ArrayPart, RowLeaf, Rows

__all__ = ["RowFunctions"]

# Shell's sort, by Knuth's gaps; nans come last.
_SORT = """
GAP = FIRST_GAP
while GAP > 0:
    for AT in range(GAP, LENGTH):
        X = VALUES[AT]
        TO = AT
        while TO >= GAP and COMES_FIRST:
            VALUES[TO] = VALUES[TO - GAP]
            TO = TO - GAP
        VALUES[TO] = X
    GAP = GAP // 3
"""
_COMES_FIRST = "(X < VALUES[TO - GAP] or (VALUES[TO - GAP] != VALUES[TO - GAP] and X == X))"

# The same with the positions of the values, of which the lower one comes first where values are equal.
_ARGSORT = """
for AT in range(LENGTH):
    ORDER[AT] = AT
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
_OWN_COMES_FIRST = (
    f"({_COMES_FIRST} or (OWN < ORDER[TO - GAP] "
    "and not (VALUES[TO - GAP] < X or (X != X and VALUES[TO - GAP] == VALUES[TO - GAP]))))"
)

_MEDIAN = """
HALF = LENGTH // 2
RESULT = VALUES[HALF] / 1
if LENGTH % 2 == 0:
    RESULT = (VALUES[max(HALF - 1, 0)] + VALUES[HALF]) / 2
if LENGTH == 0:
    RESULT = RESULT * kapi_np.nan
elif VALUES[LENGTH - 1] != VALUES[LENGTH - 1]:
    RESULT = VALUES[LENGTH - 1] / 1
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
if LENGTH == 0:
    RESULT = RESULT * kapi_np.nan
elif VALUES[LENGTH - 1] != VALUES[LENGTH - 1]:
    RESULT = kapi_np.float64(VALUES[LENGTH - 1])
"""


class RowFunctions:
    """Writes such functions.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    views : ViewReader
        Reads views.
    reductions : RowReductions
        Writes reductions.
    rows : callable
        What an expression is, element by element; None for numbers.
    scalar : callable
        An expression of rank 0, rewritten.
    searched : callable
        The array of numbers that a search of each number of a row gives; None for other calls.
    """

    def __init__(
        self,
        state: BodyState,
        views: ViewReader,
        reductions: RowReductions,
        rows: Callable[[ast.expr], Rows | None],
        scalar: Callable[[ast.expr], ast.expr],
        searched: Callable[[ast.Call], ArrayPart | None],
    ) -> None:
        self._state, self._views, self._reductions = state, views, reductions
        self._rows, self._scalar, self._searched = rows, scalar, searched
        self._copies = PrivateCopies(state)

    # ------------------------------------------------------------------------------- rows in private memory

    def take_kept(self, statement: ast.stmt) -> None:
        """Put variables in place of a statement's calls that give arrays, which are made before it."""
        made = _KeptCalls(self._state, self.kept)
        for field, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, field, made.visit(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                setattr(statement, field, [made.visit(each) for each in value])

    def kept(self, node: ast.expr) -> ArrayPart | None:
        """The array that a call gives; None for other expressions, and for functions of numbers.

        Raises
        ------
        NotInKernelError
            For an option that is not written out, and where there is no room.
        """
        if not isinstance(node, ast.Call):
            return None
        name, operands = self._state.called(node)
        if name not in _KEPT or not operands:
            return self._searched(node) or array_of_numbers(self._state, node, self._scalar)
        rows = self._rows(operands[0])
        if rows is None:
            return None
        words = {each.arg for each in node.keywords}
        if len(operands) > 1 or not words <= ({"kind"} if name == "argsort" else set()):
            raise NotInKernelError(f"an option of `{ast.unparse(node)}`", node)
        return _KEPT[name](self, rows, node)

    def temporary(self, rows: Rows, node: ast.AST) -> ArrayPart | None:
        """A copy of rows in private memory; None if there is no room for it."""
        return self._copies.copy(rows, node) if rows.mask is None and self._copies.fits(rows) else None

    def room(self, rows: Rows, node: ast.AST) -> ArrayPart:
        """An array with room for rows; raises `NotInKernelError` if there is none."""
        return self._copies.full_part(self._copies.like(rows, node), rows)

    def sorted(self, rows: Rows, node: ast.AST) -> ArrayPart:
        """Rows of rank 1, sorted."""
        _require_rank_one(rows, node)
        values, length = self._sorted(rows, node)
        return self._copies.full_part(values, replace(rows, lengths=(length,), ones=(None,), mask=None))

    def running(self, name: str, rows: Rows, target: Callable[[ast.expr], ast.expr], node: ast.AST) -> None:
        """Running sums or products of rows of rank 1, each stored to what `target` gives for its index."""
        total, counter = self._state.new("r"), self._state.new("k")
        self._state.assigned(total, self._reductions.start(rows, is_product=name == "cumprod"))
        at = variable(counter)
        added = ast.AugAssign(ast.Name(total, ast.Store()), _OPERATIONS[name](), rows.element([at]))
        stored = ast.Assign([target(at)], variable(total))
        self._state.put_before(counted_loop(counter, copy.deepcopy(rows.lengths[0]), [added, stored]), node)

    def running_name(self, node: ast.Call) -> tuple[str, Rows] | None:
        """Name and rows of a running sum or product of rank 1; None for anything else."""
        if node.keywords:
            return None
        name, operands = self._state.called(node)
        rows = self._rows(operands[0]) if name in ("cumsum", "cumprod") and len(operands) == 1 else None
        return None if rows is None or name is None or len(rows.lengths) != 1 or rows.mask is not None else (name, rows)

    def _running(self, name: str, rows: Rows, node: ast.AST) -> ArrayPart:
        _require_rank_one(rows, node)
        if rows.mask is not None:
            raise NotInKernelError("a running sum of what a mask selects", node)
        start = self._reductions.start(rows, is_product=name == "cumprod")

        def total(element: ast.expr) -> ast.expr:
            return ast.BinOp(copy.deepcopy(start), _OPERATIONS[name](), element)

        values = self._copies.like(rows, node, value=total)
        self.running(name, rows, lambda at: ast.Subscript(variable(values), at, ast.Store()), node)
        return self._copies.full_part(values, rows)

    def _argsorted(self, rows: Rows, node: ast.AST) -> ArrayPart:
        _require_rank_one(rows, node)
        order = self._copies.like(rows, node, dtype=attribute("kapi_np", "int64"))
        _, length = self._sorted(rows, node, order)
        return self._copies.full_part(order, replace(rows, lengths=(length,), ones=(None,), mask=None))

    def _sorted(self, rows: Rows, node: ast.AST, order: str | None = None) -> tuple[str, ast.expr]:
        """A flat array with the sorted elements of rows, and their number; `order` is one for their positions."""
        values, length = self._copies.flat(rows, node)
        names = {each: self._state.new("s") for each in ("GAP", "AT", "TO", "X", "OWN")}
        names |= {"VALUES": values, "ORDER": order or ""}
        gap, most = 1, self._state.sizes[f"{values}.shape[0]"]
        while 3 * gap + 1 < most:
            gap = 3 * gap + 1
        text = _SORT if order is None else _ARGSORT
        text = text.replace("COMES_FIRST", _COMES_FIRST if order is None else _OWN_COMES_FIRST)
        self._state.put_lines_before(text, names, {"LENGTH": length, "FIRST_GAP": ast.Constant(gap)}, node)
        return values, length

    def _filled(self, number: int, rows: Rows, node: ast.AST) -> ArrayPart:
        if rows.mask is not None:
            raise NotInKernelError("an array like what a mask selects", node)
        return self._copies.filled(rows, node, number)

    # --------------------------------------------------------------------------------- numbers of sorted rows

    def number(self, node: ast.Call) -> ast.expr | None:
        """The number that `numpy.median` or its like gives of rows; None for other calls.

        Raises
        ------
        NotInKernelError
            For an option that is not written out, and where there is no room.
        """
        name, operands = self._state.numpy_name(node), list(node.args)
        if name not in _SHARES or not operands:
            return None
        rows = self._rows(operands[0])
        if rows is None:
            return None
        if name.startswith("nan"):
            name, rows = name.removeprefix("nan"), without_nans(rows)
        share: float | None = None
        if name != "median" and len(operands) == 2:
            share = self._share(operands.pop(), _SHARES[name])
        if len(operands) != 1 or node.keywords or (share is None) != (name == "median"):
            raise NotInKernelError(f"an option of `{ast.unparse(node)}`", node)
        values, length = self._sorted(rows, node)
        names = {each: self._state.new("m") for each in ("HALF", "RESULT", "PLACE", "LOW", "X", "Y")}
        holes = {"LENGTH": length, "VALUES": variable(values), "SHARE": ast.Constant(share)}
        self._state.put_lines_before(_MEDIAN if share is None else _PERCENTILE, names, holes, node)
        return variable(names["RESULT"])

    def _share(self, node: ast.expr, full: float) -> float | None:
        """A constant share of `full`; None if it is no constant, or no share."""
        value = node.value if isinstance(node, ast.Constant) else self._state.names.value(node)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= full:
            return None
        return value / full

    # -------------------------------------------------------------------------- elements at other indices

    def rearranged(self, node: ast.expr) -> Rows | None:
        """The rows of a function whose elements are computed where they are used; None for other expressions."""
        if not isinstance(node, ast.Call):
            return None
        name, operands = self._state.called(node)
        if name not in _REARRANGED or not operands:
            return None
        rows = self._rows(operands[0])
        if rows is None:
            return None
        given = list(operands[1:])
        parameters = _REARRANGED[name]
        words = {each.arg: each.value for each in node.keywords}
        if len(given) > len(parameters) or not words.keys() <= set(parameters) or rows.mask is not None:
            raise NotInKernelError(f"an option of `{ast.unparse(node)}`", node)
        words |= dict(zip(parameters, given, strict=False))
        if name == "clip":
            return self._clipped(rows, words, node)
        if name == "flip":
            return self._moved(rows, lambda at: [
                expression("LENGTH - 1 - AT", {"LENGTH": length, "AT": each})
                for length, each in zip(rows.lengths, at, strict=True)
            ])  # fmt: skip
        _require_rank_one(rows, node)
        if name == "roll":
            return self._rolled(rows, words, node)
        if rows.is_bool:
            raise NotInKernelError("`np.diff` of truth values", node)
        length = self._state.frozen(expression("max(LENGTH - 1, 0)", {"LENGTH": rows.lengths[0]}))
        after = RowLeaf((length,), (None,), lambda at: rows.element([expression("AT + 1", {"AT": at[0]})]))
        before = RowLeaf((length,), (None,), lambda at: rows.element([at[0]]))
        difference = Apply("subtract", (Leaf(0), Leaf(1)))
        return replace(
            rows, lengths=(length,), ones=(None,), node=difference, leaves=(after, before), arrays=_elsewhere(rows)
        )

    def _clipped(self, rows: Rows, words: Mapping[str | None, ast.expr], node: ast.expr) -> Rows:
        for word, name in (("a_min", "maximum"), ("a_max", "minimum")):
            limit = words.get(word, ast.Constant(None))
            if isinstance(limit, ast.Constant) and limit.value is None:
                continue
            if self._rows(limit) is not None:
                raise NotInKernelError("`np.clip` by arrays", node)
            rows = rows.applied(name, self._state.frozen(self._scalar(limit)))
        return rows

    def _rolled(self, rows: Rows, words: Mapping[str | None, ast.expr], node: ast.expr) -> Rows:
        if "shift" not in words or self._rows(words["shift"]) is not None:
            raise NotInKernelError(f"an option of `{ast.unparse(node)}`", node)
        shift, length = self._state.frozen(self._scalar(words["shift"])), self._state.frozen(rows.lengths[0])
        holes = {"SHIFT": shift, "LENGTH": length}
        return self._moved(rows, lambda at: [expression("(AT - SHIFT) % LENGTH", {**holes, "AT": at[0]})])

    def _moved(self, rows: Rows, index: Callable[[Sequence[ast.expr]], list[ast.expr]]) -> Rows:
        leaf = RowLeaf(rows.lengths, rows.ones, lambda at: rows.element(index(at)))
        return replace(rows, node=Leaf(0), leaves=(leaf,), arrays=_elsewhere(rows))


class _KeptCalls(ast.NodeTransformer):
    """Variables instead of calls that give arrays."""

    def __init__(self, state: BodyState, kept: Callable[[ast.expr], ArrayPart | None]) -> None:
        self._state, self._kept = state, kept

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        part = self._kept(node)
        if part is None:
            return node
        name = self._state.new("v")
        self._state.views[name] = part
        return ast.copy_location(variable(name), node)


def _elsewhere(rows: Rows) -> frozenset[tuple[str, str]]:
    """The accesses of rows at other indices than those of the result."""
    return frozenset((array, f"{text} elsewhere") for array, text in rows.arrays)


def _require_rank_one(rows: Rows, node: ast.AST) -> None:
    if len(rows.lengths) != 1:
        raise NotInKernelError("a function of an axis of a part of an array that has several", node)


_KEPT: dict[str, Callable[[RowFunctions, Rows, ast.AST], ArrayPart]] = {
    "sort": RowFunctions.sorted,
    "argsort": RowFunctions._argsorted,
    "cumsum": lambda self, rows, node: self._running("cumsum", rows, node),
    "cumprod": lambda self, rows, node: self._running("cumprod", rows, node),
    "copy": lambda self, rows, node: self._copies.copy(rows, node),
    "zeros_like": lambda self, rows, node: self._filled(0, rows, node),
    "empty_like": lambda self, rows, node: self._filled(0, rows, node),
    "ones_like": lambda self, rows, node: self._filled(1, rows, node),
}
"""The functions that give an array of its own, by NumPy's names."""

_OPERATIONS: dict[str, type[ast.operator]] = {"cumsum": ast.Add, "cumprod": ast.Mult}
_SHARES = {"median": 1.0, "quantile": 1.0, "percentile": 100.0}
_SHARES |= {f"nan{name}": full for name, full in _SHARES.items()}
_REARRANGED: dict[str, Sequence[str]] = {
    "diff": (), "roll": ("shift",), "flip": (), "clip": ("a_min", "a_max"),
}  # fmt: skip
