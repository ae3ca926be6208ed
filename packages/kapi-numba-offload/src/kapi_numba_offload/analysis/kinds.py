"""Kinds of values and results of calls, as far as known at compile time: USM array, NumPy array, number, tuple."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import FREQUENCIES, MAKES_PAIRS, REDUCTIONS, WINDOWS
from kapi_numba_offload.analysis.random_functions import DRAW_IN_PLACE, METHODS_OF_GENERATORS, number_of_axes
from kapi_numba_offload.libraries.arrays import is_device_array

__all__ = [
    "ANY",
    "GENERATOR",
    "SCALAR",
    "ArrayKind",
    "Kind",
    "Other",
    "TupleKind",
    "arguments_of",
    "computed",
    "creation_result",
    "is_number_type",
    "is_usm",
    "joined",
    "kind_of_value",
    "may_have_axes",
    "method_result",
    "of_rank",
    "random_result",
    "reduction_result",
]


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """An array.

    - `usm`: whether it is a USM array; else NumPy's.
    - `ndim`: its rank, if known.
    - `may_be_element`: whether it was named with an index for each axis, one of which may be an array of indices, and
      need not be.
    - `is_array`: whether it is an array of rank 0 to Numba, too: a parameter's, or one that was made with the shape
      `()`. It is changed in place and returned as an array, where others of rank 0, such as sums, stand for numbers.
    """

    usm: bool
    ndim: int | None = None
    may_be_element: bool = field(default=False, compare=False)
    is_array: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class TupleKind:
    """A tuple of values of these kinds."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """A number (`SCALAR`), or a value of which nothing is known (`ANY`)."""

    name: str


SCALAR = Other("number")
ANY = Other("value")
GENERATOR = Other("generator")
"""A `numpy.random.Generator`."""

Kind = ArrayKind | TupleKind | Other

_SAME_RANK_METHODS = {"astype", "copy", "conj", "conjugate", "transpose", "clip", "round", "cumsum"}


def is_number_type(value: object) -> bool:
    """Whether it is one of NumPy's types of numbers, such as `numpy.float32`."""
    return isinstance(value, type) and issubclass(value, np.generic)


def is_usm(kind: Kind) -> bool:
    """Whether it is a USM array, or a tuple of them."""
    if isinstance(kind, TupleKind):
        return bool(kind.items) and all(map(is_usm, kind.items))
    return isinstance(kind, ArrayKind) and kind.usm


def may_have_axes(kind: Kind) -> TypeGuard[ArrayKind]:
    """Whether it is a USM array that has axes, as far as that is known."""
    return isinstance(kind, ArrayKind) and kind.usm and kind.ndim != 0


def kind_of_value(value: Any) -> Kind:
    """The kind of a value in hand."""
    if isinstance(value, (int, float, complex, np.generic)):
        return SCALAR
    if is_device_array(value):
        return ArrayKind(True, value.ndim)
    if isinstance(value, np.ndarray):
        return ArrayKind(False, value.ndim)
    if isinstance(value, tuple):
        return TupleKind(tuple(map(kind_of_value, value)))
    return GENERATOR if isinstance(value, np.random.Generator) else ANY


def joined(first: Kind, second: Kind) -> Kind:
    """The kind of a value that is of one of two kinds."""
    if first == second:
        return first if isinstance(first, ArrayKind) and first.is_array else second
    if first == SCALAR and _stands_for_number(second):
        return second
    if second == SCALAR and _stands_for_number(first):
        return first
    if isinstance(first, ArrayKind) and isinstance(second, ArrayKind) and first.usm == second.usm:
        return ArrayKind(first.usm)
    return ANY


def _stands_for_number(kind: Kind) -> bool:
    return isinstance(kind, ArrayKind) and kind.ndim == 0 and not kind.is_array


def computed(kind: Kind) -> Kind:
    """The kind of what is computed from each element: of an array of rank 0, as a sum, a number."""
    return ArrayKind(kind.usm, kind.ndim) if isinstance(kind, ArrayKind) else kind


def of_rank(usm: bool, rank: int | None) -> Kind:
    """The kind of an array of this rank, where that of rank 0 is a number."""
    return SCALAR if rank == 0 else ArrayKind(usm, rank)


def arguments_of(node: ast.Call) -> list[ast.expr]:
    """All arguments of a call, those by keyword last."""
    return [*node.args, *(each.value for each in node.keywords)]


def creation_result(name: str, node: ast.Call, kinds: Sequence[Kind], usm: bool) -> Kind:
    """The kind of the result of a function of `CREATION`; `kinds` are those of its arguments, as everywhere here."""
    array = ArrayKind(usm, _made_rank(name, kinds), is_array=True)
    return TupleKind((array, array)) if name in MAKES_PAIRS else array


def _made_rank(name: str, kinds: Sequence[Kind]) -> int | None:
    if name in ("arange", "linspace", "logspace", "geomspace", *WINDOWS, *FREQUENCIES, *MAKES_PAIRS):
        return 1
    if name in ("eye", "identity", "tri"):
        return 2
    if name in ("zeros", "ones", "empty", "full") and kinds:
        shape = kinds[0]
        return len(shape.items) if isinstance(shape, TupleKind) else 1 if shape == SCALAR else None
    return None


def reduction_result(array: ArrayKind, node: ast.Call, kinds: Sequence[Kind], first: int = 1) -> Kind:
    """The kind of a reduction of an array, whose axis may be argument number `first`."""
    keywords = {each.arg for each in node.keywords}
    if len(node.args) <= first and "axis" not in keywords and "keepdims" not in keywords:
        return ArrayKind(array.usm, 0)
    by_word = [kind for each, kind in zip(node.keywords, kinds[len(node.args) :], strict=True) if each.arg == "axis"]
    by_position = [kinds[first]] if len(node.args) == first + 1 else []
    if [*by_position, *by_word] == [SCALAR] and keywords <= {"axis", "dtype"} and array.ndim is not None:
        return ArrayKind(array.usm, array.ndim - 1)
    return ArrayKind(array.usm)


def method_result(owner: Kind, name: str, node: ast.Call, kinds: Sequence[Kind], usm: bool) -> Kind:
    """The kind of the result of a method of a value; `usm` says whether arrays that are drawn are USM arrays."""
    if owner == GENERATOR and name in METHODS_OF_GENERATORS:
        return random_result(name, node, kinds, usm)
    if not isinstance(owner, ArrayKind):
        return ANY
    if name in _SAME_RANK_METHODS:
        return owner
    if name in REDUCTIONS:
        return reduction_result(owner, node, kinds, first=0)
    if name in ("ravel", "flatten"):
        return ArrayKind(owner.usm, 1)
    if name == "reshape":
        rank = len(kinds[0].items) if kinds and isinstance(kinds[0], TupleKind) else len(kinds)
        is_known = all(kind == SCALAR or isinstance(kind, TupleKind) for kind in kinds)
        return ArrayKind(owner.usm, rank if is_known else None, is_array=True)
    return SCALAR if name == "item" else ANY


def random_result(name: str, node: ast.Call, kinds: Sequence[Kind], usm: bool) -> Kind:
    """The kind of the result of a function or method that draws random numbers."""
    ranks = [_rank_of_size(each, kind) for each, kind in zip(arguments_of(node), kinds, strict=True)]
    rank = number_of_axes(name, node, ranks)
    if rank == 0:
        return SCALAR
    return ANY if name.rpartition(".")[2] in DRAW_IN_PLACE else ArrayKind(usm, rank)


def _rank_of_size(node: ast.expr, kind: Kind) -> int | None:
    """The rank that an argument asks for as the size of an array; its own, if it is an array."""
    if isinstance(node, ast.Constant) and node.value is None:
        return 0
    if isinstance(kind, ArrayKind):
        return 1 if kind.ndim == 0 else kind.ndim
    return len(kind.items) if isinstance(kind, TupleKind) else 1 if kind == SCALAR else None
