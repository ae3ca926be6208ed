"""Expressions in the body of a loop, element by element: numbers stay numbers, rows become functions of an index.

Kernels have no arrays of a length that only a launch knows.  So an element of a row is computed where it is used, as
often as it is used, and an array that is stored to is never read late.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import elementwise
from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import indices_of, located
from kapi_numba_offload.elements.expression import Apply, Leaf, Node, renumbered
from kapi_numba_offload.elements.spelling import syntax_of
from kapi_numba_offload.elements.statements import GROWING
from kapi_numba_offload.loops.body.functions.row_functions import RowFunctions
from kapi_numba_offload.loops.body.functions.row_reductions import PRODUCTS, RowReductions
from kapi_numba_offload.loops.body.functions.searches import Searches
from kapi_numba_offload.loops.body.state import BodyState, NotANumberError, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import call_of
from kapi_numba_offload.loops.body.view_reading import ViewReader
from kapi_numba_offload.loops.body.views import ArrayPart, RowLeaf, Rows, number_leaf

__all__ = ["RowExpressions"]

_LOGICAL = ("bitwise_and", "bitwise_or", "bitwise_xor")


class RowExpressions:
    """Rewrites expressions.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    on_read : callable
        Is given each element that an expression reads.
    """

    def __init__(self, state: BodyState, on_read: Callable[[ArrayPart], None]) -> None:
        self._state, self._on_read = state, on_read
        self.views = ViewReader(state)
        self._reductions = RowReductions(state)
        self._searches = Searches(state, self.rows, self.scalar)
        self.functions = RowFunctions(
            state, self.views, self._reductions, self.rows, self.scalar, self._searches.of_rows
        )

    def view(self, node: ast.expr) -> ArrayPart | None:
        """The part of an array that an expression names, None if it names none."""
        numbers = self.views.numbers(node)
        if numbers is None:
            return None
        return self.views.of(node, {each: self.scalar(copy.deepcopy(each)) for each in numbers})

    def scalar(self, node: ast.expr) -> ast.expr:
        """An expression of rank 0, rewritten.

        Raises
        ------
        NotInKernelError
            If it has a part of higher rank that no number comes of.
        """
        reduced = self._reduced(node)
        if reduced is not None:
            return reduced
        if isinstance(node, ast.Call):
            found = self._searches.made(node) or self.functions.number(node)
            if found is not None:
                return found
        if isinstance(node, ast.Subscript):
            view = self.view(node)
            if view is not None:
                if view.order:
                    raise NotANumberError("a part of an array where a number is needed", node)
                self._on_read(view)
                return self.views.element(view, [])
            if self._may_be_array(node.value):
                return self._of_unnamed(node)
        if isinstance(node, ast.Name) and (node.id in self._state.views or node.id in self._state.expressions):
            raise NotANumberError("a whole array where a number is needed", node)
        measured = self._measured(node)
        if measured is not None:
            return measured
        rounded = self._rounded(node)
        if rounded is not None:
            return ast.copy_location(syntax_of("round", [self.scalar(each) for each in rounded]), node)
        if isinstance(node, ast.Call):
            return self._call_of_numbers(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self.scalar(value))
            elif isinstance(value, list):
                setattr(node, field, [self.scalar(each) if isinstance(each, ast.expr) else each for each in value])
        return node

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
            if value is not UNKNOWN:
                return isinstance(value, np.ndarray)
            return node.id in self._state.unnamed
        return isinstance(node, (ast.Subscript, ast.IfExp))

    def _of_unnamed(self, node: ast.Subscript) -> ast.expr:
        """The element of such an array, its indices counted from the start: kernels count none from the end."""
        owner = self.scalar(node.value)
        indices = indices_of(node)
        made: list[ast.expr] = []
        for axis, index in enumerate(indices):
            low, at = self._state.lower.of(index), self.scalar(copy.deepcopy(index))
            if low is None or low < 0:
                if isinstance(index, (ast.Slice, ast.Constant)) and low is None:
                    raise NotInKernelError("a part of an array that has no name of its own", node)
                shape = ast.Attribute(copy.deepcopy(owner), "shape", ast.Load())
                length = ast.Subscript(shape, ast.Constant(axis), ast.Load())
                at = call_of("kapi_wrapped_index", at, length)
            made.append(at)
        spelled = made[0] if len(made) == 1 else ast.Tuple(made, ast.Load())
        return located(ast.Subscript(owner, spelled, node.ctx), node)

    def _reduced(self, node: ast.expr) -> ast.expr | None:
        """The number that a reduction of rows gives, None if the expression is none."""
        reduction = self._reductions.named(node)
        if reduction is None:
            return None
        name, operands = reduction
        if name in PRODUCTS:
            rows = self._products(operands, node, conjugates=name == "vdot")
        else:
            rows = self.rows(operands[0]) if operands else None
        return None if rows is None else self._reductions.made(name, operands, rows, node)

    def _products(self, operands: Sequence[ast.expr], node: ast.expr, *, conjugates: bool) -> Rows | None:
        """Two rows, element by element multiplied, the first one conjugated if asked for; None for numbers."""
        rows = [self.rows(each) for each in operands]
        if all(each is None for each in rows):
            return None
        if len(rows) != 2 or any(each is None or len(each.lengths) != 1 for each in rows):
            raise NotInKernelError(f"a product of matrices, {ast.unparse(node)}", node)
        made = self.rows(ast.copy_location(ast.BinOp(operands[0], ast.Mult(), operands[1]), node))
        if made is None or not conjugates:
            return made
        dtypes = [None if (known := self._state.arrays.get(array)) is None else known.dtype for array, _ in made.arrays]
        if all(each is not None and each.kind in "biuf" for each in dtypes):
            return made
        assert isinstance(made.node, Apply)
        first, second = made.node.operands
        return replace(made, node=Apply(made.node.name, (Apply("conjugate", (first,)), second)))

    def _measured(self, node: ast.expr) -> ast.expr | None:
        """`shape`, `size` and `len` of a part of an array."""
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"):
            owner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            owner = node.args[0]
        else:
            return None
        if isinstance(owner, ast.Name) and owner.id in self._state.arrays:
            return None  # the language's own
        rows = self.rows(owner)
        if rows is None:
            return None
        if rows.mask is not None:
            if isinstance(node, ast.Attribute) and node.attr != "size":
                raise NotInKernelError("the shape of what a mask selects", node)
            return self._reductions.count(rows, node)
        lengths = [copy.deepcopy(each) for each in rows.lengths]
        if isinstance(node, ast.Call):
            return lengths[0]
        assert isinstance(node, ast.Attribute)
        if node.attr == "ndim":
            return ast.Constant(len(lengths))
        if node.attr == "shape":
            return ast.Tuple(lengths, ast.Load())
        size = lengths[0]
        for length in lengths[1:]:
            size = ast.BinOp(size, ast.Mult(), length)
        return size

    def _rounded(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Argument of NumPy's `round` or `around`, and the number of decimals; None for anything else."""
        if not isinstance(node, ast.Call):
            return None
        given = list(node.args)
        name = self._state.numpy_name(node)
        if name is None and isinstance(node.func, ast.Attribute) and node.func.attr == "round":
            name, given = "round", [node.func.value, *given]
            if self.rows(node.func.value) is None:
                return None
        if name not in ("round", "around"):
            return None
        if any(each.arg != "decimals" for each in node.keywords):
            return None
        given += [each.value for each in node.keywords]
        if not 1 <= len(given) <= 2:
            return None
        return given[0], given[1] if len(given) == 2 else ast.Constant(0)

    def rows(self, node: ast.expr) -> Rows | None:
        """An expression of rank 1 or more, element by element; None for numbers."""
        rounded = self._rounded(node)
        if rounded is not None:
            row = self.rows(rounded[0])
            return None if row is None else row.applied("round", self._state.frozen(self.scalar(rounded[1])))
        made = self._searches.spaced(node) or self.functions.rearranged(node) or self._masked(node)
        if made is not None:
            return made
        view = self.view(node)
        if view is not None:
            return self.views.rows(view) if view.order else None
        operation = elementwise(node, self._state.names)
        if operation is None:
            return None
        name, operands = operation
        rows = [self.rows(each) for each in operands]
        known = [each for each in rows if each is not None]
        if not known:
            return None
        leaves: list[RowLeaf] = []
        parts: list[Node] = []
        for operand, row in zip(operands, rows, strict=True):
            first = len(leaves)
            if row is None:
                parts.append(Leaf(first))
                leaves.append(number_leaf(self._state.frozen(self.scalar(operand))))
            else:
                parts.append(renumbered(row.node, lambda leaf, first=first: _moved(leaf, first)))  # type: ignore[misc]
                leaves += row.leaves
        mask = self._common_mask(known, node)
        lengths, ones = self._broadcast(known, max(len(each.lengths) for each in known))
        is_bool = ELEMENTWISE[name].gives_truth or (
            name in _LOGICAL and all(each is None or each.is_bool for each in rows)
        )
        arrays = frozenset().union(*(each.arrays for each in known))
        is_narrow = any(each.has_narrow_integers and not each.is_bool for each in known)
        if is_narrow and name in GROWING and any(map(_is_python_integer, operands)):
            self._state.integers_of_arrays.add(getattr(node, "lineno", 0))
        return Rows(lengths, ones, Apply(name, tuple(parts)), tuple(leaves), arrays, is_bool, mask, is_narrow)

    def is_selection(self, node: ast.expr) -> bool:
        """Whether an expression is `row[row > 0]` or its like."""
        if not isinstance(node, ast.Subscript):
            return False
        index = node.slice
        if isinstance(index, ast.Name):
            return index.id in self._state.expressions
        return elementwise(index, self._state.names) is not None and self._is_row(index)

    def _is_row(self, node: ast.expr) -> bool:
        """Whether a part of an array, or an elementwise operation of some, is of rank 1 or more."""
        operation = elementwise(node, self._state.names)
        if operation is not None:
            return any(map(self._is_row, operation[1]))
        view = self.view(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else None
        return view is not None and bool(view.order)

    def _masked(self, node: ast.expr) -> Rows | None:
        """`row[row > 0]`: the elements for which another row is true."""
        if not self.is_selection(node):
            return None
        assert isinstance(node, ast.Subscript)
        mask = self.rows(node.slice)
        if mask is None:
            return None
        owner = self.rows(node.value)
        if owner is None or not mask.is_bool or owner.mask is not None or len(mask.lengths) != len(owner.lengths):
            raise NotInKernelError("an index that is an array", node)
        return replace(owner, mask=mask, arrays=owner.arrays | mask.arrays)

    @staticmethod
    def _common_mask(rows: Sequence[Rows], node: ast.expr) -> Rows | None:
        """The one mask of the operands; the same elements have to be left of each that is no number."""
        masks = [each.mask for each in rows]
        if all(each is None for each in masks):
            return None
        at: list[ast.expr] = [ast.Name("_", ast.Load())] * len(rows[0].lengths)
        texts = {None if each is None else ast.unparse(ast.fix_missing_locations(each.element(at))) for each in masks}
        if len(texts) > 1:
            raise NotInKernelError("an expression of rows of which different elements were selected", node)
        return masks[0]

    def _broadcast(self, rows: Sequence[Rows], rank: int) -> tuple[tuple[ast.expr, ...], tuple[bool | None, ...]]:
        lengths: list[ast.expr] = []
        ones: list[bool | None] = []
        for axis in range(-rank, 0):
            own = [(each.lengths[axis], each.ones[axis]) for each in rows if len(each.lengths) >= -axis]
            several = [(length, is_one) for length, is_one in own if is_one is not True] or own[:1]
            sure = [length for length, is_one in several if is_one is False]
            texts = {ast.unparse(each): each for each, _ in several}
            common = list(texts.values())
            lengths.append(sure[0] if sure else common[0] if len(common) == 1
                           else self._state.kept(call_of("max", *common)))  # fmt: skip
            ones.append(False if sure else several[0][1] if len(common) == 1 else None)
        return tuple(lengths), tuple(ones)


def _is_python_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _moved(node: Node, first: int) -> Node:
    return Leaf(first + node.index) if isinstance(node, Leaf) else node
