"""Reductions of rows to a number in the body of a loop: a loop before the statement for each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kapi_numba_offload.elements.expression import Apply, Leaf, Node, renumbered
from kapi_numba_offload.elements.reductions import COMBINATIONS
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import attribute, plus, statements, times, variable, zero
from kapi_numba_offload.loops.body.views import Rows

__all__ = ["PRODUCTS", "RowReductions", "without_nans"]

_OTHER_NAMES = {"amin": "min", "amax": "max", "inner": "dot"}
PRODUCTS = ("dot", "vdot")
"""The reductions of two rows; `vdot` conjugates the first one."""


class RowReductions:
    """Writes reductions.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    """

    def __init__(self, state: BodyState) -> None:
        self._state = state

    def named(self, node: ast.expr) -> tuple[str, Sequence[ast.expr]] | None:
        """Name and operands of a reduction, "dot" for `@`; None if the expression is none."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return "dot", [node.left, node.right]
        if not isinstance(node, ast.Call):
            return None
        name, operands = self._state.called(node)
        name = _OTHER_NAMES.get(name or "", name)
        return (
            (name, operands)
            if name is not None and (name in PRODUCTS or name in _MADE or name in _WITHOUT_NANS)
            else None
        )

    def made(self, name: str, operands: Sequence[ast.expr], rows: Rows, node: ast.expr) -> ast.expr:
        """The number that a reduction of rows gives; a dot product is the sum of their products.

        Raises
        ------
        NotInKernelError
            If kernels lack this reduction.
        """
        if name in PRODUCTS:
            return self._dot(rows, node)
        if len(operands) != 1 or (isinstance(node, ast.Call) and node.keywords):
            raise NotInKernelError(f"a reduction that kernels lack, {ast.unparse(node)}", node)
        if rows.mask is not None and name not in _OF_SELECTIONS:
            raise NotInKernelError(f"a reduction of what a mask selects, {ast.unparse(node)}", node)
        if name in _WITHOUT_NANS:
            name, rows = _WITHOUT_NANS[name], without_nans(rows)
        return _MADE[name](self, rows, node)

    # ---------------------------------------------------------------------------------- each kind of reduction

    def _total(self, rows: Rows, node: ast.expr, *, is_product: bool = False, in_floats: bool = False) -> ast.expr:
        start = self.start(rows, is_product=is_product, in_floats=in_floats)
        return self._loop(rows, node, [start], lambda totals, element, at: [
            ast.AugAssign(ast.Name(totals[0], ast.Store()), ast.Mult() if is_product else ast.Add(), element)
        ])  # fmt: skip

    def _dot(self, rows: Rows, node: ast.expr) -> ast.expr:
        """The sum of products, of their own type: NumPy's `dot` of integers wraps where its `sum` has 64 bits."""
        total = self._total(rows, node)
        dtypes = [known.dtype for array, _ in rows.arrays if (known := self._state.arrays.get(array)) is not None]
        is_plain = isinstance(rows.node, Apply) and all(isinstance(each, Leaf) for each in rows.node.operands)
        dtype = np.result_type(*dtypes) if dtypes and len(dtypes) == len(rows.arrays) else np.dtype("float64")
        if not is_plain or dtype.kind not in "biu" or dtype.itemsize == 8:
            return total
        wrapped = ast.Call(attribute("kapi_np", "bool_" if dtype.kind == "b" else dtype.name), [total], [])
        return wrapped if dtype.kind == "b" else ast.Call(attribute("kapi_np", "int64"), [wrapped], [])

    def start(self, rows: Rows, *, is_product: bool = False, in_floats: bool = False) -> ast.expr:
        """The number that a sum or product of rows starts with, of the type that NumPy gives the result."""
        name = "prod" if is_product else "sum"
        dtypes = [known.dtype if (known := self._state.arrays.get(array)) else None for array, _ in rows.arrays]
        is_integral = rows.is_bool or all(each is not None and each.kind in "biu" for each in dtypes)
        # A Python integer takes the type of the floats or integers that it is added to.
        start: ast.expr = _identity(name, float if in_floats else int)
        if is_integral and not in_floats:
            signed = rows.is_bool or any(each is not None and each.kind in "bi" for each in dtypes)
            start = ast.Call(attribute("kapi_np", "int64" if signed else "uint64"), [_identity(name, int)], [])
        return start

    def _product(self, rows: Rows, node: ast.expr) -> ast.expr:
        return self._total(rows, node, is_product=True)

    def _mean(self, rows: Rows, node: ast.expr) -> ast.expr:
        total = self._total(rows, node, in_floats=True)
        return ast.BinOp(total, ast.Div(), _size(rows) if rows.mask is None else self.count(rows, node))

    def count(self, rows: Rows, node: ast.expr) -> ast.expr:
        """Number of elements that a mask selects."""
        assert rows.mask is not None
        return self._total(rows.mask, node)

    def _variance(self, rows: Rows, node: ast.expr) -> ast.expr:
        mean = self._state.kept(self._mean(rows, node))
        return self._mean(_squares(rows.applied("subtract", mean)), node)

    def _deviation(self, rows: Rows, node: ast.expr) -> ast.expr:
        return ast.Call(attribute("kapi_np", "sqrt"), [self._variance(rows, node)], [])

    def _norm(self, rows: Rows, node: ast.expr) -> ast.expr:
        squares = self._total(_squares(rows), node, in_floats=True)
        return ast.Call(attribute("kapi_np", "sqrt"), [squares], [])

    def _count(self, rows: Rows, node: ast.expr) -> ast.expr:
        return self._total(rows.applied("not_equal", zero(), is_bool=True), node)

    def _range(self, rows: Rows, node: ast.expr) -> ast.expr:
        largest = self._state.kept(self._extremum(rows, node, ">"))
        return ast.BinOp(largest, ast.Sub(), self._extremum(rows, node, "<"))

    def _extremum(self, rows: Rows, node: ast.expr, order: str, *, position: bool = False) -> ast.expr:
        """The least or largest element, or its position; one that is not a number is both, as in NumPy."""
        first = rows.element([zero() for _ in rows.lengths])
        own = self._state.new("e")

        def update(totals: Sequence[str], element: ast.expr, at: Sequence[ast.expr]) -> list[ast.stmt]:
            text = f"X = ELEMENT\nif X {order} BEST or (X != X and BEST == BEST):\n    BEST = X\n"
            names, holes = {"X": own, "BEST": totals[-1]}, {"ELEMENT": element}
            if position:
                text += "    POSITION = AT\n"
                names["POSITION"], holes["AT"] = totals[0], _flat(rows, at)
            return statements(text, names, holes)

        return self._loop(rows, node, [zero(), first] if position else [first], update)

    def _extremum_without_nans(self, rows: Rows, node: ast.expr, order: str) -> ast.expr:
        """The least or largest element that is a number; nan if there is none."""
        first = rows.element([zero() for _ in rows.lengths])
        own = self._state.new("e")

        def update(totals: Sequence[str], element: ast.expr, at: Sequence[ast.expr]) -> list[ast.stmt]:
            text = f"X = ELEMENT\nif X {order} BEST or BEST != BEST:\n    BEST = X\n"
            return statements(text, {"X": own, "BEST": totals[0]}, {"ELEMENT": element})

        return self._loop(rows, node, [first], update)

    def _truth(self, rows: Rows, node: ast.expr, *, is_any: bool) -> ast.expr:
        def update(totals: Sequence[str], element: ast.expr, at: Sequence[ast.expr]) -> list[ast.stmt]:
            text = f"if ELEMENT {'!=' if is_any else '=='} 0:\n    TRUTH = {is_any}"
            return statements(text, {"TRUTH": totals[0]}, {"ELEMENT": element})

        return self._loop(rows, node, [_identity("any" if is_any else "all", bool)], update)

    def _loop(
        self,
        rows: Rows,
        node: ast.expr,
        starts: Sequence[ast.expr],
        update: Callable[[Sequence[str], ast.expr, Sequence[ast.expr]], list[ast.stmt]],
    ) -> ast.expr:
        """A loop over all elements, and the first of the variables that it updates."""
        totals = [self._state.new("r") for _ in starts]
        for total, start in zip(totals, starts, strict=True):
            self._state.assigned(total, ast.copy_location(start, node))
        self._state.put_loops_before(rows, node, lambda at: update(totals, rows.element(at), at))
        return variable(totals[0])


def _identity(name: str, kind: type[bool | int | float]) -> ast.Constant:
    """The number that a reduction starts with."""
    return ast.Constant(COMBINATIONS[name].identity(np.dtype(kind)).item())


def _squares(rows: Rows) -> Rows:
    """The squares of absolute values, in floats: squares of complex numbers are complex, and those of integers wrap."""
    return rows.applied("absolute").applied("multiply", ast.Constant(1.0)).applied("square")


def without_nans(rows: Rows) -> Rows:
    """The elements of rows that are numbers, of those that a mask selects."""
    is_number: Node = Apply("equal", (rows.node, rows.node))
    numbers = replace(rows, node=is_number, is_bool=True, mask=None)
    if rows.mask is None:
        return replace(rows, mask=numbers)
    leaves, first = (*rows.leaves, *rows.mask.leaves), len(rows.leaves)
    selected = renumbered(rows.mask.node, lambda leaf: Leaf(first + leaf.index) if isinstance(leaf, Leaf) else leaf)
    both = replace(numbers, node=Apply("bitwise_and", (is_number, selected)), leaves=leaves)
    return replace(rows, mask=both)


def _size(rows: Rows) -> ast.expr:
    size: ast.expr = ast.Constant(1)
    for length in rows.lengths:
        size = times(copy.deepcopy(length), size)
    return size


def _flat(rows: Rows, at: Sequence[ast.expr]) -> ast.expr:
    offset: ast.expr = zero()
    for number, (index, length) in enumerate(zip(at, rows.lengths, strict=True)):
        offset = plus(times(offset, copy.deepcopy(length)) if number else offset, copy.deepcopy(index))
    return offset


_WITHOUT_NANS = {f"nan{name}": name for name in ("sum", "prod", "mean", "var", "std")}
"""The reductions of what is no nan, and those that they are of the other elements."""

_OF_SELECTIONS = {*_WITHOUT_NANS, "sum", "prod", "mean", "var", "std", "linalg.norm", "count_nonzero", "any", "all"}
"""The reductions that have a value of no element."""

_MADE: dict[str, Callable[[RowReductions, Rows, ast.expr], ast.expr]] = {
    "sum": RowReductions._total,
    "prod": RowReductions._product,
    "mean": RowReductions._mean,
    "var": RowReductions._variance,
    "std": RowReductions._deviation,
    "linalg.norm": RowReductions._norm,
    "count_nonzero": RowReductions._count,
    "ptp": RowReductions._range,
    "min": lambda self, rows, node: self._extremum(rows, node, "<"),
    "max": lambda self, rows, node: self._extremum(rows, node, ">"),
    "argmin": lambda self, rows, node: self._extremum(rows, node, "<", position=True),
    "argmax": lambda self, rows, node: self._extremum(rows, node, ">", position=True),
    "nanmin": lambda self, rows, node: self._extremum_without_nans(rows, node, "<"),
    "nanmax": lambda self, rows, node: self._extremum_without_nans(rows, node, ">"),
    "any": lambda self, rows, node: self._truth(rows, node, is_any=True),
    "all": lambda self, rows, node: self._truth(rows, node, is_any=False),
}
"""The reductions by NumPy's names."""
