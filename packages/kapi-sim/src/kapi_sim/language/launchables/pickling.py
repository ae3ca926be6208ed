"""Kernels in other processes: a kernel is pickled as the function that it was made of, never as what it became.

A kernel of an importable module travels by its name, like a function.  One that was made elsewhere (in the program that
runs, in a notebook, inside of a function) travels with its bytecode and what that refers to; for a kernel's function
is not to be found under its name, where the kernel is.  Compiled modules, queues and devices never travel: the other
process may have another device, and finds its module in the disk cache.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["reduced"]


class _Travelling(threading.local):
    """The switch of a thread that pickles a launchable by value, and so what that calls."""

    by_value = False


_travelling = _Travelling()


def reduced(
    launchable: Any, arguments: tuple[Any, ...], dumps: Callable[[Any], bytes] | None = None
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what `__reduce__` of a kernel or device function returns.

    Parameters
    ----------
    launchable : Launchable or DeviceFunction
        With the function that it was made of as `py_func`.
    arguments : tuple
        Those that make an equal one of its class.
    dumps : function, optional
        What pickles them by value: cloudpickle's function if left out, where it is installed.

    Raises
    ------
    PicklingError
        If nothing pickles by value, and the name does not lead to the object.
    """
    if _travelling.by_value:
        return type(launchable), arguments
    module, name = launchable.py_func.__module__, launchable.py_func.__qualname__
    is_found = _found(sys.modules.get(module), name) is launchable
    if module != "__main__" and is_found:
        return _by_name, (module, name)
    try:  # kapi-sim does not need cloudpickle
        dumps = dumps or import_module("cloudpickle").dumps
    except ImportError:
        if is_found:  # in a program, which a spawned process has under the same name
            return _by_name, (module, name)
        raise pickle.PicklingError(
            f"{launchable!r} must be a global of its module to be pickled, unless cloudpickle is installed"
        ) from None
    _travelling.by_value = True
    try:
        return _by_value, (type(launchable), dumps(arguments))
    finally:
        _travelling.by_value = False


def _by_name(module: str, name: str) -> Any:
    return _found(import_module(module), name)


def _by_value(kind: Callable[..., Any], pickled: bytes) -> Any:
    return kind(*pickle.loads(pickled))


def _found(owner: Any, name: str) -> Any:
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner
