"""Arrays that a kernel takes from outside."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.threads.kernel_arrays import captured_view

__all__ = ["Captured", "as_view"]

_getframe = sys._getframe


class Captured:
    """An array among a kernel's globals: a constant copy of a host array, or the memory of a device array itself.

    Parameters
    ----------
    name : str
        The global's.
    array : numpy.ndarray
        What it holds.
    is_constant : bool
        Whether it is a copy that nobody writes to.
    """

    __slots__ = ("_array", "_is_constant", "_name")

    def __init__(self, name: str, array: np.ndarray[Any, Any], is_constant: bool) -> None:
        self._name = name
        self._is_constant = is_constant
        self._array = array.copy() if is_constant else array
        if is_constant:
            self._array.flags.writeable = False

    def view_of_launch(self) -> Any:
        """Return the array as the launch that runs sees it."""
        return captured_view(self, self._name, self._array, self._is_constant)

    @property
    def is_constant(self) -> bool:
        """Whether it is a copy that nobody writes to."""
        return self._is_constant

    @property
    def constant(self) -> np.ndarray[Any, Any]:
        """The contents, for the host."""
        array: np.ndarray[Any, Any] = self._array
        return array

    def __getitem__(self, index: Any) -> Any:
        return self.view_of_launch().take_out(index, _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.view_of_launch().put_in(index, value, _getframe(1))

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.view_of_launch())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self._array, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.view_of_launch(), name)


def as_view(value: Any) -> Any:
    """Return the array of the launch that runs, for one that a kernel takes from outside; other values as they are."""
    return value.view_of_launch() if isinstance(value, Captured) else value
