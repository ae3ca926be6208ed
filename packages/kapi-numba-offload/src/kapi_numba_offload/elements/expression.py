"""Elementwise expressions as trees of operations over numbered leaves; their values for arrays, or types for types."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload._numba_compat import as_dtype, from_dtype, ufunc_find_matching_loop
from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.numbers import is_array, with_numba_integers
from kapi_numba_offload.libraries.arrays import arrays_among, library

__all__ = [
    "Apply",
    "Cast",
    "Const",
    "Leaf",
    "Node",
    "Ref",
    "apply",
    "apply_as_numba",
    "evaluate",
    "leaves_of",
    "nodes_of",
    "references_of",
    "renumbered",
]


@dataclass(frozen=True, slots=True, eq=False)  # by identity: 1 and 1.0 are equal but not alike
class Leaf:
    """The value numbered `index` among those that a fused region is given."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """The value of the statement numbered `statement` of the same region."""

    statement: int


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A number written in the source."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """An operation of `functions.ELEMENTWISE` on operands."""

    name: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """`operand.astype(dtype)`."""

    operand: Node
    dtype: Any


Node = Leaf | Ref | Const | Apply | Cast

_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))


def apply(name: str, operands: Sequence[Any]) -> Any:
    """An operation on arrays or numbers: the library's of an array among them, else NumPy's.

    For types of arrays it is the type of the result.
    """
    row = ELEMENTWISE[name]
    if name in _COMPARISONS:
        operands = _comparable(operands)
    operands = with_numba_integers(name, operands)
    for each in operands:
        if isinstance(each, ArrayType):
            return each.rules.elementwise(name, operands)
    if row.apply is not None:
        return row.apply(*operands)
    array = next(arrays_among(operands), None)
    return (getattr(np, name) if array is None else library(array).function(name))(*operands)


def _comparable(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of a comparison, in which a Python integer beyond an array's type is infinite, so that it stays beyond.

    NumPy compares them as they are, and dpnp refuses them.
    """
    array = next((each for each in operands if is_array(each) and each.dtype.kind in "iu"), None)
    if array is None:
        return operands
    ends = np.iinfo(array.dtype)
    return [
        math.copysign(math.inf, each) if type(each) is int and not ends.min <= each <= ends.max else each
        for each in operands
    ]


def apply_as_numba(name: str, operands: Sequence[Any]) -> Any:
    """The same in the dtypes that Numba gives the operation for NumPy arrays and numbers of these types."""
    ufunc = getattr(np, name)
    if not isinstance(ufunc, np.ufunc) or not any(is_array(each) and each.ndim for each in operands):
        return apply(name, operands)
    loop = ufunc_find_matching_loop(ufunc, [from_dtype(np.asarray(_plain(each)).dtype) for each in operands])
    if loop is None:
        return apply(name, operands)
    given = [
        each.astype(as_dtype(type_)) if is_array(each) and name not in _COMPARISONS else each
        for each, type_ in zip(operands, loop.inputs, strict=True)
    ]
    return apply(name, given).astype(as_dtype(loop.outputs[0]))


def _plain(operand: Any) -> Any:
    return np.empty(0, operand.dtype) if is_array(operand) else operand


def evaluate(
    node: Node,
    leaves: Sequence[Any],
    earlier: Sequence[Any],
    values: dict[Node, Any] | None = None,
    operation: Callable[[str, Sequence[Any]], Any] = apply,
) -> Any:
    """Evaluate the expression for arrays or their types, one operation after the other.

    - `leaves`: values of its leaves.
    - `earlier`: values of the region's statements before this one.
    - `values`: receives the value of every node.
    - `operation`: what an operation is for its name and operands: `apply` or `apply_as_numba`.
    """
    if isinstance(node, Leaf):
        value = leaves[node.index]
    elif isinstance(node, Ref):
        value = earlier[node.statement]
    elif isinstance(node, Const):
        value = node.value
    elif isinstance(node, Cast):
        value = evaluate(node.operand, leaves, earlier, values, operation).astype(node.dtype)
    else:
        value = operation(node.name, [evaluate(each, leaves, earlier, values, operation) for each in node.operands])
    if values is not None:
        values[node] = value
    return value


def nodes_of(node: Node) -> Iterator[Node]:
    """The expression and all below it."""
    yield node
    operands = (node.operand,) if isinstance(node, Cast) else node.operands if isinstance(node, Apply) else ()
    for each in operands:
        yield from nodes_of(each)


def leaves_of(node: Node) -> set[int]:
    """The numbers of the leaves below `node`."""
    return {each.index for each in nodes_of(node) if isinstance(each, Leaf)}


def references_of(node: Node) -> set[int]:
    """The numbers of the earlier statements whose values `node` reads."""
    return {each.statement for each in nodes_of(node) if isinstance(each, Ref)}


def renumbered(node: Node, number: Callable[[Node], Node]) -> Node:
    """The expression with its leaves changed."""
    if isinstance(node, Cast):
        return Cast(renumbered(node.operand, number), node.dtype)
    if isinstance(node, Apply):
        return Apply(node.name, tuple(renumbered(each, number) for each in node.operands))
    return number(node)
