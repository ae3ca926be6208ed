"""Check of placement: the arrays of one expression are on one device, or an error with names and line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.run.usm import is_dpnp_array
from kapi_runtime.platform.placement_errors import placement_error
from kapi_runtime.sycl.execution_queue import execution_queue
from kapi_sim.errors import ExecutionPlacementError
from kapi_types import array_fields, is_usm_array

__all__ = ["host_arrays_among", "mixed_error", "mixture_among", "not_on_device_error", "one_queue"]


def mixed_error(location: Any, usm: str, host: str, *, is_stored: bool = False) -> Exception:
    """The error for NumPy and device arrays in one expression: one of placement, and a `TypeError` as dpnp's is.

    Parameters
    ----------
    location : SourceLocation
        Where they meet.
    usm, host : str
        How the device array and the NumPy array are spelled there.
    is_stored : bool
        Whether the one is stored to the other.
    """
    remedy = (
        f"`{_primary(usm)}.asnumpy()` copies it to the host"
        if is_stored
        else f"`dpnp.asarray({host})` copies it to the default device"
    )
    return placement_error(
        f"arrays of one expression must be all device arrays or all NumPy arrays, got device array `{usm}` and NumPy "
        f"array `{host}`: {remedy}\n  {location}: {location.text}",
        "arrays-mixed",
        is_type_error=True,
    )


def not_on_device_error(location: Any, name: str, host: str) -> Exception:
    """The error for a NumPy array that one of dpnp's functions is given.

    Parameters
    ----------
    location : SourceLocation
        Where it is called.
    name : str
        The function's name.
    host : str
        How the NumPy array is spelled there.
    """
    return placement_error(
        f"arrays that dpnp.{name}() is given must be device arrays, got NumPy array `{host}`: "
        f"`dpnp.asarray({host})` copies it to the default device\n  {location}: {location.text}",
        "arrays-mixed",
        is_type_error=True,
    )


def mixture_among(location: Any, texts: Sequence[str], values: Sequence[Any]) -> Exception | None:
    """The error for the first NumPy and device arrays among values, tuples and lists of them included; None for none.

    Parameters
    ----------
    location : SourceLocation
        Where they meet.
    texts : sequence of str
        How the values are spelled there.
    values : sequence of object
        What they are.
    """
    usm = [text for text, is_usm in _arrays_among(texts, values) if is_usm]
    host = host_arrays_among(texts, values)
    return mixed_error(location, usm[0], host[0]) if usm and host else None


def host_arrays_among(texts: Sequence[str], values: Sequence[Any]) -> list[str]:
    """Source texts of the NumPy arrays among values, those in tuples and lists included."""
    return [text for text, is_usm in _arrays_among(texts, values) if not is_usm]


def _arrays_among(texts: Sequence[str], values: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    for text, value in zip(texts, values, strict=True):
        yield from _arrays_of(text, value)


def _arrays_of(text: str, value: Any) -> Iterator[tuple[str, bool]]:
    """The arrays in a value: how each is spelled, and whether it is a device array."""
    if is_dpnp_array(value) or isinstance(value, np.ndarray):
        yield text, is_dpnp_array(value)
    elif isinstance(value, (tuple, list)):
        yield from _arrays_among(_items(text, len(value)), value)


def _items(text: str, count: int) -> list[str]:
    """Source texts of the items of a tuple or list."""
    node = ast.parse(text, mode="eval").body
    if isinstance(node, (ast.Tuple, ast.List)) and not any(isinstance(each, ast.Starred) for each in node.elts):
        return list(map(ast.unparse, node.elts))
    return [f"{_primary(text)}[{number}]" for number in range(count)]


def _primary(text: str) -> str:
    """An expression as it stands before a dot or an index."""
    node = ast.parse(text, mode="eval").body
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List)) else f"({text})"


def one_queue(location: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    """The one queue of the arrays among `values`.

    Raises
    ------
    ExecutionPlacementError
        If they have several, or one is a NumPy array.
    """
    arrays = [(name, value) for name, value in zip(names, values, strict=True) if is_usm_array(value)]
    for name, value in zip(names, values, strict=True):
        if isinstance(value, np.ndarray) and arrays:
            raise mixed_error(location, arrays[0][0], name)
    try:
        return execution_queue(location.function, [(name, array_fields(value).owner) for name, value in arrays])
    except ExecutionPlacementError as error:
        raise placement_error(f"{error.message}\n  {location}: {location.text}", error.code) from None
