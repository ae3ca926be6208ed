"""Allocation by the host: device arrays, pinned, mapped and managed arrays, and hints for arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, Hint, as_host_array, empty_memory, poisoned
from kapi_sim.numba_cuda.host.uninitialized import Fresh
from kapi_sim.numba_cuda.host.watched_arrays import MappedArray, PinnedArray

__all__ = [
    "In",
    "InOut",
    "MappedArray",
    "Out",
    "device_array",
    "device_array_like",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "to_device",
]


class In(Hint):
    """A host array that a kernel only reads: what it writes to it is lost."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__(value if isinstance(value, DeviceArray) else np.array(value))


class Out(Hint):
    """A host array that a kernel only writes."""

    __slots__ = ()


class InOut(Hint):
    """A host array that a kernel reads and writes."""

    __slots__ = ()


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:
    """Return a device array that holds nothing yet: a kernel that reads of it what nothing has written is an error.

    Parameters
    ----------
    shape : int or tuple of int
        Extents.
    dtype : dtype
        Type of the elements.
    strides : tuple of int, optional
        Bytes from one element to the next, by axis.
    order : str
        ``"C"`` or ``"F"``.
    stream : Stream or 0
        The stream of copies of the array that are given none.
    """
    array = empty_memory(shape, dtype, strides, order)
    return DeviceArray.of(array, Fresh(array), stream)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """Return a device array of the shape, type and order of `ary`, which holds nothing yet."""
    host = as_host_array(ary) if hasattr(ary, "__cuda_array_interface__") else np.asarray(ary)
    array = np.empty_like(host, subok=False)
    if array.dtype.names is None:
        array[...] = poisoned(array.dtype)
    return DeviceArray.of(array, Fresh(array), stream)


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """Return a device array with a copy of `obj`.

    Parameters
    ----------
    obj : array_like
        On the host or on the device.
    stream : Stream or 0
        Does the copy, and further ones that are given no stream.
    copy : bool
        Whether the contents are copied; else it holds nothing yet.
    to : DeviceArray, optional
        Where they are copied to.
    """
    host = as_host_array(obj) if hasattr(obj, "__cuda_array_interface__") else np.asarray(obj)
    if to is not None:
        to.copy_to_device(obj, stream)
        return to
    if not copy:
        return device_array_like(host, stream)
    made = DeviceArray.of(np.array(host, copy=True, order="K", subok=False), stream=stream)
    made.put_copy_from(obj, stream)
    return made


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> Any:
    """Return a host array in memory that is never paged out."""
    return empty_memory(shape, dtype, strides, order).view(PinnedArray)


def pinned_array_like(ary: Any) -> Any:
    """Return a pinned array of the shape, type and order of `ary`."""
    return np.empty_like(as_host_array(ary), subok=False).view(PinnedArray)


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> Any:
    """Return an array that the host and the device both reach."""
    return empty_memory(shape, dtype, strides, order).view(MappedArray)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """Return a mapped array of the shape, type and order of `ary`."""
    return np.empty_like(as_host_array(ary), subok=False).view(MappedArray)


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> Any:
    """Return an array that moves between the host and the device as it is used."""
    return empty_memory(shape, dtype, strides, order).view(MappedArray)


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Do nothing for the ``with`` block: the simulator's host memory needs no pinning."""
    yield


@contextmanager
def mapped(*arylist: Any, **options: Any) -> Iterator[Any]:
    """Give the ``with`` block device arrays of the memory of these host arrays."""
    made = [DeviceArray.of(array) for array in arylist]
    yield made[0] if len(made) == 1 else made
