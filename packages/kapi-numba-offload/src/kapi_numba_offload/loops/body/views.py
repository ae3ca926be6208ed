"""Parts of arrays in the body of a loop: views, rows of elements, and the index arithmetic that kernels do for them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.analysis.operations import OPERATORS
from kapi_numba_offload.elements.expression import Apply, Const, Leaf, Node
from kapi_numba_offload.elements.spelling import syntax_of
from kapi_numba_offload.loops.body.syntax_parts import or_zero
from kapi_types.kernel_typing import numba_integers
from kapi_types.kernel_typing.library import index_functions, number_functions

__all__ = [
    "HELPERS",
    "ArrayFacts",
    "FixedAxis",
    "FreeAxis",
    "LaunchFacts",
    "LaunchNumbers",
    "RowLeaf",
    "Rows",
    "ArrayPart",
    "number_leaf",
]


HELPERS: dict[str, Any] = {
    "kapi_np": np,
    "kapi_round": round,
    "kapi_numba_integers": numba_integers,
    **{f"kapi_{name}": getattr(index_functions, name) for name in index_functions.__all__},
    **{f"kapi_array_{name}": number_functions.OPERATORS[name] for name in OPERATORS.values()},
}
"""Names in the lowered body besides those of the source."""


class ArrayFacts(NamedTuple):
    """Properties of an array that its kernel is specialized for.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Type of its elements; None for a work-item's own array, whose type the kernel's inference finds.
    ones : sequence of bool or None
        For each axis whether it has one element; None if that is not known.
    """

    dtype: np.dtype[Any] | None
    ones: Sequence[bool | None]


class LaunchNumbers:
    """The integers and extents of a launch, which a kernel is made for as soon as its lowering asks for one.

    Parameters
    ----------
    values : mapping
        Values of variables, by name.

    Attributes
    ----------
    asked : dict of str to int
        The numbers that were asked for.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.asked: dict[str, int] = {}

    def of(self, text: str) -> int | None:
        """The number of a variable or of a length such as `a.shape[1]`; None for any other expression."""
        name, _, rest = text.partition(".shape[")
        value, axis = self._values.get(name), rest.rstrip("]")
        shape = getattr(value, "shape", ())
        if rest and axis.isdigit() and int(axis) < len(shape):
            self.asked[text] = int(shape[int(axis)])
        elif not rest and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            self.asked[text] = int(value)
        return self.asked.get(text)


class LaunchFacts(NamedTuple):
    """Facts of the values that a loop is launched with.

    Attributes
    ----------
    arrays : mapping of str to ArrayFacts
        The arrays that the body reads or writes.
    lower : mapping of str to int
        Variables that are never below a number: loop variables, and numbers known when the loop is launched.
    numbers : LaunchNumbers
        Integers and lengths that the kernel is made for, as far as its work-items have arrays of such lengths.
    integers : set of str
        Variables from outside of the loop that are integers.
    """

    arrays: Mapping[str, ArrayFacts]
    lower: Mapping[str, int]
    numbers: LaunchNumbers
    integers: Set[str]


@dataclass(frozen=True, slots=True)
class FixedAxis:
    """An axis of an array at one index."""

    index: ast.expr


@dataclass(frozen=True, slots=True)
class FreeAxis:
    """An axis of an array, or a slice of it.

    Attributes
    ----------
    start, step, length : ast.expr
        Its first index, the distance between two, and their number.
    is_one : bool or None
        Whether it has one element, which then serves all of another operand's; None if only the launch knows.
    """

    start: ast.expr
    step: ast.expr
    length: ast.expr
    is_one: bool | None = None


@dataclass(frozen=True, slots=True)
class ArrayPart:
    """Part of an array.

    Attributes
    ----------
    array : str
        The array.
    axes : tuple of FixedAxis and FreeAxis
        Its axes, in its own order.
    order : tuple of int or None
        The view's axes as numbers of the array's; None for a new axis of one element.
    """

    array: str
    axes: tuple[FixedAxis | FreeAxis, ...]
    order: tuple[int | None, ...]

    @property
    def free(self) -> list[FreeAxis]:
        """The view's axes."""
        return [_NEW_AXIS if number is None else self._axis(number) for number in self.order]

    def _axis(self, number: int) -> FreeAxis:
        axis = self.axes[number]
        assert isinstance(axis, FreeAxis)
        return axis


_NEW_AXIS = FreeAxis(ast.Constant(0), ast.Constant(1), ast.Constant(1), True)


@dataclass(frozen=True, slots=True)
class RowLeaf:
    """An operand of `Rows`: part of an array, or a number.

    Attributes
    ----------
    lengths, ones : tuple
        As those of `Rows`; empty for a number.
    element : callable
        Its element at given indices.
    """

    lengths: tuple[ast.expr, ...]
    ones: tuple[bool | None, ...]
    element: Callable[[Sequence[ast.expr]], ast.expr]


@dataclass(frozen=True, slots=True)
class Rows:
    """An element expression of rank 1 or more.

    Attributes
    ----------
    lengths : tuple of ast.expr
        Those of its axes.
    ones : tuple of bool or None
        Whether each has one element; None if only the launch knows.
    node : Node
        The expression.
    leaves : tuple of RowLeaf
        Its operands.
    arrays : frozenset of (str, str)
        What it reads: array and text of the part of it.
    is_bool : bool
        Whether its elements are truth values.
    mask : Rows or None
        The truth values, of the same axes, of the elements that there are; None if there are all of them.
    has_narrow_integers : bool
        Whether it may read integers of fewer than 64 bits, or bools, whose operations have other types in arrays than
        by themselves.
    """

    lengths: tuple[ast.expr, ...]
    ones: tuple[bool | None, ...]
    node: Node
    leaves: tuple[RowLeaf, ...]
    arrays: frozenset[tuple[str, str]]
    is_bool: bool = False
    mask: Rows | None = None
    has_narrow_integers: bool = False

    def element(self, at: Sequence[ast.expr]) -> ast.expr:
        """Its element at given indices."""
        return self._element(self.node, at)

    def _element(self, node: Node, at: Sequence[ast.expr]) -> ast.expr:
        if isinstance(node, Leaf):
            leaf = self.leaves[node.index]
            return leaf.element(_at_of(leaf, self.lengths, self.ones, at))
        if isinstance(node, Const):
            return ast.Constant(node.value)
        assert isinstance(node, Apply)
        operands = [self._element(each, at) for each in node.operands]
        return syntax_of(node.name, operands, has_numpy_integers=self.has_narrow_integers)

    def broadcast_at(
        self, lengths: Sequence[ast.expr], ones: Sequence[bool | None], at: Sequence[ast.expr]
    ) -> ast.expr:
        """Its element for an index of a result, whose axes may be longer and more."""
        return self.element(_at_of(self, lengths, ones, at))

    def applied(self, name: str, *others: Node | ast.expr, is_bool: bool = False) -> Rows:
        """An operation of it and of numbers."""
        leaves, operands = list(self.leaves), [self.node]
        for each in others:
            if isinstance(each, ast.expr):
                leaves.append(number_leaf(each))
                operands.append(Leaf(len(leaves) - 1))
            else:
                operands.append(each)
        return replace(self, node=Apply(name, tuple(operands)), leaves=tuple(leaves), is_bool=is_bool)


def number_leaf(value: ast.expr) -> RowLeaf:
    """A number as an operand."""
    return RowLeaf((), (), lambda at: copy.deepcopy(value))


def _at_of(
    rows: Rows | RowLeaf, lengths: Sequence[ast.expr], ones: Sequence[bool | None], at: Sequence[ast.expr]
) -> list[ast.expr]:
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
