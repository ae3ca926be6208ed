"""Values of the variables that a parallel loop captures, as its kernel takes them, and the key that it is made for."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.analysis.syntax import nodes_in
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.libraries.installed import library_of
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_numba_offload.loops.coarsening import has_long_rows
from kapi_numba_offload.run.python_numbers import element

__all__ = [
    "Described",
    "as_tuples",
    "described",
    "loop_values",
    "lower_bound",
    "only_read",
    "specialization_key",
]

_STRONG = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
_MAX_LENGTH = 16  # each element is a parameter of the kernel
_READERS = ("len", "enumerate", "zip")


def only_read(names: Sequence[str], body: Sequence[ast.stmt]) -> frozenset[str]:
    """The variables of which a loop's body reads no more than elements and the length."""
    nodes = nodes_in(body)
    read: set[int] = set()
    for each in nodes:
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load) and not isinstance(each.slice, ast.Slice):
            read.add(id(each.value))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in _READERS:
            read.update(map(id, each.args))
        elif isinstance(each, ast.For):
            read.add(id(each.iter))
    other = {each.id for each in nodes if isinstance(each, ast.Name) and id(each) not in read}
    return frozenset(names) - other


def as_tuples(names: Sequence[str], values: Sequence[Any], read: frozenset[str]) -> list[Any]:
    """The values with tuples instead of short lists of arrays or numbers of one type."""
    return [
        tuple(value) if value.__class__ is list and name in read and _is_plain(value) else value
        for name, value in zip(names, values, strict=True)
    ]


def _is_plain(value: list[Any]) -> bool:
    kinds = {type(each) for each in value}
    is_known = all(isinstance(each, (int, float, np.number)) or is_device_array(each) for each in value)
    return 0 < len(value) <= _MAX_LENGTH and len(kinds) == 1 and is_known


def loop_values(values: Sequence[Any], *, are_strong: bool) -> list[Any]:
    """The values, 0-d arrays as numbers, and Python's own numbers as NumPy's of 64 bits where numbers are strong."""
    found = []
    for each in values:
        strong = _STRONG.get(each.__class__)
        if strong is None:
            found.append(element(each))
        else:
            found.append(strong(each) if are_strong else each)
    return found


class Described(NamedTuple):
    """The values of a loop over arrays of one queue.

    Attributes
    ----------
    key : tuple
        All of them that a launch depends on but for addresses: types, shapes, strides, queue and bounds.
    queue : object
        That of the arrays.
    captured, initial : list
        The values, as `loop_values` gives them.
    """

    key: tuple[Any, ...]
    queue: Any
    captured: list[Any]
    initial: list[Any]


def described(
    bounds: Sequence[int],
    captured: Sequence[Any],
    initial: Sequence[Any],
    *,
    are_strong: bool,
    asked: Collection[int],
) -> Described | None:
    """The values of a loop with what its launch depends on; None for others than numbers and arrays of one queue.

    Parameters
    ----------
    bounds, captured, initial : sequence
        As a loop is given them.
    are_strong : bool
        Whether Python's numbers are NumPy's of 64 bits.
    asked : collection of int
        Positions of captured integers whose values a launch may depend on, and not on their signs alone.
    """
    key: list[Any] = []
    values: list[Any] = []
    library: ArrayLibrary | None = None
    queue: Any = None
    for position, each in enumerate(captured):
        kind = each.__class__
        own = library_of(each)
        if own is not None:
            shape = each.shape
            if not shape:
                return None
            if library is None:
                library, queue = own, own.queue_of(each)
            elif own is not library or not own.is_on(each, queue):
                return None
            key.append((shape, own.layout_key(each)))
        elif kind is int or isinstance(each, np.integer):
            key.append((kind, each) if position in asked else (kind, None, each >= 0))
        elif kind in _STRONG or isinstance(each, np.generic):
            key.append(kind)
        else:
            return None
        values.append(_STRONG[kind](each) if are_strong and kind in _STRONG else each)
    if library is None:
        return None
    numbers = []
    for each in initial:
        kind = each.__class__
        if not (kind in _STRONG or isinstance(each, np.generic)):
            return None
        numbers.append(_STRONG[kind](each) if are_strong and kind in _STRONG else each)
        key.append(kind)
    for each in bounds:
        if each.__class__ is not int:  # a number that equals one may be none that `range` takes
            return None
        key.append(each)
    key.append(queue)
    return Described(tuple(key), queue, values, numbers)


def specialization_key(value: Any) -> Any:
    """A captured value's part of the key: kernels are made for types, axes of one element, and signs of integers."""
    if library_of(value) is not None:
        return value.dtype, tuple([length == 1 for length in value.shape]), has_long_rows(value)
    if isinstance(value, tuple):
        return tuple(map(specialization_key, value))
    if isinstance(value, (int, np.integer)):
        return value.__class__, bool(value >= 0)
    return value.__class__


def lower_bound(steps: range) -> int | None:
    """The lower bound of a loop variable in the specialization key: 0, 1 to 4, or None for negative ones."""
    if not steps:
        return 0
    low = steps[0] if steps.step > 0 else steps[-1]
    return None if low < 0 else low if low < 4 else 4
