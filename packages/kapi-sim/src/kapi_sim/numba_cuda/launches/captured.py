"""What a kernel takes from outside: as it was at the first launch, as Numba compiles it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.host.device_arrays import DeviceArray
from kapi_sim.numba_cuda.threads.memory import captured_view

__all__ = ["Captured", "frozen"]

_getframe = sys._getframe


class Captured:
    """An array among a kernel's globals: a constant copy of a host array, or a device array itself.

    Parameters
    ----------
    name : str
        The global's.
    array : numpy.ndarray or DeviceArray
        What it holds.
    """

    __slots__ = ("_array", "_is_constant", "_name")

    def __init__(self, name: str, array: Any) -> None:
        self._name = name
        self._is_constant = not isinstance(array, DeviceArray)
        self._array = array.host if isinstance(array, DeviceArray) else array.copy()
        if self._is_constant:
            self._array.flags.writeable = False

    def _view(self) -> Any:
        return captured_view(self, self._name, self._array, self._is_constant)

    @property
    def constant(self) -> np.ndarray[Any, Any]:
        """The contents, for the host."""
        array: np.ndarray[Any, Any] = self._array
        return array

    def __getitem__(self, index: Any) -> Any:
        return self._view().take_out(index, _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._view().put_in(index, value, _getframe(1))

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._view())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self._array, dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view(), name)


def frozen(function: Callable[..., Any], twin: Callable[[Any], Any]) -> FunctionType:
    """Return `function` with the values that its globals and its closure have now.

    Parameters
    ----------
    function : function
        A kernel's, or a device function's.
    twin : callable
        Returns what stands for a value that is no array: of a device function, its own frozen one.
    """

    def kept(name: str, value: Any) -> Any:
        return Captured(name, value) if isinstance(value, (np.ndarray, DeviceArray)) else twin(value)

    code, known = function.__code__, function.__globals__
    names = {**known, **{name: kept(name, known[name]) for name in _names(code) if name in known}}
    cells = []
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells.append(CellType(kept(name, cell.cell_contents)))
        except ValueError:  # a variable that is not set
            cells.append(cell)
    made = FunctionType(code, names, function.__name__, function.__defaults__, tuple(cells))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made


def _names(code: CodeType) -> set[str]:
    own = set(code.co_names)
    return own.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))
