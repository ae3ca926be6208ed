"""`numpy.histogram` of equal bins for functions that Numba compiles: NumPy's steps, which Numba's own ones are not."""

from __future__ import annotations

import ast
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from kapi_numba_offload._numba_compat import NumbaTypeError

__all__ = ["compiled_histogram", "has_equal_bins"]

_COUNTED = 64  # elements whose bins are computed before they are counted
_UNIT = float(np.finfo(np.float64).eps)


def has_equal_bins(call: ast.Call) -> bool:
    """Whether a call of `numpy.histogram` has an array and, at most, bins."""
    words = [each.arg for each in call.keywords]
    return len(call.args) + len(words) <= 2 and 1 <= len(call.args) and words in ([], ["bins"])


def _elements(array: Any, bins: Any) -> Any:
    """The elements of an array."""
    raise NotImplementedError


@overload(_elements, strict=False)
def _overloaded(array: Any, bins: Any) -> Any:
    """Refuse arrays for which NumPy's steps have other types, and edges in place of a number of bins."""
    dtype = array.dtype if isinstance(array, types.Array) else None
    if dtype not in (types.float64, types.int64) or not isinstance(bins, types.Integer):
        raise NumbaTypeError("np.histogram of other arrays is no compiled code")
    return lambda array, bins: array.ravel()


def _distance(low: Any, high: Any) -> Any:
    """The distance of the ends: of integers that of 64 bits without a sign."""
    raise NotImplementedError


@overload(_distance, strict=False)
def _overloaded_distance(low: Any, high: Any) -> Any:
    if isinstance(low, types.Integer):
        return lambda low, high: np.float64(np.uint64(high) - np.uint64(low))
    return lambda low, high: high - low


@numba.njit(fastmath={"nnan", "nsz"}, nogil=True)  # so that extrema are vectors
def _extrema(flat: Any) -> Any:
    """The least and the greatest of elements that are all ordered."""
    low = high = flat[0]
    for x in flat:
        low = x if x < low else low
        high = x if x > high else high
    return low, high


@numba.njit(error_model="numpy", nogil=True)
def _edges(first: Any, last: Any, bins: Any) -> Any:
    """The edges, as `numpy.linspace` gives them."""
    edges = np.empty(bins + 1, np.float64)
    step = (last - first) / bins
    for k in range(bins):
        edges[k] = (k * step if step != 0 else k / bins * (last - first)) + first
    edges[bins] = last
    for k in range(bins):
        if not edges[k] < edges[k + 1]:
            raise ValueError("Too many bins for data range")
    return edges


@numba.njit(error_model="numpy", nogil=True)
def compiled_histogram(a: Any, bins: Any = 10) -> Any:
    """Counts and edges: by a product where it is far from all edges, else in NumPy's steps and their order."""
    flat = _elements(a, bins)
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last, distance = 0.0, 1.0, 1.0
    if flat.size:
        low, high = _extrema(flat)
        first, last, distance = np.float64(low), np.float64(high), _distance(low, high)
        unordered = 0
        for x in flat:
            unordered += x != x
        if unordered or not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError("autodetected range is not finite")
        if low == high:
            first, last = first - 0.5, last + 0.5
            distance = last - first
    edges = _edges(first, last, bins)
    counts = np.zeros(bins, np.int64)
    scale = bins / distance
    # The product, NumPy's quotient and its edges differ by a few units of values as large as the ends.
    near = 16 * _UNIT * bins * (1 + max(abs(first), abs(last)) / distance)
    found = np.empty(_COUNTED, np.int32)
    for start in range(0, flat.size, _COUNTED):
        block = flat[start : start + _COUNTED]
        for k in range(block.size):
            guess = (np.float64(block[k]) - first) * scale
            at = np.int32(guess)
            rest = guess - np.float64(at)
            found[k] = at if (rest > near) & (rest < 1 - near) & (guess < bins) else np.int32(-1)
        for k in range(block.size):
            slot = np.int64(found[k])
            if slot < 0:
                x = np.float64(block[k])
                slot = min(np.int64((x - first) / distance * bins), bins - 1)
                if x < edges[slot]:
                    slot -= 1
                if slot != bins - 1 and x >= edges[slot + 1]:
                    slot += 1
            counts[slot] += 1
    return counts, edges
