"""Attributes of numbers, tuples and ranges in a kernel: those of the kernel language, and not all of Python's."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.items.misuse import kind_of_number
from kapi_sim.numbers.arithmetic import conversion
from kapi_sim.shown import shown

__all__ = ["ATTRIBUTE", "CALLED", "WHOLE", "attribute", "called", "is_guarded", "whole"]

ATTRIBUTE = "_kapi_attribute"
"""The name of `attribute` in a rewritten kernel."""
CALLED = "_kapi_called"
"""The name of `called` in a rewritten kernel."""
WHOLE = "_kapi_whole"
"""The name of `whole` in a rewritten kernel."""

_PYTHONS = (int, float, complex, tuple, range, slice, np.generic, np.dtype, enum.IntEnum, enum.IntFlag)
_OF_ARRAYS = frozenset("T itemsize nbytes ndim shape size strides".split())
_OF_KERNELS = frozenset("bit_count bit_length conjugate dtype imag item real start step stop type".split())
_OF_NAMED_TUPLES = frozenset("_asdict _field_defaults _fields _make _replace".split())
_OF_PYTHON = frozenset(name for each in _PYTHONS for name in dir(each)) | _OF_NAMED_TUPLES | {"name", "value"}


def is_guarded(name: str, is_of_variable: bool) -> bool:
    """Whether ``value.name`` is looked at: values of Python's or NumPy's have it, and not in kernels.

    A variable's shape and size are not: it is an array nearly always.
    """
    return name in _OF_PYTHON and name not in _OF_KERNELS and not (is_of_variable and name in _OF_ARRAYS)


def attribute(value: Any, name: str) -> Any:
    """Return ``value.name`` where `is_guarded` is true of the name.

    Parameters
    ----------
    value : object
        What has the attribute: a number, a tuple, or what else is in a kernel.
    name : str
        The attribute.

    Raises
    ------
    KernelCompilationError
        If kernels have no such attribute of a value of this kind.
    """
    if isinstance(value, np.generic) and name == "astype":
        return _AstypeMethod(value)
    if isinstance(value, np.dtype) and name == "itemsize":
        return value.itemsize
    if isinstance(value, _PYTHONS) and name not in getattr(value, "_fields", ()):
        said = f"dtype {value}" if isinstance(value, np.dtype) else kind_of_number(value)
        raise KernelCompilationError(f"{said} has no {name!r} in a kernel", code="attribute-unknown")
    return getattr(value, name)


class _AstypeMethod:
    """The method `astype` of a number: a conversion as by the type's own name."""

    __slots__ = ("_value",)

    def __init__(self, value: np.generic) -> None:
        self._value = value

    def __call__(self, dtype: Any, /) -> Any:
        kind = dtype.type if isinstance(dtype, np.dtype) else dtype
        if not (isinstance(kind, type) and issubclass(kind, np.generic)):
            raise KernelCompilationError(
                f"astype() must be given a NumPy type in a kernel, got {shown(dtype)}", code="call-arguments"
            )
        return called(kind)(self._value)


def called(function: Any) -> Any:
    """Return what is called with one argument under a name that only a run knows: of a real type, its conversion."""
    is_real = isinstance(function, type) and issubclass(function, (int, float, np.integer, np.floating))
    return conversion(function) if is_real and function is not bool else function


def whole(value: Any) -> Any:
    """Return ``value[()]``, of an array.

    Raises
    ------
    KernelCompilationError
        If it is a number, as each element is.
    """
    if isinstance(value, np.generic):
        raise KernelCompilationError(f"{value.dtype} cannot be indexed, got an index of ()", code="indexed-value")
    return value[()]
