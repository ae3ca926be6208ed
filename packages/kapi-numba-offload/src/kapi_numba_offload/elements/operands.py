"""Operands of a fused region: types, dtypes, shapes and indexing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from kapi_numba_offload.elements.dtype_rules import DIFFERENCES, NUMPY, ArrayType, DtypeRules
from kapi_numba_offload.elements.expression import Apply, Cast, Leaf, Node, Ref
from kapi_numba_offload.elements.statements import Statement
from kapi_numba_offload.libraries.arrays import is_device_array, library

__all__ = [
    "Unfused",
    "absolute",
    "dtype_of",
    "indexing_of",
    "number_key",
    "require_held",
    "statement_shapes",
    "type_of",
]

_BITS = (7, 8, 15, 16, 31, 32, 63, 64)
"""Of the numbers that NumPy's integer types hold, with a sign and without."""


class Unfused(Exception):
    """The reason why a region is not one kernel for the operands at hand.

    - `shapes`: the shape of each statement where these are what keeps them apart: neighbours of one shape can be one
      kernel.
    """

    def __init__(self, reason: str, shapes: Sequence[tuple[int, ...]] = ()) -> None:
        super().__init__(reason)
        self.shapes = tuple(shapes)


def type_of(value: Any) -> Any:
    """The type of an array; numbers as they are."""
    if not is_device_array(value):
        return value
    own = library(value)
    missing = own.facts(own.queue_of(value)).missing_dtypes
    return ArrayType(value.dtype, value.ndim, own.kind_of(value), _rules(own.name, missing))


@cache
def _rules(name: str, missing: frozenset[str]) -> DtypeRules:
    return DtypeRules(DIFFERENCES.get(name, NUMPY), missing)


def number_key(value: Any) -> Any:
    """The type of a number, and of Python's integers also which of NumPy's types hold it."""
    type_ = type(value)
    if type_ is not int or 0 <= value < 128:
        return type_
    return value < 0, bisect_left(_BITS, (~value if value < 0 else value).bit_length())


def dtype_of(value: Any) -> np.dtype[Any] | None:
    """The dtype of an array, of its type or of a NumPy number; None for Python's own numbers."""
    return value.dtype if isinstance(value, (ArrayType, np.generic)) or is_device_array(value) else None


def require_held(value: Any, dtype: np.dtype[Any]) -> None:
    """Refuse one of Python's integers that an integer type does not hold, as NumPy does.

    Raises `OverflowError` in NumPy's words.
    """
    if type(value) is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def statement_shapes(statements: Sequence[Statement], leaves: Sequence[Any]) -> list[tuple[int, ...]]:
    """The shape of each statement's value, or of what it is stored to.

    Raises `Unfused` if shapes do not fit each other.
    """
    shapes: list[tuple[int, ...]] = []

    def shape_of(node: Node) -> tuple[int, ...]:
        if isinstance(node, Leaf):
            leaf = leaves[node.index]
            return leaf.shape if is_device_array(leaf) else ()
        if isinstance(node, Ref):
            return shapes[node.statement]
        if isinstance(node, Cast):
            return shape_of(node.operand)
        if isinstance(node, Apply):
            return _broadcast(list(map(shape_of, node.operands)))
        return ()

    for statement in statements:
        try:
            shape = shape_of(statement.node)
            if statement.target is not None:
                target = leaves[statement.target]
                if not is_device_array(target):
                    raise Unfused("it stores to what is no device array")
                if _broadcast([shape, target.shape]) != target.shape:
                    raise ValueError
                shape = target.shape
        except ValueError:
            raise Unfused("its shapes do not fit each other") from None
        shapes.append(shape)
    return shapes


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of arrays together; NumPy takes ten times as long for arrays of one shape and numbers."""
    different = set(shapes) - {()}
    return np.broadcast_shapes(*different) if len(different) > 1 else next(iter(different), ())


def indexing_of(shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[int, ...]:
    """Indexing of an operand of one shape where the result has another: see `Indexing`."""
    lead = len(result) - len(shape)
    return tuple(-1 if length == 1 and result[lead + axis] != 1 else lead + axis for axis, length in enumerate(shape))


def absolute(node: Node, leaves: int) -> Node:
    """References to earlier statements as leaves, numbered after the region's own."""
    return Leaf(leaves + node.statement) if isinstance(node, Ref) else node
