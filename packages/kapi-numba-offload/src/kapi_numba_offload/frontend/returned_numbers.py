"""Numbers that an offloaded function returns: Python's, as Numba returns them, instead of 0-d device arrays."""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.control_flow import own_nodes
from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import ArrayKind, Kind, TupleKind
from kapi_numba_offload.libraries.arrays import is_device_array, like
from kapi_numba_offload.run.python_numbers import as_number

__all__ = ["Returned", "as_numbers", "numbers_in_lists", "returned_arrays"]

Returned = bool | tuple[Any, ...]
"""Whether a 0-d array is an array to Numba as well, for a value or for each item of a tuple."""


def returned_arrays(definition: ast.FunctionDef, kinds: Kinds) -> Returned:
    """Find the returned 0-d arrays that are arrays to Numba, too, by `return` and `yield` statements."""
    found: Returned = False
    for node in own_nodes(definition):
        if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
            found = _either(found, _is_array(kinds.kind(node.value)))
    return found


def _is_array(kind: Kind) -> Returned:
    if isinstance(kind, TupleKind):
        return tuple(map(_is_array, kind.items))
    return isinstance(kind, ArrayKind) and kind.is_array


def _either(first: Returned, second: Returned) -> Returned:
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        return tuple(map(_either, first, second))
    if isinstance(first, tuple) or isinstance(second, tuple):
        return second if isinstance(second, tuple) else first
    return first or second


def as_numbers(value: Any, are_arrays: Returned = False) -> Any:
    """A result, in which 0-d device arrays and NumPy's numbers are Python's numbers; it waits for them.

    - `value`: what a function returned: lists and dictionaries in it are changed in place, generators wrapped.
    - `are_arrays`: which 0-d arrays stay arrays, as `returned_arrays` has it.
    """
    if value is None:
        return None
    if is_device_array(value):
        return value if value.ndim or are_arrays is True else as_number(value)
    if isinstance(value, (float, int, complex, np.generic)):
        return value if are_arrays is True else as_number(value)
    if type(value) is tuple or hasattr(value, "_make"):  # an index space is a tuple, too
        inner = are_arrays if isinstance(are_arrays, tuple) and len(are_arrays) == len(value) else (False,) * len(value)
        return like(value, map(as_numbers, value, inner))
    if isinstance(value, list):
        numbers_in_lists((value,))
        return value
    if type(value) is dict:
        value.update({key: as_numbers(each) for key, each in value.items()})
        return value
    if isinstance(value, GeneratorType):
        return _numbers_of(value, are_arrays)
    return value if are_arrays is True else as_number(value)


def numbers_in_lists(values: Sequence[Any]) -> None:
    """Have Python's numbers in lists that a function was given, or returns, instead of 0-d device arrays."""
    for each in values:
        if isinstance(each, list):
            for position, item in enumerate(each):
                found = as_numbers(item)
                if found is not item:
                    each[position] = found
        elif isinstance(each, tuple):
            numbers_in_lists(each)


def _numbers_of(generator: Generator[Any, Any, Any], are_arrays: Returned) -> Generator[Any, Any, Any]:
    for each in generator:
        yield as_numbers(each, are_arrays)
