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
_types_by_key: dict[Hashable, DeviceArrayType] = {}


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
        quick_typeof[cls] = partial(_typeof if library.key is None else _typeof_by_key, library)
    return quick_typeof[cls](value)


def _typeof_by_key(library: LibraryArrays, value: Any) -> DeviceArrayType | None:
    assert library.key is not None
    key = library.key(value)
    found = _types_by_key.get((library.name, key))
    if found is None:
        found = _typeof(library, value)
        if found is not None and key is not None:
            _types_by_key[library.name, key] = found
    return found


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
