"""Libraries of device arrays that have no USM protocol: how their arrays are read, viewed, and copied to the host.

A library is known by the names of its class, so that none is imported here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.language.array_memory import ArrayFields

__all__ = ["LIBRARIES", "LibraryArrays", "library_of_class", "library_named"]


@dataclass(frozen=True, slots=True)
class LibraryArrays:
    """The arrays of one library.

    Attributes
    ----------
    name : str
        The name of its module, which `DeviceArrayType.library` is.
    module, class_name : str
        Of the class of its arrays.
    host_copy : str
        The call that copies an array to the host, for messages, with a place for the array's name.
    is_on_device : callable
        Whether an array is in a device's memory; others are not this package's.
    key : callable
        What decides an array's type, read as fast as it can be.
    fields : callable
        Reads an array's `ArrayFields`.
    view : callable
        Makes an array of the owner's memory: of the owner, the address, the shape, the strides in elements, the dtype.
    """

    name: str
    module: str
    class_name: str
    host_copy: str
    is_on_device: Callable[[Any], bool]
    key: Callable[[Any], Hashable]
    fields: Callable[[Any], ArrayFields]
    view: Callable[[Any, int, tuple[int, ...], tuple[int, ...], np.dtype[Any]], Any]


def library_of_class(cls: type) -> LibraryArrays | None:
    """The library that a class of arrays is of; None for all others, and for classes that derive from it."""
    found = LIBRARIES.get(cls.__name__)
    return found if found is not None and cls.__module__ == found.module else None


def library_named(name: str) -> LibraryArrays | None:
    """The library of a name; None for "usm"."""
    return next((each for each in LIBRARIES.values() if each.name == name), None)


def _cupy_fields(value: Any) -> ArrayFields:
    dtype, size = value.dtype, value.itemsize
    return ArrayFields(
        pointer=value.data.ptr,
        shape=value.shape,
        strides=tuple(stride // size for stride in value.strides),
        dtype=dtype,
        readonly=False,
        owner=value.data.device_id,
    )


def _cupy_view(owner: Any, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    cupy = importlib.import_module("cupy")
    start = cupy.cuda.MemoryPointer(owner.data.mem, address - owner.data.mem.ptr)
    return cupy.ndarray(shape, dtype, start, tuple(stride * dtype.itemsize for stride in strides))


def _cupy_key(value: Any) -> Hashable:
    flags = value.flags
    return "cupy", value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous


LIBRARIES = {
    "ndarray": LibraryArrays(
        "cupy", "cupy", "ndarray", "cupy.asnumpy({})", lambda _: True, _cupy_key, _cupy_fields, _cupy_view
    ),
}
"""By the names of their classes."""
