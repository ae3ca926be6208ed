"""`@device_func`: functions that kernels call.  One decorator for every back end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.launchables.pickling import reduced
from kapi_sim.language.source import remember_source
from kapi_sim.short_repr import short_repr

__all__ = ["DeviceFunction", "device_func"]

P = ParamSpec("P")
R = TypeVar("R")


class DeviceFunction(Generic[P, R]):
    """A function that kernels and other device functions may call.

    Called on the host it is the plain Python function, which helps to test it.

    Attributes
    ----------
    py_func : function
        The function as written.
    """

    py_func: Callable[P, R]
    __name__: str

    def __init__(self, py_func: Callable[P, R]) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        remember_source(py_func)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the plain Python function."""
        return self.py_func(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, (self.py_func,))

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"


def device_func(function: Callable[P, R]) -> DeviceFunction[P, R]:
    """Make `function` callable from kernels.  It may return a value and may contain barriers.

    Parameters
    ----------
    function : function
        A plain Python function.

    Returns
    -------
    DeviceFunction

    Raises
    ------
    KernelCompilationError
        If `function` is not a plain Python function.

    Examples
    --------
    >>> @device_func
    ... def square(x: float) -> float:
    ...     return x * x
    >>> square(3)
    9
    """
    if not hasattr(function, "__code__"):
        raise KernelCompilationError(
            f"a device function must be a plain Python function, got {_describe(function)}", code="device-function-form"
        )
    return DeviceFunction(function)


def _describe(value: Any) -> str:
    return f"{short_repr(value)} of type {type(value).__name__}"
