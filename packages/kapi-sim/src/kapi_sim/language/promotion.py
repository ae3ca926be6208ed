"""Number rules of kernels: the type of an operation on NumPy's and Python's numbers, the same in both worlds.

An operand is *strong*, a `numpy.dtype`, or *weak*, one of the markers `bool`, `int`, `float` and `complex` for
Python's own numbers. NumPy is asked what it promotes strong operands to, so its tables stand nowhere else. The
simulator applies these rules to values, `kapi_types` to Numba's types.

References
----------
NEP 50, "Promotion rules for Python scalars".
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any

import numpy as np

__all__ = [
    "Operand",
    "common_float",
    "complex_operand",
    "operand_of_class",
    "real_dtype",
    "scalar_class",
    "unify",
]

Operand = np.dtype[Any] | type

_WEAK = (bool, int, float, complex)
"""Weak markers; of two, the later one holds both."""


@lru_cache(maxsize=1024)
def operand_of_class(kind: type) -> Operand:
    """Return the operand that numbers of a class are.

    Parameters
    ----------
    kind : type
        A class of NumPy's scalars, or `bool`, `int`, `float`, `complex` or a subclass of one.

    Raises
    ------
    TypeError
        If it is a class of anything else.
    """
    if issubclass(kind, np.generic):
        return np.dtype(kind)
    for marker in _WEAK:
        if issubclass(kind, marker):
            return marker
    raise TypeError(f"kind must be a class of numbers, got {kind!r}")


def scalar_class(operand: Operand) -> type:
    """Return the class of numbers of an operand."""
    return operand.type if isinstance(operand, np.dtype) else operand


@lru_cache(maxsize=4096)
def unify(*operands: Operand) -> Operand:
    """Return the type that holds numbers of all these types: a weak one takes the type of a strong one.

    Examples
    --------
    >>> unify(np.dtype(np.float32), int), unify(np.dtype(np.int32), float), unify(int, bool)
    (dtype('float32'), dtype('float64'), <class 'int'>)
    """
    return reduce(_unify, operands)


def _unify(first: Operand, second: Operand) -> Operand:
    if isinstance(first, np.dtype) or isinstance(second, np.dtype):
        # Of a Python number NumPy reads the class, never the value.
        return np.result_type(*(each if isinstance(each, np.dtype) else each(1) for each in (first, second)))
    return max(first, second, key=_WEAK.index)


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the float type in which functions compute on numbers of a type: of integers float64."""
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


@lru_cache(maxsize=1024)
def common_float(*operands: Operand) -> Operand:
    """Return the float type of a function's operands: weak if all of them are, else that of the strong ones.

    Examples
    --------
    >>> common_float(np.dtype(np.float32), float), common_float(np.dtype(np.int8), int), common_float(int, float)
    (dtype('float32'), dtype('float64'), <class 'float'>)
    """
    strong = [real_dtype(each) for each in operands if isinstance(each, np.dtype)]
    return np.result_type(*strong) if strong else float


def complex_operand(real: Operand) -> Operand:
    """Return the complex type whose parts are of a float type; float16, which has none, gives complex64."""
    if not isinstance(real, np.dtype):
        return complex
    return np.dtype(np.complex128 if real == np.float64 else np.complex64)
