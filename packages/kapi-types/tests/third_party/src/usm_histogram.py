"""A library on top of kapi-types: functions for njit code that are its own, over arrays of any library.

`Samples` is an array class of this library; `count_bins` and the method `span` work on it in njit functions, and on
dpnp's arrays as well.
"""

from __future__ import annotations

import numba
import numpy as np
from numba.extending import overload, overload_method

import kapi_types
from kapi_types import UsmArrayType

__all__ = ["Samples", "count_bins"]

kapi_types.register()


class Samples:
    """Numbers in host memory, as a one-dimensional USM array of kind "host"."""

    usm_type = "host"

    def __init__(self, values):
        self.values = np.array(values, dtype=np.float32)

    @property
    def __sycl_usm_array_interface__(self):
        address, readonly = self.values.__array_interface__["data"]
        return {
            "data": (address, readonly),
            "shape": self.values.shape,
            "strides": None,
            "typestr": self.values.dtype.str,
            "version": 1,
            "syclobj": "cpu",
        }


def count_bins(samples, low, high, counts):
    """Add to `counts` how many of `samples` lie in each of its equal bins from `low` to `high`; njit only."""
    raise NotImplementedError("count_bins must be called from an njit function")


@overload(count_bins)
def _count_bins(samples, low, high, counts):
    if not isinstance(samples, UsmArrayType) or samples.ndim != 1:
        return None
    if not samples.is_host_accessible:
        raise numba.TypingError(f"samples must be in memory that the host reaches, got {samples}")

    def count(samples, low, high, counts):
        width = (high - low) / counts.size
        for sample in samples:
            position = int((sample - low) // width)
            if 0 <= position < counts.size:
                counts[position] += 1
        return counts

    return count


@overload_method(UsmArrayType, "span")
def _span(array):
    def span(array):
        low = high = array[0]
        for value in array:
            low, high = min(low, value), max(high, value)
        return high - low

    return span
