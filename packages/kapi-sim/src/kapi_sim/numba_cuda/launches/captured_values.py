"""Values that a kernel takes from outside: as they were at the first launch, as Numba compiles them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.host.device_arrays import as_host_array
from kapi_sim.numba_cuda.threads.captured_arrays import Captured

__all__ = ["frozen"]


def frozen(function: Callable[..., Any], twin: Callable[[Any], Any]) -> FunctionType:
    """Return `function` with the values that its globals and its closure have now.

    Parameters
    ----------
    function : function
        A kernel's, or a device function's.
    twin : callable
        Returns what stands for a value that is no array: of a device function, its own frozen one.
    """
    code, known = function.__code__, function.__globals__
    used = _names(code)

    def kept(name: str, value: Any) -> Any:
        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, type):
            return Captured(name, as_host_array(value), False)
        if isinstance(value, np.ndarray):
            return Captured(name, value, True)
        return _frozen_module(value, used, kept) if isinstance(value, ModuleType) else twin(value)

    names = {**known, **{name: kept(name, known[name]) for name in used if name in known}}
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


def _frozen_module(module: ModuleType, used: set[str], kept: Callable[[str, Any], Any]) -> ModuleType:
    """Return a module with what a kernel uses of it as it is now; itself, if there is nothing to keep."""
    if module.__name__.partition(".")[0] in _NOT_PROGRAMS:
        return module
    inside = {name: value for name, value in vars(module).items() if name in used and not isinstance(value, ModuleType)}
    changed = {name: made for name, value in inside.items() if (made := kept(name, value)) is not value}
    if not changed:
        return module
    made = ModuleType(module.__name__, module.__doc__)
    vars(made).update({**vars(module), **changed})
    return made


_NOT_PROGRAMS = sys.stdlib_module_names | {"numpy", "numba", "numba_cuda", "kapi_sim"}
"""Packages of modules that hold no kernels of a program's."""


def _names(code: CodeType) -> set[str]:
    own = set(code.co_names)
    return own.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))
