"""Kernels in other processes: a kernel is pickled as the function that it was made of, never as native code.

A kernel of an importable module travels by its name, like a function.  One that was made elsewhere (in the program that
runs, in a notebook, inside of a function) travels with its bytecode and what that refers to; for a kernel's function
is not to be found under its name, where the kernel is.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["reduced"]


def reduced(kernel: Any, arguments: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what `__reduce__` of a kernel returns.

    Parameters
    ----------
    kernel : DeviceLaunchable
        The kernel, with the function that it was made of as `py_func`.
    arguments : tuple
        Those that make an equal kernel of its class.
    """
    module, name = kernel.py_func.__module__, kernel.py_func.__qualname__
    if module != "__main__" and _found(sys.modules.get(module), name) is kernel:
        return _by_name, (module, name)
    import cloudpickle  # only where a kernel travels by value

    return _by_value, (type(kernel), cloudpickle.dumps(arguments))


def _by_name(module: str, name: str) -> Any:
    return _found(import_module(module), name)


def _by_value(kind: Callable[..., Any], pickled: bytes) -> Any:

    return kind(*pickle.loads(pickled))


def _found(owner: Any, name: str) -> Any:
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner
