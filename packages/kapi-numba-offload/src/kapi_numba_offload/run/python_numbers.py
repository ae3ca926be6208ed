"""Numbers of the device and of NumPy as Python has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_numba_offload.libraries.arrays import host_copy, is_device_array

__all__ = ["as_number", "element"]

_NUMBERS = "biufc"
"""The kinds of dtypes that are numbers to Python."""


def element(value: Any) -> Any:
    """A 0-d device array as one of NumPy's numbers, an ordered copy to the host; anything else as it is."""
    return host_copy(value)[()] if is_device_array(value) and value.ndim == 0 else value


def as_number(value: Any) -> Any:
    """A 0-d device array or one of NumPy's numbers as one of Python's; anything else as it is."""
    value = element(value)
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in _NUMBERS else value
