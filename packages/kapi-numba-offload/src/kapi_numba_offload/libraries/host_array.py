"""NumPy arrays as the CPU platform's, in functions that are offloaded to it: views of a class of their own.

By the class they are told from arrays that are none of the device's. To Numba and NumPy they are NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["HostArray", "as_host_arrays", "as_views"]


class HostArray(np.ndarray):
    """A NumPy array as an array of the CPU platform's."""

    __slots__ = ()


def as_host_arrays(value: Any) -> Any:
    """A value with views for its NumPy arrays, those in tuples and lists included; lists stay the same."""
    if isinstance(value, np.ndarray):
        return value if value.__class__ is HostArray else value.view(HostArray)
    if isinstance(value, tuple):
        items = map(as_host_arrays, value)
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if isinstance(value, list):
        value[:] = map(as_host_arrays, value)
    return value


def as_views(value: Any) -> Any:
    """A value with views for its NumPy arrays, those in tuples included."""
    return value if isinstance(value, list) else as_host_arrays(value)
