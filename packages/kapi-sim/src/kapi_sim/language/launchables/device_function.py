"""`@device_func`: functions that kernels call.  One decorator for every back end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.launchables.declared_signatures import is_signature, with_signatures
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
        The function as written; with signatures, a copy of it.
    """

    py_func: Callable[P, R]
    __name__: str

    def __init__(self, py_func: Callable[P, R], signatures: Any = None) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func if signatures is None else with_signatures(py_func, signatures)
        self._signatures = signatures
        remember_source(py_func)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the plain Python function."""
        return self.py_func(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, (self.py_func, self._signatures))

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"


@overload
def device_func(function: Callable[P, R], /) -> DeviceFunction[P, R]: ...
@overload
def device_func(
    signatures: str | tuple[Any, ...] | list[Any], /
) -> Callable[[Callable[P, R]], DeviceFunction[P, R]]: ...
def device_func(function: Any, /) -> Any:
    """Make `function` callable from kernels.  It may return a value and may contain barriers.

    Parameters
    ----------
    function : function, or signatures
        A plain Python function; or a signature, or a list of them, as in ``@device_func("float32(float32, int64)")``.
        Then what kernels give the function is converted to these types, and so is its result.

    Returns
    -------
    DeviceFunction
        With signatures, a decorator that makes one.

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
    if is_signature(function) and function:
        return functools.partial(_declared, function)
    if not hasattr(function, "__code__"):
        raise KernelCompilationError(
            f"a device function must be a plain Python function, got {_describe(function)}", code="device-function-form"
        )
    return DeviceFunction(function)


def _declared(signatures: Any, function: Callable[P, R]) -> DeviceFunction[P, R]:
    return DeviceFunction(device_func(function).py_func, signatures)


def _describe(value: Any) -> str:
    return f"{short_repr(value)} of type {type(value).__name__}"
