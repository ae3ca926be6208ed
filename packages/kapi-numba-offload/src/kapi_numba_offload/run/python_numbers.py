"""Numbers of the device and of NumPy as Python has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_numba_offload.libraries.arrays import host_copy, is_device_array

__all__ = ["as_number"]

_NUMBERS = "biufc"
"""The kinds of dtypes that are numbers to Python."""


def as_number(value: Any) -> Any:
    """A 0-d device array or one of NumPy's numbers as one of Python's; anything else as it is."""
    if is_device_array(value):
        if value.ndim:
            return value
        value = host_copy(value)[()]
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in _NUMBERS else value
