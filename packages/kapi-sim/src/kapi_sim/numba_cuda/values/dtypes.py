"""Types of elements, as programs name them: NumPy's, or Numba's where that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.numbers.arithmetic import saturated

__all__ = [
    "Narrow",
    "StaticType",
    "conversion_of",
    "dtype_of",
    "is_numba_type",
    "wrapped",
]

_SHORT = {"b1": "bool", "boolean": "bool", "intc": "int32", "uintc": "uint32", "double": "float64", "float": "float32"}
_WIDE = (np.uint64, np.ulonglong)


class Narrow(int):
    """An integer of 32 bits or fewer, for the functions that ask how many it has; what is computed with it has 64."""


class StaticType:
    """A stand-in for one of Numba's types: `kapi_sim.numba_cuda.static_types` has them."""

    __slots__ = ()


def is_numba_type(value: object) -> bool:
    """Return whether `value` is one of Numba's types, or of those that stand for them here."""
    return isinstance(value, StaticType) or any(
        base.__name__ == "Type" and base.__module__.partition(".")[0] in ("numba", "numba_cuda")
        for base in type(value).__mro__
    )


def dtype_of(given: Any, subject: str) -> np.dtype[Any]:
    """Return the NumPy dtype that `given` names.

    Raises
    ------
    DtypeError
        If it names none.
    """
    try:
        if is_numba_type(given):
            return _of_numba(given)
        made: np.dtype[Any] = np.dtype(_SHORT.get(given, given) if isinstance(given, str) else given)
        return made
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        raise DtypeError(
            f"dtype of {subject} must be a dtype of NumPy's or a type of Numba's, got {given!r}: write np.float32",
            code="array-dtype",
        ) from None


def _of_numba(given: Any) -> np.dtype[Any]:
    if isinstance(given, StaticType):
        known: np.dtype[Any] | None = given.dtype  # type: ignore[attr-defined]
        if known is None:
            raise TypeError(f"{given} has no dtype")
        return known
    name = str(given)
    try:
        return np.dtype(_SHORT.get(name, name))
    except (TypeError, ValueError):
        # Records and the like, which Numba itself translates.
        roots = (type(given).__module__.rpartition(".types")[0], "numba.cuda", "numba")
        for root in roots:
            support = sys.modules.get(f"{root}.np.numpy_support")
            if support is not None:
                made: np.dtype[Any] = np.dtype(support.as_dtype(given))
                return made
        fields = getattr(given, "fields", None)
        if fields is None:
            raise
        kinds = [_of_numba(field.type) for field in fields.values()]
        offsets = [field.offset for field in fields.values()]
        return np.dtype({"names": list(fields), "formats": kinds, "offsets": offsets, "itemsize": given.size})


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    """Return what an element of the integer `dtype` keeps of an integer: its low bits."""
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def conversion_of(kind: object) -> Callable[[Any], Any] | None:
    """Return what a kernel calls for an integer type, `None` if `kind` is none.

    Numba computes with integers of fewer than 64 bits in 64, so they are Python's here; only an unsigned integer
    of 64 bits is more.
    """
    if is_numba_type(kind):
        try:
            dtype = _of_numba(kind)
        except (TypeError, ValueError, AttributeError, NotImplementedError):
            return None
        if dtype.names is not None or dtype.kind not in "iufbc":
            return None
    elif isinstance(kind, type) and (kind is int or issubclass(kind, np.integer)):
        dtype = np.dtype(np.int64 if kind is int else kind)
    else:
        return None
    made = dtype.type
    if dtype.kind in "fbc":
        return made

    def convert(value: Any) -> Any:
        if isinstance(value, (np.datetime64, np.timedelta64)):
            value = value.view(np.int64)
        number = int(saturated(value, dtype))
        if made in _WIDE:
            return made(number & 0xFFFFFFFFFFFFFFFF)
        return wrapped(number, dtype) if dtype.itemsize > 4 else Narrow(wrapped(number, dtype))

    return convert
