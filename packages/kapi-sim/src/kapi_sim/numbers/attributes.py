"""Attributes of numbers, tuples and ranges in a kernel: those of the kernel language, and not all of Python's."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.items.misused_intrinsics import kind_of_number
from kapi_sim.numbers.arithmetic import conversion
from kapi_sim.numbers.builtin_functions import shared_type
from kapi_sim.short_repr import short_repr

__all__ = [
    "check_unpackable",
    "attribute",
    "called",
    "unpack_each",
    "is_guarded",
    "sliced",
    "reject_tuple_product",
    "index_0d",
    "contains",
]

_PYTHON_TYPES = (int, float, complex, tuple, range, slice, np.generic, np.dtype, enum.IntEnum, enum.IntFlag)
_OF_ARRAYS = frozenset("T itemsize nbytes ndim shape size strides".split())
_OF_KERNELS = frozenset("bit_count bit_length conjugate dtype imag item real type".split())
_OF_NAMED_TUPLES = frozenset("_asdict _field_defaults _fields _make _replace".split())
_OF_PYTHON = frozenset(name for each in _PYTHON_TYPES for name in dir(each)) | _OF_NAMED_TUPLES | {"name", "value"}


def is_guarded(name: str, is_of_parameter: bool) -> bool:
    """Whether ``value.name`` is looked at: values of Python's or NumPy's have it, and not in kernels.

    A parameter's shape and size are not: it is an array nearly always.
    """
    return name in _OF_PYTHON and name not in _OF_KERNELS and not (is_of_parameter and name in _OF_ARRAYS)


def attribute(value: Any, name: str) -> Any:
    """Return ``value.name`` where `is_guarded` is true of the name.

    - `value`: what has the attribute: a number, a tuple, or what else is in a kernel.

    Raises `KernelCompilationError` if kernels have no such attribute of a value of this kind.
    """
    if isinstance(value, np.generic) and name == "astype":
        return _AstypeMethod(value)
    if isinstance(value, tuple) and name == "astype" and hasattr(value, name):
        return value.astype  # type: ignore[attr-defined]  # of a vector
    if isinstance(value, np.dtype) and name == "itemsize":
        return value.itemsize
    if name == "value" and isinstance(value, enum.Enum) and not isinstance(value, int):
        return _value_of(value)
    if isinstance(value, (range, slice)) and name in ("start", "stop", "step"):
        return _end(value, name)
    if isinstance(value, _PYTHON_TYPES) and name not in getattr(value, "_fields", ()):
        said = f"dtype {value}" if isinstance(value, np.dtype) else kind_of_number(value)
        raise KernelCompilationError(f"{said} has no {name!r} in a kernel", code="attribute-unknown")
    return getattr(value, name)


def _end(value: range | slice, name: str) -> Any:
    """Return an end of a range, or its step, which has 64 bits with a sign."""
    end = getattr(value, name)
    if isinstance(value, range) and not -(2**63) <= end < 2**63:
        raise DtypeError(f"{name} of range() must fit int64, got {short_repr(end)}", code="integer-too-wide")
    return end


def _value_of(member: enum.Enum) -> Any:
    """Return the value of a member that only a run knows: of the one type that holds those of all members."""
    kinds = tuple(type(each.value) for each in type(member))
    are_real = all(issubclass(kind, (int, float, np.generic)) for kind in kinds)
    return shared_type(kinds)(member.value) if are_real else member.value


class _AstypeMethod:
    """The method `astype` of a number: a conversion as by the type's own name."""

    __slots__ = ("_value",)

    def __init__(self, value: np.generic) -> None:
        self._value = value

    def __call__(self, dtype: Any, /) -> Any:
        kind = dtype.type if isinstance(dtype, np.dtype) else dtype
        if not (isinstance(kind, type) and issubclass(kind, np.generic)):
            raise KernelCompilationError(
                f"astype() must be given a NumPy type in a kernel, got {short_repr(dtype)}", code="call-arguments"
            )
        return called(kind)(self._value)


def check_unpackable(value: Any, members: tuple[Any, ...]) -> Any:
    """Return what several names are assigned, which is a tuple.

    - `value`: what is taken apart.
    - `members`: a tuple for each member that is taken apart itself, None for the others.

    Raises `KernelCompilationError` if it is an array, a number or a range, or one of the members to be taken apart is.
    """
    if isinstance(value, (range, np.generic, int, float, complex)) or hasattr(value, "dtype"):
        said = f"{value.dtype} array of rank {value.ndim}" if hasattr(value, "ndim") else kind_of_number(value)
        raise KernelCompilationError(f"a kernel can unpack tuples only, got a {said}", code="unpacking")
    if any(members):
        for part, inner in zip(value, members, strict=False):
            if inner:
                check_unpackable(part, inner)
    return value


def unpack_each(values: Iterable[Any], members: tuple[Any, ...]) -> Iterator[Any]:
    """Return the values of a loop with several variables, each as `check_unpackable` returns it."""
    # A generator's frame would stand between an access and the kernel's line.
    return map(functools.partial(check_unpackable, members=members), values)


def called(function: Any) -> Any:
    """Return what is called with one argument under a name that only a run knows: of a real type, its conversion."""
    is_real = isinstance(function, type) and issubclass(function, (int, float, np.integer, np.floating))
    return conversion(function) if is_real and function is not bool else function


def sliced(value: Any) -> Any:
    """Return what is sliced, which is no range.

    Raises `KernelCompilationError` if it is one.
    """
    if isinstance(value, range):
        raise KernelCompilationError(
            "a range cannot be sliced in a kernel: write range() with the other ends", code="indexed-value"
        )
    return value


def reject_tuple_product(value: Any) -> Any:
    """Return the result of a multiplication, which is no tuple but a vector.

    Raises `KernelCompilationError` if it is one.
    """
    if value.__class__ is tuple:
        raise KernelCompilationError(
            "operator * does not take a tuple in a kernel: write its members out", code="operator-operands"
        )
    return value


def index_0d(value: Any) -> Any:
    """Return ``value[()]``, of an array.

    Raises `KernelCompilationError` if it is a number, as each element is.
    """
    if isinstance(value, np.generic):
        raise KernelCompilationError(f"{value.dtype} cannot be indexed, got an index of ()", code="indexed-value")
    return value[()]


def contains(value: Any, container: Any) -> bool:
    """Return ``value in container``; of a range by what it counts, since Python looks through it for NumPy's numbers.

    Raises `KernelCompilationError` if a number that is no integer is looked for in a range.
    """
    if container.__class__ is not range:
        return value in container
    if not isinstance(value, (int, np.integer, np.bool_)):
        raise KernelCompilationError(
            f"operator in must have a tuple on its right, got {kind_of_number(value)} in range", code="in-array"
        )
    return int(value) in container
