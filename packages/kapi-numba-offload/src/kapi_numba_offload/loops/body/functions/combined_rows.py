"""Elementwise operations of rows and numbers: their common shape, mask and elements."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.analysis.syntax import expression, variable
from kapi_numba_offload.loops.body.launches.launch_conditions import require_equal
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import Access, Extent, Rows, spelling

__all__ = ["combined"]

_LOGICAL = ("bitwise_and", "bitwise_or", "bitwise_xor")


def combined(state: BodyState, name: str, operands: Sequence[Rows | ast.expr], node: ast.expr) -> Rows:
    """The rows of an operation on rows and numbers, of which one is of rank 1 or more."""
    rows = [each for each in operands if isinstance(each, Rows)]
    return Rows(
        shape=_common_shape(state, [each.shape for each in rows], node),
        spelled=spelling(name, operands),
        reads=frozenset[Access]().union(*(each.reads for each in rows)),
        is_bool=ELEMENTWISE[name].gives_truth or (name in _LOGICAL and all(each.is_bool for each in rows)),
        mask=_common_mask(rows, node),
        has_narrow_integers=any(each.has_narrow_integers and not each.is_bool for each in rows),
    )


def _common_mask(rows: Sequence[Rows], node: ast.expr) -> Rows | None:
    """The one mask of the operands; the same elements have to be left of each that is no number."""
    masks = [each.mask for each in rows]
    at: list[ast.expr] = [variable("_")] * len(rows[0].shape)
    if len({None if each is None else ast.unparse(each.element(at)) for each in masks}) > 1:
        raise NotInKernelError("an expression of rows of which different elements were selected", node)
    return masks[0]


def _common_shape(state: BodyState, shapes: Sequence[tuple[Extent, ...]], node: ast.expr) -> tuple[Extent, ...]:
    """The extents that shapes are broadcast to."""
    for one, other in itertools.combinations(shapes, 2):
        require_equal(state, one, other, node, "lengths of the operands must be equal, or 1", ones="both")
    made: list[Extent] = []
    for axis in range(-max(map(len, shapes)), 0):
        own = [each[axis] for each in shapes if len(each) >= -axis]
        several = [each for each in own if each.is_one is not True] or own[:1]
        sure = [each for each in several if each.is_one is False]
        lengths = dict.fromkeys(ast.unparse(each.length) for each in several)
        if sure:
            made.append(sure[0])
        elif len(lengths) == 1:
            made.append(several[0])
        else:
            made.append(Extent(state.kept(expression(f"max({', '.join(lengths)})"))))
    return tuple(made)
