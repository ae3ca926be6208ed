"""Memory at an address as NumPy sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.language.array_memory import ArrayFields

__all__ = ["as_numpy", "bytes_at", "each_once", "host_view_at"]


class _ArrayInterface:
    """Elements at an address as NumPy sees memory, with what keeps them."""

    def __init__(
        self, owner: Any, low: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, readonly: bool = False
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (low, readonly),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "version": 3,
        }


def bytes_at(owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
    """The memory from one address to another as a NumPy array of bytes, which keeps `owner`."""
    return np.asarray(_ArrayInterface(owner, low, (high - low,), (1,), np.dtype(np.uint8)))


def each_once(values: np.ndarray[Any, Any]) -> tuple[slice, ...]:
    """The indices by which each element of an array is met once, also one that has several indices."""
    return tuple(slice(None) if stride else slice(1) for stride in values.strides)


def as_numpy(owner: Any, fields: ArrayFields) -> np.ndarray[Any, Any]:
    """The NumPy array over the memory of a device array that the host reaches."""
    return host_view_at(owner, fields.pointer, fields, is_writeable=True)


def host_view_at(owner: Any, address: int, like: ArrayFields, *, is_writeable: bool) -> np.ndarray[Any, Any]:
    """The NumPy array at an address of `owner`'s memory that lies there as a device array lies in its own."""
    steps = tuple(stride * like.dtype.itemsize for stride in like.strides)
    return np.asarray(_ArrayInterface(owner, address, like.shape, steps, like.dtype, not is_writeable))
