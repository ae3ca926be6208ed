"""The names of Numba that programs for numba.cuda import, where Numba is not installed: its functions are Python's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from kapi_sim import numba_cuda
from kapi_sim.numba_cuda import types
from kapi_sim.numba_cuda.launches import vectorizers

__all__ = ["MODULES"]


class HostFunction:
    """A function by ``numba.njit``, which runs as Python on the host, and as a device function in kernels.

    - `py_func`: as written.
    """

    # By this name the dialect knows a function of Numba's.
    __module__ = "numba"

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self.py_func = py_func
        functools.update_wrapper(self, py_func)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function."""
        return self.py_func(*args, **named)


def _jit(*args: Any, **options: Any) -> Any:
    """Take the place of ``numba.jit`` and ``numba.njit``, with signatures and options or without."""
    is_bare = len(args) == 1 and callable(args[0]) and hasattr(args[0], "__code__")
    return HostFunction(args[0]) if is_bare else HostFunction


def _vectorize(*args: Any, target: str = "cpu", **options: Any) -> Any:
    if target == "cuda":
        return vectorizers.vectorize(*args, **options)
    is_bare = len(args) == 1 and hasattr(args[0], "__code__")
    return np.vectorize(args[0]) if is_bare else np.vectorize


def _guvectorize(*args: Any, target: str = "cpu", **options: Any) -> Any:
    if target != "cuda":
        raise NotImplementedError("numba.guvectorize must be given target='cuda' where Numba is not installed")
    return vectorizers.guvectorize(*args, **options)


def _module(name: str, **names: Any) -> ModuleType:
    made = ModuleType(name, "Stands in for a module of Numba, which is not installed.")
    made.__path__ = []
    vars(made).update(names)
    return made


_ERRORS = {
    name: type(name, (base,), {"__module__": "numba.core.errors"})
    for name, base in (
        ("NumbaError", Exception),
        ("NumbaWarning", Warning),
        ("NumbaPerformanceWarning", Warning),
        ("NumbaDeprecationWarning", Warning),
        ("NumbaPendingDeprecationWarning", Warning),
        ("TypingError", Exception),
        ("UnsupportedError", Exception),
    )
}
_NUMBERS: dict[str, Any] = {**types.TYPES, "void": types.void, "none": types.none}
_SUPPORT = _module("numba.np.numpy_support", from_dtype=lambda dtype: types.TYPES[np.dtype(dtype).name])
_CONFIG = SimpleNamespace(ENABLE_CUDASIM=False, CUDA_LOW_OCCUPANCY_WARNINGS=0, CUDA_WARN_ON_IMPLICIT_COPY=0)
_CORE_ERRORS = _module("numba.core.errors", **_ERRORS)
_CORE = _module("numba.core", errors=_CORE_ERRORS, types=types, config=_CONFIG)
_NP = _module("numba.np", numpy_support=_SUPPORT)

MODULES: dict[str, ModuleType] = {
    "numba": _module(
        "numba",
        cuda=numba_cuda,
        types=types,
        jit=_jit,
        njit=_jit,
        vectorize=_vectorize,
        guvectorize=_guvectorize,
        prange=range,
        from_dtype=_SUPPORT.from_dtype,
        config=_CONFIG,
        core=_CORE,
        errors=_CORE_ERRORS,
        np=_NP,
        __version__="0",
        **_NUMBERS,
    ),
    "numba.types": types,
    "numba.errors": _CORE_ERRORS,
    "numba.core": _CORE,
    "numba.core.types": types,
    "numba.core.errors": _CORE_ERRORS,
    "numba.np": _NP,
    "numba.np.numpy_support": _SUPPORT,
}
"""By name, what is imported in Numba's place."""
