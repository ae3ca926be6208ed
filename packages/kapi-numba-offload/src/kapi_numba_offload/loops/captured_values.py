"""Values of the variables that a parallel loop captures, as its kernel takes them, and the key that it is made for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.syntax import nodes_in
from kapi_numba_offload.libraries.arrays import host_copy, is_device_array
from kapi_numba_offload.loops.coarsening import has_long_rows

__all__ = ["as_number", "as_tuples", "lower_bound", "only_read", "specialization_key", "strong_numbers"]

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
        tuple(value) if name in read and type(value) is list and _is_plain(value) else value
        for name, value in zip(names, values, strict=True)
    ]


def _is_plain(value: list[Any]) -> bool:
    kinds = {type(each) for each in value}
    is_known = all(isinstance(each, (int, float, np.number)) or is_device_array(each) for each in value)
    return 0 < len(value) <= _MAX_LENGTH and len(kinds) == 1 and is_known


def strong_numbers(values: Sequence[Any]) -> list[Any]:
    """The values, Python's own numbers as NumPy's of 64 bits."""
    return [_STRONG[type(each)](each) if type(each) in _STRONG else each for each in values]


def as_number(value: Any) -> Any:
    """A 0-d array that a loop takes for a number, as a number."""
    return host_copy(value)[()] if is_device_array(value) and value.ndim == 0 else value


def specialization_key(value: Any) -> Any:
    """A captured value's part of the key: kernels are made for types, axes of one element, and signs of integers."""
    if is_device_array(value):
        return value.dtype, tuple([length == 1 for length in value.shape]), has_long_rows(value)
    if isinstance(value, tuple):
        return tuple(map(specialization_key, value))
    if isinstance(value, (int, np.integer)):
        return type(value), bool(value >= 0)
    return type(value)


def lower_bound(bounds: Sequence[int]) -> int | None:
    """The lower bound of a loop variable in the specialization key: 0, 1 to 4, or None for negative ones."""
    steps = range(*bounds)
    if not steps:
        return 0
    low = min(steps[0], steps[-1])
    return None if low < 0 else min(int(low), 4)
