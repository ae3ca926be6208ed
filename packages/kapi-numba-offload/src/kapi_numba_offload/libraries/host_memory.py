"""Memory that the host reaches: addresses and byte bounds of NumPy arrays, views at an address, and shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kapi_runtime.platform.numpy_views import numpy_view
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["ALIGNMENT", "as_numpy", "bytes_at", "each_once", "host_address", "host_bounds", "sharing"]

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


def bytes_at(owner: Any, low: int, high: int) -> np.ndarray[Any, Any]:
    """The memory from one address to another as a NumPy array of bytes, which keeps `owner`."""
    return numpy_view(ArrayFields(low, (high - low,), (1,), np.dtype(np.uint8), False, owner), owner)


def as_numpy(owner: Any, fields: ArrayFields, *, is_writeable: bool = True) -> np.ndarray[Any, Any]:
    """The NumPy array over memory of `owner`'s that the host reaches."""
    return numpy_view(replace(fields, readonly=not is_writeable), owner)


def each_once(values: np.ndarray[Any, Any]) -> tuple[slice, ...]:
    """The indices by which each element of an array is visited once, also one that has several indices."""
    return tuple(slice(None) if stride else slice(1) for stride in values.strides)
