"""Types of elements, as programs name them: NumPy's, or Numba's where that is installed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.numbers.arithmetic import saturated

__all__ = [
    "ArraySignature",
    "Narrow",
    "Signature",
    "Type",
    "conversion_of",
    "dtype_of",
    "is_numba_type",
    "scalar_types",
    "wrapped",
]

_SHORT = {"b1": "bool", "boolean": "bool", "intc": "int32", "uintc": "uint32", "double": "float64", "float": "float32"}
_WIDE = (np.uint64, np.ulonglong)


class Narrow(int):
    """An integer of 32 bits or fewer, for the functions that ask how many it has; what is computed with it has 64."""


class Type:
    """A type of numbers, as Numba's are written: called it converts, and subscripted it is an array's type.

    Parameters
    ----------
    dtype : dtype
        NumPy's.
    """

    __slots__ = ("dtype", "name")

    def __init__(self, dtype: Any) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.name = self.dtype.name

    def __call__(self, value: Any, *parameters: Any) -> Any:
        """Return a number as one of this type; of types, the signature that returns this one."""
        if parameters or is_numba_type(value):
            return Signature(self, (value, *parameters))
        convert = conversion_of(self)
        return self.dtype.type(value) if convert is None else convert(value)

    def __getitem__(self, axes: Any) -> ArraySignature:
        return ArraySignature(self, len(axes) if isinstance(axes, tuple) else 1)

    def __repr__(self) -> str:
        return str(self.name)


class ArraySignature(Type):
    """The type of an array.

    Parameters
    ----------
    element : Type
        Of its elements.
    ndim : int
        How many axes it has.
    """

    __slots__ = ("ndim",)

    def __init__(self, element: Type, ndim: int) -> None:
        super().__init__(element.dtype)
        self.ndim = ndim
        self.name = f"array({element.name}, {ndim}d)"


class Signature:
    """The types of a function.

    Parameters
    ----------
    return_type : Type or None
        What it returns.
    args : tuple of Type
        What it takes.
    """

    __slots__ = ("args", "return_type")

    def __init__(self, return_type: Any, args: tuple[Any, ...]) -> None:
        self.return_type = return_type
        self.args = args


def is_numba_type(value: object) -> bool:
    """Tell whether `value` is one of Numba's types, or of those that stand for them here."""
    return isinstance(value, Type) or any(
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


def scalar_types(signature: Any) -> list[Any] | None:
    """Return the dtypes of a signature's parameters, `None` for each that is no number; `None` without types."""
    if isinstance(signature, str):
        inside = signature.partition("(")[2].rpartition(")")[0] if "(" in signature else signature
        given: list[Any] = [part.strip() for part in _top_level(inside)] if inside.strip() else []
    elif isinstance(signature, tuple):
        given = list(signature)
    elif hasattr(signature, "args") and hasattr(signature, "return_type"):
        given = list(signature.args)
    else:
        return None
    return [_scalar(each) for each in given]


def _scalar(given: Any) -> np.dtype[Any] | None:
    name = str(given)
    if not re.fullmatch(r"\w+", name):
        return None
    try:
        dtype = np.dtype(_SHORT.get(name, name))
    except TypeError:
        return None
    return dtype if dtype.kind in "biufc" else None


def _top_level(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]
