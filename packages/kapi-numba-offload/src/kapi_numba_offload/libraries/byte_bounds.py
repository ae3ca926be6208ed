"""Byte bounds of arrays, on the host and on the device, and groups of arrays that share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ALIGNMENT", "host_address", "host_bounds", "sharing"]

ALIGNMENT = 64
"""Bytes: copies begin as far behind a multiple of it as what they are copies of, so that elements stay aligned."""


def host_address(array: np.ndarray[Any, Any]) -> int:
    """The address of a NumPy array's first element."""
    return int(array.__array_interface__["data"][0])


def host_bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The addresses of a NumPy array's lowest byte, and of the one after its highest."""
    if not array.size:
        return host_address(array), host_address(array)
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def sharing(arrays: list[Any], bounds: Callable[[Any], tuple[int, int]]) -> list[list[Any]]:
    """The arrays, those whose bytes overlap in one list."""
    groups: list[list[Any]] = []
    end = 0
    for each in sorted(arrays, key=lambda array: bounds(array)[0]):
        low, high = bounds(each)
        if groups and low < end:
            groups[-1].append(each)
        else:
            groups.append([each])
        end = max(end, high)
    return groups
