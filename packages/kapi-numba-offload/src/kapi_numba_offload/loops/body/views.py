"""Parts of arrays in the body of a loop: views, rows of elements, and the index arithmetic that kernels do for them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.analysis.operations import OPERATORS
from kapi_numba_offload.analysis.syntax import or_zero, plus, times, variable
from kapi_numba_offload.elements.operation_source import syntax_of
from kapi_numba_offload.loops.body.launches.group_arrays import GroupArrays
from kapi_numba_offload.loops.body.launches.integer_expressions import evaluated
from kapi_types.kernel_typing import numba_integers
from kapi_types.kernel_typing.library import index_functions, number_functions

__all__ = [
    "HELPERS", "Access", "ArrayFacts", "ArrayPart", "Extent", "FixedAxis", "FreeAxis", "LaunchFacts", "LaunchNumbers",
    "Rows", "spelling",
]  # fmt: skip

HELPERS: dict[str, Any] = {
    "kapi_np": np,
    "kapi_round": round,
    "kapi_ValueError": ValueError,
    "kapi_numba_integers": numba_integers,
    **{f"kapi_{name}": getattr(index_functions, name) for name in index_functions.__all__},
    **{f"kapi_array_{name}": number_functions.OPERATORS[name] for name in OPERATORS.values()},
}
"""Names in the lowered body besides those of the source."""


class ArrayFacts(NamedTuple):
    """Properties of an array that its kernel is specialized for.

    - `dtype`: type of its elements; None for a work-item's own array whose type the kernel's inference finds.
    - `ones`: for each axis whether it has one element; None if that is not known.
    - `may_be_narrow`, `is_integer`: without a dtype, whether elements may be integers that Numba widens, or truth
      values, and whether they surely are integers.
    """

    dtype: np.dtype[Any] | None
    ones: Sequence[bool | None]
    may_be_narrow: bool = True
    is_integer: bool = False

    @property
    def has_integers(self) -> bool:
        """Whether elements surely are integers, and no truth values."""
        return self.is_integer if self.dtype is None else self.dtype.kind in "iu"

    @property
    def has_narrow_integers(self) -> bool:
        """Whether elements may be truth values, unsigned, or of fewer than 64 bits."""
        if self.dtype is None:
            return self.may_be_narrow
        return self.dtype.kind in "bu" or (self.dtype.kind == "i" and self.dtype.itemsize < 8)


class LaunchNumbers:
    """The integers and extents of a launch, which a kernel is made for as soon as its lowering asks for one.

    - `spans`: the values of the loop variables.
    - `asked`: the numbers and conditions that were asked for.
    """

    def __init__(self, values: Mapping[str, Any], spans: Mapping[str, range] | None = None) -> None:
        self._values, self.spans = values, spans or {}
        self.asked: dict[str, int] = {}

    def holds(self, text: str) -> bool:
        """Whether a condition holds, in which `kapi_first_i` and `kapi_last_i` are the ends of a loop variable `i`."""
        ends: dict[str, int] = {}
        for name, span in self.spans.items():
            ends[f"kapi_first_{name}"], ends[f"kapi_last_{name}"] = (min(span), max(span)) if span else (0, 0)
        found = self.asked[text] = int(bool(evaluated(text, {**self._values, **ends})))
        return bool(found)

    def again(self, text: str) -> int | None:
        """The number of a text that another launch has asked for, or whether its condition holds."""
        return self.holds(text) if "<=" in text else self.of(text)

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

    - `lower`: variables that are never below a number: loop variables, and numbers known when the loop is launched.
    - `numbers`: integers and lengths that the kernel is made for, as far as its work-items have arrays of such lengths.
    - `integers`: variables from outside of the loop that are integers.
    - `group`: the arrays of the one work-group that does the loop; None for loops that are parallel.
    - `has_one_sign`: whether the launch requires of each index that differs between iterations that it counts from the
      start in all of them, or from the end.
    """

    arrays: Mapping[str, ArrayFacts]
    lower: Mapping[str, int]
    numbers: LaunchNumbers
    integers: Set[str]
    group: GroupArrays | None = None
    has_one_sign: bool = False


@dataclass(frozen=True, slots=True)
class FixedAxis:
    """An axis of an array at one index."""

    index: ast.expr


class Extent(NamedTuple):
    """The length of an axis; whether it has one element, which serves all of another operand's, None if not known."""

    length: ast.expr
    is_one: bool | None = None


@dataclass(frozen=True, slots=True)
class FreeAxis:
    """An axis of an array, or a slice of it: its first index, the distance between two, and its extent."""

    start: ast.expr
    step: ast.expr
    extent: Extent


class Access(NamedTuple):
    """A read of a part of an array: texts of the part, and of its axes alone, as its indices in the others are."""

    array: str
    text: str
    free: str


@dataclass(frozen=True, slots=True)
class ArrayPart:
    """Part of an array.

    - `axes`: its axes, in its own order.
    - `order`: the view's axes as numbers of the array's; None for a new axis of one element.
    """

    array: str
    axes: tuple[FixedAxis | FreeAxis, ...]
    order: tuple[int | None, ...]

    @classmethod
    def full(cls, array: str, shape: Sequence[Extent]) -> ArrayPart:
        """All of an array."""
        axes = tuple(FreeAxis(ast.Constant(0), ast.Constant(1), extent) for extent in shape)
        return cls(array, axes, tuple(range(len(axes))))

    @property
    def free(self) -> list[FreeAxis]:
        """The view's axes."""
        found = [_NEW_AXIS if number is None else self.axes[number] for number in self.order]
        return [each for each in found if isinstance(each, FreeAxis)]

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The view's extents."""
        return tuple(axis.extent for axis in self.free)

    def index(self, at: Sequence[ast.expr]) -> list[ast.expr]:
        """The index in the array of the element at an index in the view."""
        along = {number: each for number, each in zip(self.order, at, strict=True) if number is not None}
        return [
            copy.deepcopy(axis.index) if isinstance(axis, FixedAxis)
            else plus(copy.deepcopy(axis.start), times(along[number], copy.deepcopy(axis.step)))
            for number, axis in enumerate(self.axes)
        ]  # fmt: skip

    @property
    def access(self) -> Access:
        """A read of it."""
        own = self.index([variable("_")] * len(self.order))
        free = [each if isinstance(axis, FreeAxis) else ast.Constant(None)
                for axis, each in zip(self.axes, own, strict=True)]  # fmt: skip
        text, free_text = (f"{', '.join(map(ast.unparse, parts))} {self.order}" for parts in (own, free))
        return Access(self.array, text, free_text)


_NEW_AXIS = FreeAxis(ast.Constant(0), ast.Constant(1), Extent(ast.Constant(1), True))


@dataclass(frozen=True, slots=True)
class Rows:
    """An element expression of rank 1 or more.

    - `spelled`: its element as a part of other rows, or of itself, at an index of those.
    - `mask`: the truth values, of the same axes, of the elements that there are; None if there are all of them.
    - `has_narrow_integers`: whether it may read integers of fewer than 64 bits, or bools, whose operations have other
      types in arrays than by themselves.
    """

    shape: tuple[Extent, ...]
    spelled: Callable[[Rows, Sequence[ast.expr]], ast.expr]
    reads: frozenset[Access] = frozenset()
    is_bool: bool = False
    mask: Rows | None = None
    has_narrow_integers: bool = False

    @classmethod
    def of(cls, shape: tuple[Extent, ...], element: Callable[[Sequence[ast.expr]], ast.expr], **facts: Any) -> Rows:
        """Rows of whose elements each is given by its index."""
        return cls(shape, lambda outer, at: element(_index_of_part(shape, outer.shape, at)), **facts)

    @property
    def lengths(self) -> list[ast.expr]:
        """The lengths of the axes, for one use."""
        return [copy.deepcopy(each.length) for each in self.shape]

    def element(self, at: Sequence[ast.expr]) -> ast.expr:
        """Its element at given indices."""
        return self.spelled(self, at)

    @property
    def elsewhere(self) -> Rows:
        """The same elements, for rows that have each at another index."""
        reads = (each._replace(text=f"{each.text} elsewhere", free=f"{each.text} elsewhere") for each in self.reads)
        return replace(self, reads=frozenset(reads))

    def rearranged(self, shape: tuple[Extent, ...], index: Callable[[Sequence[ast.expr]], list[ast.expr]]) -> Rows:
        """Rows of a shape, whose element at an index is that at what `index` gives for it."""
        made = Rows.of(shape, lambda at: self.element(index(at)))
        return replace(self.elsewhere, shape=shape, spelled=made.spelled)

    @property
    def first(self) -> ast.expr:
        """Its first element."""
        return self.element([ast.Constant(0) for _ in self.shape])

    def broadcast_at(self, shape: Sequence[Extent], at: Sequence[ast.expr]) -> ast.expr:
        """Its element for an index of a result, whose axes may be longer and more."""
        return self.element(_index_of_part(self.shape, shape, at))

    def applied(self, name: str, *numbers: ast.expr, is_bool: bool = False) -> Rows:
        """An operation of it and of numbers."""
        return replace(self, spelled=spelling(name, [self, *numbers]), is_bool=is_bool)


def spelling(name: str, operands: Sequence[Rows | ast.expr]) -> Callable[[Rows, Sequence[ast.expr]], ast.expr]:
    """An element of an operation on rows and numbers, as `Rows.spelled`."""
    is_narrow = any(isinstance(each, Rows) and each.has_narrow_integers and not each.is_bool for each in operands)

    def spelled(outer: Rows, at: Sequence[ast.expr]) -> ast.expr:
        made = [copy.deepcopy(each) if isinstance(each, ast.expr) else each.spelled(outer, at) for each in operands]
        return syntax_of(name, made, has_numpy_integers=is_narrow or outer.has_narrow_integers)

    return spelled


def _index_of_part(own: Sequence[Extent], outer: Sequence[Extent], at: Sequence[ast.expr]) -> list[ast.expr]:
    """The index in an operand for one in a result."""
    found: list[ast.expr] = []
    lead = len(at) - len(own)
    for extent, result, index in zip(own, outer[lead:], at[lead:], strict=True):
        if extent.is_one is True:
            found.append(ast.Constant(0))
        elif (
            extent.is_one is False or result.is_one is True or ast.unparse(extent.length) == ast.unparse(result.length)
        ):
            found.append(index)
        else:
            found.append(or_zero(index, extent.length))
    return found
