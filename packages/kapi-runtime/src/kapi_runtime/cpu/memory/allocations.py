"""Memory for kernels, and copies of bytes."""

from __future__ import annotations

import ctypes

import numpy as np

from kapi_sim.errors import UsmAllocationError

__all__ = ["CpuMemory", "copy_bytes", "new_ndarray"]

_ALIGNMENT = 64


def new_ndarray(
    shape: tuple[int, ...], dtype: np.dtype[np.generic]
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Return a new array of NumPy's, whose elements are what happens to be there.

    Raises `UsmAllocationError` if there is not so much memory.
    """
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise UsmAllocationError(
            f"an array of shape {shape} of {dtype} must fit in the host's memory, got: {error}",
            code="device-memory-short",
        ) from error


class CpuMemory:
    """A piece of the host's memory.

    - `nbytes`: its size; at least one byte is had.
    - `zeroed`: whether all bytes are 0 at first.
    """

    __slots__ = ("_bytes", "pointer")

    def __init__(self, nbytes: int, zeroed: bool = False) -> None:
        self._bytes = new_ndarray((max(1, nbytes) + _ALIGNMENT,), np.dtype(np.uint8))
        if zeroed:
            self._bytes[...] = 0
        self.pointer = -(-self._bytes.ctypes.data // _ALIGNMENT) * _ALIGNMENT

    def read(self, nbytes: int) -> bytes:
        """Return its first bytes."""
        return ctypes.string_at(self.pointer, nbytes)


def copy_bytes(target: int, source: int, nbytes: int) -> None:
    """Copy between two addresses."""
    if nbytes:
        ctypes.memmove(target, source, nbytes)
