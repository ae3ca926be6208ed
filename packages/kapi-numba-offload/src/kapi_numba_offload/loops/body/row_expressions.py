"""Expressions in the body of a loop, element by element: numbers stay numbers, rows become functions of an index.

Kernels have no arrays of a length that only a launch knows.  So an element of a row is computed where it is used, as
often as it is used, and an array that is stored to is never read late.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import elementwise
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import expression, index_of, indices_of, located, rewrite_expressions, variable
from kapi_numba_offload.elements.operation_source import syntax_of
from kapi_numba_offload.elements.statements import GROWING
from kapi_numba_offload.loops.body.functions.combined_rows import combined
from kapi_numba_offload.loops.body.functions.matrix_functions import MATRIX_ROWS, TRACE, identity, product_rows
from kapi_numba_offload.loops.body.functions.positions import selected
from kapi_numba_offload.loops.body.functions.row_calls import made_by
from kapi_numba_offload.loops.body.functions.row_functions import QUANTILES, ROWS, rounded
from kapi_numba_offload.loops.body.functions.row_reductions import REDUCTIONS, counted, product
from kapi_numba_offload.loops.body.functions.searches import searched, spaced
from kapi_numba_offload.loops.body.state import BodyState, NotANumberError, NotInKernelError
from kapi_numba_offload.loops.body.view_reading import ViewReader
from kapi_numba_offload.loops.body.views import ArrayPart, Rows

__all__ = ["RowExpressions"]

_NUMBERS, _ROWS = REDUCTIONS | QUANTILES | TRACE, MATRIX_ROWS | ROWS


class RowExpressions:
    """Rewrites expressions; `on_read` is given each element that one reads."""

    def __init__(self, state: BodyState, on_read: Callable[[ArrayPart], None]) -> None:
        self._state, self._on_read = state, on_read
        self.views = ViewReader(state)
        state.rows, state.is_row, state.scalar, state.view = self.rows, self._is_row, self.scalar, self.views.of

    def scalar(self, node: ast.expr) -> ast.expr:
        """An expression of rank 0, rewritten; `NotInKernelError` if it has an array that no number comes of."""
        found = self._number(node)
        if found is not None:
            return found
        if isinstance(node, ast.Call):
            return self._call_of_numbers(node)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            self._rewrite_conditional(node)
        else:
            rewrite_expressions(node, self.scalar)
        return node

    def _rewrite_conditional(self, node: ast.IfExp | ast.BoolOp) -> None:
        """Rewrite the parts of an expression that has not the values of all."""
        where = self._state.lengths.where
        if isinstance(node, ast.IfExp):
            node.test = self.scalar(node.test)
            with where(node.test):
                node.body = self.scalar(node.body)
            with where(ast.UnaryOp(ast.Not(), node.test)):
                node.orelse = self.scalar(node.orelse)
            return
        with ExitStack() as paths:
            for number, each in enumerate(node.values):
                value = node.values[number] = self.scalar(each)
                paths.enter_context(where(value if isinstance(node.op, ast.And) else ast.UnaryOp(ast.Not(), value)))

    def _number(self, node: ast.expr) -> ast.expr | None:
        """A number that comes of arrays, in other syntax; None for other expressions."""
        state = self._state
        found = product(state, node) or made_by(_NUMBERS, state, node)
        if found is None and isinstance(node, ast.Call):
            found = searched(state, node)
        if found is not None:
            return found
        if isinstance(node, ast.Subscript):
            view = state.view(node)
            if view is not None:
                if view.order:
                    raise NotANumberError("a part of an array where a number is needed", node)
                self._on_read(view)
                return self.views.element(view, [])
            if self._may_be_array(node.value):
                return self._of_unnamed(node)
        if isinstance(node, ast.Name) and (node.id in state.views or node.id in state.expressions):
            raise NotANumberError("a whole array where a number is needed", node)
        measured = self._measured(node)
        if measured is None and (parts := rounded(state, node)) is not None:
            return ast.copy_location(syntax_of("round", [self.scalar(each) for each in parts]), node)
        return measured

    def _call_of_numbers(self, node: ast.Call) -> ast.Call:
        """A call, its arguments rewritten; arrays with names of their own stay as they are."""
        spelled = ast.unparse(node)
        try:
            node.args = [self.scalar(each) for each in node.args]
            for word in node.keywords:
                word.value = self.scalar(word.value)
        except NotANumberError as error:
            raise NotInKernelError(f"the call `{spelled}` with an array or a part of one", error.node) from None
        return node

    def _may_be_array(self, node: ast.expr) -> bool:
        """Whether what is indexed may be an array that has no name of its own: one of a tuple, or of a global's."""
        if isinstance(node, ast.Name):
            value = self._state.names.value(node)
            return node.id in self._state.unnamed if value is UNKNOWN else isinstance(value, np.ndarray)
        return isinstance(node, (ast.Subscript, ast.IfExp))

    def _of_unnamed(self, node: ast.Subscript) -> ast.expr:
        """The element of such an array."""
        if self._state.group is not None:
            raise NotInKernelError("an element of an array that has no name of its own", node)
        owner = self.scalar(node.value)
        made: list[ast.expr] = []
        for axis, index in enumerate(indices_of(node)):
            if isinstance(index, (ast.Slice, ast.Constant)) and self._state.lower.of(index) is None:
                raise NotInKernelError("a part of an array that has no name of its own", node)
            made.append(self._state.wrapped(index, expression(f"OWNER.shape[{axis}]", OWNER=owner)))
        return located(ast.Subscript(owner, index_of(made), node.ctx), node)

    def _measured(self, node: ast.expr) -> ast.expr | None:
        """`shape`, `size`, `ndim` and `len` of a part of an array; those of a whole one are the language's own."""
        match node:
            case ast.Attribute(owner, "shape" | "size" | "ndim" as kind):
                pass
            case ast.Call(ast.Name("len" as kind), [owner, *_]):
                pass
            case _:
                return None
        rows = None if isinstance(owner, ast.Name) and owner.id in self._state.arrays else self.rows(owner)
        if rows is None:
            return None
        if rows.mask is not None:
            if kind in ("shape", "ndim"):
                raise NotInKernelError("the shape of what a mask selects", node)
            return counted(self._state, rows, node)
        if kind == "ndim":
            return ast.Constant(len(rows.shape))
        if kind == "shape":
            return ast.Tuple(rows.lengths, ast.Load())
        size, *others = rows.lengths
        for length in others if kind == "size" else ():
            size = ast.BinOp(size, ast.Mult(), length)
        return size

    def rows(self, node: ast.expr) -> Rows | None:
        """An expression of rank 1 or more, element by element; None for numbers."""
        state = self._state
        if (parts := rounded(state, node)) is not None:
            row = self.rows(parts[0])
            return None if row is None else row.applied("round", state.frozen(self.scalar(parts[1])))
        made = self._made(node) if isinstance(node, ast.Call) else self._masked(node)
        made = made or product_rows(state, node)
        if made is not None:
            return made
        view = state.view(node)
        if view is not None:
            return self.views.rows(view) if view.order else None
        operation = elementwise(node, state.names)
        if operation is None:
            return None
        name, given = operation
        rows = [self.rows(each) for each in given]
        if not any(rows):
            return None
        operands = [state.frozen(self.scalar(each)) if row is None else row
                    for each, row in zip(given, rows, strict=True)]  # fmt: skip
        made = combined(state, name, operands, node)
        if made.has_narrow_integers and name in GROWING and any(map(_is_python_integer, given)):
            state.integers_of_arrays.add(getattr(node, "lineno", 0))
        return made

    def _made(self, node: ast.Call) -> Rows | None:
        """The rows of a function that is no elementwise operation; None for other calls."""
        return spaced(self._state, node) or identity(self._state, node) or made_by(_ROWS, self._state, node)

    def is_selection(self, node: ast.expr) -> bool:
        """Whether an expression is `row[row > 0]`, `row[positions]` or their like."""
        return isinstance(node, ast.Subscript) and any(map(self._is_row, self._indices(node)))

    def _indices(self, node: ast.Subscript) -> list[ast.expr]:
        """The indices of a subscript; an index that is a tuple has one for each of its parts."""
        if isinstance(node.slice, ast.Name) and node.slice.id in self._state.tuples:
            return [variable(each) for each in self._state.tuples[node.slice.id]]
        return indices_of(node)

    def _is_row(self, node: ast.expr) -> bool:
        """Whether a part of an array, or an elementwise operation of some, is of rank 1 or more."""
        if isinstance(node, (ast.Slice, ast.Constant)):
            return False
        if self.is_selection(node):
            return True
        operation = elementwise(node, self._state.names)
        if operation is not None:
            return any(map(self._is_row, operation[1]))
        view = self._state.view(node)
        return view is not None and bool(view.order)

    def _masked(self, node: ast.expr) -> Rows | None:
        """`row[row > 0]`, the elements for which another row is true, and `row[positions]`; None for anything else."""
        if not isinstance(node, ast.Subscript) or not self.is_selection(node):
            return None
        if self._state.group is not None:
            raise NotInKernelError("elements that data select", node)
        return selected(self._state, node, self._indices(node))


def _is_python_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
