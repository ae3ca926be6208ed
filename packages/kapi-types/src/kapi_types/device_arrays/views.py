"""Return of arrays from compiled code to Python: the object for memory of an array that was passed in."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.language.array_memory import ArrayFields
from kapi_types.device_arrays.libraries import library_fields, library_of_class

__all__ = ["elements_of", "host_fields", "host_numbers", "is_all_of", "view_of"]


def host_fields(array: Any, rank: int) -> tuple[int, ...]:
    """The fields of a library's array that compiled code reads; see `host_numbers`."""
    fields = library_fields(array)
    if fields is None:
        raise ValueError("array must be in memory of a device, got one on the host; it was changed during the call")
    return host_numbers(fields, rank)


def host_numbers(fields: ArrayFields, rank: int) -> tuple[int, ...]:
    """The numbers that compiled code reads of an array.

    Returns address of element (0, ..., 0), lengths of all axes, strides of all axes in bytes. Raises `ValueError` if
    the array has not the rank that its type had.
    """
    if len(fields.shape) != rank:
        raise ValueError(f"array must have rank {rank}, got {len(fields.shape)}; it was changed during the call")
    return fields.pointer, *fields.shape, *(stride * fields.dtype.itemsize for stride in fields.strides)


def view_of(owner: Any, dtype: np.dtype[Any], address: int, *steps: int) -> Any:
    """The array of `owner`'s memory that begins at `address`: `owner` itself if it is the same.

    - `owner`: an array of one of `LIBRARIES`, which makes the view.
    - `dtype`: type of one element.
    - `address`: where element (0, ..., 0) is.
    - `*steps`: lengths of all axes, then the strides of all axes in bytes.

    Raises `TypeError` if there is no owner, the strides are no multiple of the elements' size, or the library has no
    such views.
    """
    shape, strides = elements_of(owner, dtype, steps)
    library = library_of_class(type(owner))
    fields = None if library is None else library.fields(owner)
    if library is None or (fields and is_all_of(fields, dtype, address, shape, strides)):
        return owner
    return library.view(owner, dtype, address, shape, strides)


def is_all_of(
    fields: ArrayFields, dtype: np.dtype[Any], address: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> bool:
    """Whether an array is the same as another one of its memory."""
    return (fields.pointer, fields.shape, fields.strides, fields.dtype) == (address, shape, strides, dtype)


def elements_of(owner: Any, dtype: np.dtype[Any], steps: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape, and strides in elements, of an array of `owner`'s memory; see `view_of`."""
    if owner is None:
        raise TypeError("array must be memory of an array that was passed in, got one that compiled code made")
    rank = len(steps) // 2
    shape, byte_strides = steps[:rank], steps[rank:]
    if any(stride % dtype.itemsize for stride in byte_strides):
        raise TypeError(f"strides must be multiples of {dtype.itemsize} bytes, got {byte_strides}; return a copy")
    return shape, tuple(stride // dtype.itemsize for stride in byte_strides)
