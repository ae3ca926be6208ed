"""Equality of two writes by the bytes that they leave: it makes a race of writes benign."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

__all__ = ["StoredIn", "is_same"]


class StoredIn(Protocol):
    """The conversion of a value when it is stored.

    - `kind`: of the elements, a class of NumPy's.
    """

    kind: type[Any]


def is_same(array: StoredIn, value: Any, other_array: StoredIn, other: Any) -> bool:
    """Return whether an element of `array` that takes `value` holds the bytes that `other` left.

    A value may be `bytes`: a part of what was stored.
    """
    if value is other and array is other_array:
        return True
    kind = value.__class__
    if kind is other.__class__ and kind is array.kind is other_array.kind:
        # Zeros have signs, nan differs from itself, and a complex number has two parts: those go by their bytes.
        if value != other:
            if value == value or other == other:
                return False
        elif value and not issubclass(kind, np.complexfloating):
            return True
    return _bytes_of(array, value) == _bytes_of(other_array, other)


def _bytes_of(array: StoredIn, value: Any) -> bytes:
    if value.__class__ is bytes:
        return bytes(value)
    made = np.empty((), array.kind)
    made[()] = value
    return made.tobytes()
