"""Types of device arrays in functions that run on the host, from their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import kapi_types.device_arrays.boxing
import kapi_types.device_arrays.slicing  # noqa: F401  functions that get such a type are compiled with these
from kapi_types.arrays import array_of_numbers
from kapi_types.device_arrays.device_array import DeviceArrayType
from kapi_types.device_arrays.libraries import LibraryArrays, library_of_class

__all__ = ["quick_typeof", "typeof_library_array"]

quick_typeof: dict[type, Callable[[Any], DeviceArrayType | None]] = {}
"""By class of arrays, the function that the hook of dispatchers calls, for Numba's `typeof` costs more."""

_types: dict[Hashable, DeviceArrayType] = {}
"""By library, dtype, rank and layout; a type that is once given stays, as the hook of dispatchers needs."""


def typeof_library_array(value: Any) -> DeviceArrayType | None:
    """The type of a library's array in a device's memory; None for any other value.

    Raises `DtypeError` if a tensor is one that compiled code cannot read; `TypeError` if a kernel cannot hold its
    elements.
    """
    cls = type(value)
    if cls not in quick_typeof:
        library = library_of_class(cls)
        if library is None:
            return None
        quick_typeof[cls] = partial(_typeof, library) if library.key is None else _typeof_by_key(library, library.key)
    return quick_typeof[cls](value)


def _typeof_by_key(
    library: LibraryArrays, key_of: Callable[[Any], Hashable]
) -> Callable[[Any], DeviceArrayType | None]:
    """The function that gives the type of a library's array, and reads the fields of the first one of a key."""
    known: dict[Hashable, DeviceArrayType] = {}

    def typeof(value: Any) -> DeviceArrayType | None:
        key = key_of(value)
        found = known.get(key)
        if found is None:
            found = _typeof(library, value)
            if found is not None and key is not None:
                known[key] = found
        return found

    return typeof


def _typeof(library: LibraryArrays, value: Any) -> DeviceArrayType | None:
    fields = library.fields(value)
    if fields is None:
        return None
    key = library.name, fields.dtype, len(fields.shape), fields.layout
    try:
        return _types[key]
    except KeyError:
        kernel = array_of_numbers(fields)
        type_ = DeviceArrayType(library.name, kernel.dtype, kernel.ndim, kernel.layout, readonly=not kernel.mutable)
        _types[key] = type_
        return type_
