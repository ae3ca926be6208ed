"""Expressions in the body of a loop, element by element: numbers stay numbers, rows become functions of an index."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from kapi_numba_offload.analysis.operations import ELEMENTWISE, OPERATORS
from kapi_numba_offload.loops.body_state import BodyState, NotInKernelError
from kapi_numba_offload.loops.loop_views import Rows
from kapi_numba_offload.loops.row_reductions import RowReductions
from kapi_numba_offload.loops.syntax_parts import call_of, or_zero
from kapi_numba_offload.loops.view_reading import ViewReader

__all__ = ["RowExpressions", "at_of"]

Build = Callable[[list[ast.expr]], ast.expr]


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
        operation = self._operation(node)
        if operation is None:
            return None
        operands, build, is_bool = operation
        rows = [self.rows(each) for each in operands]
        known = [each for each in rows if each is not None]
        if not known:
            return None
        numbers = [None if row is not None else self._state.frozen(self.scalar(each))
                   for each, row in zip(operands, rows, strict=True)]  # fmt: skip
        rank = max(len(each.lengths) for each in known)
        lengths, ones = self._broadcast(known, rank)

        def element(at: Sequence[ast.expr]) -> ast.expr:
            parts: list[ast.expr] = []
            for row, number in zip(rows, numbers, strict=True):
                if row is not None:
                    parts.append(row.element(at_of(row, lengths, ones, at)))
                elif number is not None:
                    parts.append(copy.deepcopy(number))
            return build(parts)

        is_bool = is_bool or (isinstance(node, ast.BinOp) and all(each is None or each.is_bool for each in rows)
                              and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)))  # fmt: skip
        return Rows(lengths, ones, element, frozenset().union(*(each.arrays for each in known)), is_bool)

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

    def _operation(self, node: ast.expr) -> tuple[list[ast.expr], Build, bool] | None:
        """Operands of an elementwise operation, its spelling, and whether it gives truth values."""
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            binary = node.op
            return [node.left, node.right], lambda parts: ast.BinOp(parts[0], binary, parts[1]), False
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            unary = node.op
            return [node.operand], lambda parts: ast.UnaryOp(unary, parts[0]), False
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            comparison = node.ops[0]
            operands = [node.left, node.comparators[0]]
            return operands, lambda parts: ast.Compare(parts[0], [comparison], [parts[1]]), True
        if isinstance(node, ast.Call) and not node.keywords:
            name = self._state.numpy_name(node)
            if name == "where" and len(node.args) == 3:
                return node.args, lambda parts: ast.IfExp(parts[0], parts[1], parts[2]), False
            is_abs = isinstance(node.func, ast.Name) and self._state.names.value(node.func) is abs
            if (name in ELEMENTWISE and len(node.args) == ELEMENTWISE[name].arity) or is_abs:
                function = node.func
                return (
                    node.args,
                    lambda parts: ast.Call(function, parts, []),
                    name in ELEMENTWISE and ELEMENTWISE[name].gives_truth,
                )
        return None


def at_of(
    rows: Rows, lengths: Sequence[ast.expr], ones: Sequence[bool | None], at: Sequence[ast.expr]
) -> list[ast.expr]:
    """The index of an operand's element for an index of the result, whose axes may be longer and more."""
    lead = len(at) - len(rows.lengths)
    found: list[ast.expr] = []
    for axis, (length, is_one) in enumerate(zip(rows.lengths, rows.ones, strict=True)):
        index = at[lead + axis]
        if is_one is True:
            found.append(ast.Constant(0))
        elif is_one is False or ones[lead + axis] is True or ast.unparse(length) == ast.unparse(lengths[lead + axis]):
            found.append(index)
        else:
            found.append(or_zero(index, length))
    return found
