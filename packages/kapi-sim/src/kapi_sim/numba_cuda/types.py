"""Types of numbers under Numba's names, for programs that import them from ``numba.cuda``: NumPy's do as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.numba_cuda.values.dtypes import Signature, Type

_NUMPY = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "uintp")
_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_NAMES = {name: name for name in (*_NUMPY, *_FLOATS)}
_NAMES |= {"boolean": "bool", "bool_": "bool", "b1": "bool", "byte": "uint8", "char": "int8", "uchar": "uint8"}
_NAMES |= {"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64"}
_NAMES |= {"u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64"}
_NAMES |= {"f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
_NAMES |= {"intc": "int32", "uintc": "uint32", "double": "float64"}

TYPES: dict[str, Type] = {name: Type(np.dtype(kind)) for name, kind in _NAMES.items()}
"""By name."""


class Void:
    """What a kernel returns: nothing."""

    __slots__ = ()

    def __call__(self, *parameters: Any) -> Signature:
        """Return the signature of a kernel with these parameters."""
        return Signature(None, parameters)

    def __repr__(self) -> str:
        return "void"


void = Void()

__all__ = ["TYPES", "Void", "void", *_NAMES]

globals().update(TYPES)
