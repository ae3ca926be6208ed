"""Check of placement: the arrays of one expression are on one device, or an error with names and line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.libraries.arrays import is_device_array, library
from kapi_numba_offload.libraries.installed import default_library, library_named, library_of
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.errors import ExecutionPlacementError

__all__ = ["host_arrays_among", "mixed_error", "mixture_among", "not_on_device_error", "one_queue"]


def mixed_error(
    location: Any, usm: str, host: str, library: ArrayLibrary | None, *, is_stored: bool = False
) -> Exception:
    """The error for NumPy and device arrays in one expression: of placement, and a `TypeError` as libraries have.

    - `usm`, `host`: how the device array and the NumPy array are spelled there.
    - `library`: that of the device array, if it is known.
    - `is_stored`: whether the one is stored to the other.
    """
    library = library or default_library() or library_named("dpnp")
    remedy = (
        f"`{library.host_copy_call(_primary(usm))}` copies it to the host"
        if is_stored
        else f"`{library.copy_call(host)}` copies it to the default device"
    )
    return placement_error(
        f"arrays of one expression must be all device arrays or all NumPy arrays, got device array `{usm}` and NumPy "
        f"array `{host}`: {remedy}\n  {location}: {location.text}",
        "arrays-mixed",
        is_type_error=True,
    )


def not_on_device_error(location: Any, library: ArrayLibrary, name: str, host: str) -> Exception:
    """The error for a NumPy array that one of an array library's functions is given.

    - `host`: how the NumPy array is spelled there.
    """
    return placement_error(
        f"arrays that {library.name}.{name}() is given must be device arrays, got NumPy array `{host}`: "
        f"`{library.copy_call(host)}` copies it to the default device\n  {location}: {location.text}",
        "arrays-mixed",
        is_type_error=True,
    )


def mixture_among(location: Any, texts: Sequence[str], values: Sequence[Any]) -> Exception | None:
    """The error for the first NumPy and device arrays among values, those of tuples and lists too; None for none."""
    usm = [(text, each) for text, each in _arrays_among(texts, values) if is_device_array(each)]
    host = host_arrays_among(texts, values)
    if not (usm and host):
        return None
    ((text, array), *_) = usm
    return mixed_error(location, text, host[0], library(array))


def host_arrays_among(texts: Sequence[str], values: Sequence[Any]) -> list[str]:
    """Source texts of the NumPy arrays among values, those in tuples and lists included."""
    return [text for text, each in _arrays_among(texts, values) if not is_device_array(each)]


def _arrays_among(texts: Sequence[str], values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for text, value in zip(texts, values, strict=True):
        yield from _arrays_of(text, value)


def _arrays_of(text: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in a value, of a device and NumPy's: how each is spelled, and the array."""
    if is_device_array(value) or isinstance(value, np.ndarray):
        yield text, value
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
    """The one queue of the arrays among `values`; None without an array.

    Raises `ExecutionPlacementError` if they have several, or one is a NumPy array.
    """
    arrays, host, own = [], None, None
    for name, value in zip(names, values, strict=True):
        found = library_of(value)
        if found is not None:
            arrays.append((name, value))
            own = own or found
        elif host is None and isinstance(value, np.ndarray):
            host = name
    if own is None:
        return None
    if host is not None:
        raise mixed_error(location, arrays[0][0], host, own)
    try:
        return own.execution_queue(location.function, arrays)
    except ExecutionPlacementError as error:
        raise placement_error(f"{error.message}\n  {location}: {location.text}", error.code) from None
