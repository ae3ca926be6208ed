"""Expressions in the body of a loop, element by element: numbers stay numbers, rows become functions of an index."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from kapi_numba_offload.analysis.numpy_functions import elementwise
from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.elements.expression import Apply, Leaf, Node, renumbered
from kapi_numba_offload.loops.body_state import BodyState, NotInKernelError
from kapi_numba_offload.loops.loop_views import RowLeaf, Rows, number_leaf
from kapi_numba_offload.loops.row_reductions import RowReductions
from kapi_numba_offload.loops.syntax_parts import call_of
from kapi_numba_offload.loops.view_reading import ViewReader

__all__ = ["RowExpressions"]

_LOGICAL = ("bitwise_and", "bitwise_or", "bitwise_xor")


class RowExpressions:
    """Rewrites expressions.

    Parameters
    ----------
    state : BodyState
        What is known of the body.
    """

    def __init__(self, state: BodyState) -> None:
        self._state = state
        self.views = ViewReader(state, self.scalar)
        self._reductions = RowReductions(state, self.rows)

    def scalar(self, node: ast.expr) -> ast.expr:
        """An expression of rank 0, rewritten.

        Raises
        ------
        NotInKernelError
            If it has a part of higher rank that no number comes of.
        """
        reduced = self._reductions.of(node)
        if reduced is not None:
            return reduced
        if isinstance(node, ast.Subscript):
            view = self.views.of(node)
            if view is not None:
                if view.order:
                    raise NotInKernelError("a part of an array where a number is needed", node)
                return self.views.element(view, [])
        if isinstance(node, ast.Name) and (node.id in self._state.views or node.id in self._state.expressions):
            raise NotInKernelError(f"the whole array {node.id} where a number is needed", node)
        measured = self._measured(node)
        if measured is not None:
            return measured
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
                setattr(node, field, self.scalar(value))
            elif isinstance(value, list):
                setattr(node, field, [self.scalar(each) if isinstance(each, ast.expr) else each for each in value])
        return node

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

    def rows(self, node: ast.expr) -> Rows | None:
        """An expression of rank 1 or more, element by element; None for numbers."""
        view = self.views.of(node)
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
        lengths, ones = self._broadcast(known, max(len(each.lengths) for each in known))
        is_bool = ELEMENTWISE[name].gives_truth or (
            name in _LOGICAL and all(each is None or each.is_bool for each in rows)
        )
        arrays = frozenset().union(*(each.arrays for each in known))
        return Rows(lengths, ones, Apply(name, tuple(parts)), tuple(leaves), arrays, is_bool)

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


def _moved(node: Node, first: int) -> Node:
    return Leaf(first + node.index) if isinstance(node, Leaf) else node
