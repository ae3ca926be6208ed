"""Short lists that a parallel loop only reads, as tuples: kernels are given these by value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.run.usm import DpnpArray

__all__ = ["as_tuples", "only_read"]

_LONGEST = 16  # each element is a parameter of the kernel
_READERS = ("len", "enumerate", "zip")


def only_read(names: Sequence[str], body: Sequence[ast.stmt]) -> frozenset[str]:
    """The variables of which a loop's body reads no more than elements and the length."""
    nodes = [each for statement in body for each in ast.walk(statement)]
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
    """The values with tuples in the place of short lists of arrays or numbers of one type.

    Parameters
    ----------
    names : sequence of str
        The variables.
    values : sequence
        Their values.
    read : frozenset of str
        Those that `only_read` gives.
    """
    return [
        tuple(value) if name in read and type(value) is list and _is_plain(value) else value
        for name, value in zip(names, values, strict=True)
    ]


def _is_plain(value: list[Any]) -> bool:
    kinds = {type(each) for each in value}
    is_known = all(issubclass(each, (DpnpArray, int, float, np.number)) for each in kinds)
    return 0 < len(value) <= _LONGEST and len(kinds) == 1 and is_known
