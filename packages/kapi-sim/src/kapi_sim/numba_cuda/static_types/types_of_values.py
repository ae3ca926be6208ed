"""The types of values, as numba.cuda finds them when a kernel is launched, or for what a kernel takes from outside."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.static_types.kinds import NOTHING, Array, Kind, Number, Other, Record, Text, Tuple

__all__ = ["array_kind", "kind_of_value"]

_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)


def kind_of_value(value: Any) -> Kind | None:
    """Return the type of a number, an array, a tuple, text or None; `None` if numba.cuda has no type for it."""
    if value is None:
        return NOTHING
    if isinstance(value, Enum):
        return Other(f"member of {type(value).__name__}")
    if isinstance(value, (bool, np.bool_)):
        return Number(np.dtype(bool))
    if isinstance(value, np.void) and value.dtype.names is not None:
        return Record(value.dtype)
    if isinstance(value, np.generic):
        dtype = value.dtype
        return Number(dtype) if dtype.kind in "iufc" else Text() if dtype.kind in "US" else Other(str(dtype))
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            return None
        return Number(_INT64 if value < 2**63 else _UINT64)
    if isinstance(value, float):
        return Number(np.dtype(np.float64))
    if isinstance(value, complex):
        return Number(np.dtype(np.complex128))
    if isinstance(value, (str, bytes)):
        return Text()
    if isinstance(value, tuple):
        members = tuple(map(kind_of_value, value))
        made_by = type(value) if hasattr(value, "_fields") else None
        return None if None in members else Tuple(tuple(each for each in members if each is not None), made_by)
    if isinstance(value, np.ndarray):
        return None if value.dtype.hasobject else array_kind(value)
    return None


def array_kind(array: np.ndarray[Any, Any]) -> Array:
    """Return the type of an array: one that is contiguous in both orders is C-contiguous."""
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return Array(array.dtype, array.ndim, layout, not flags.writeable)
