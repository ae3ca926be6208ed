# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""Indices that count from the end, and the bounds and lengths of slices, as Python has them.

Kernels count no index from the end. Code that is written for kernels, as that of offloaded loops, calls these.
"""

from __future__ import annotations

import numpy as np

__all__ = ["slice_bound", "slice_bound_down", "slice_length", "slice_length_down", "wrapped_index"]


def wrapped_index(index, length):
    """An index that may count from the end, from the start."""
    at = np.int64(index)  # a length may be none of an index's type
    return at + length if at < 0 else at


def slice_bound(bound, length):
    """A bound of a slice of positive step, between 0 and the length."""
    at = np.int64(bound)
    counted = at + length if at < 0 else at
    return max(0, min(counted, length))


def slice_bound_down(bound, length):
    """A bound of a slice of negative step, between -1 and the last index."""
    at = np.int64(bound)
    counted = at + length if at < 0 else at
    return max(-1, min(counted, length - 1))


def slice_length(start, stop, step):
    """The number of elements of a slice of positive step."""
    return max(0, (stop - start + step - 1) // step)


def slice_length_down(start, stop, step):
    """The number of elements of a slice that goes down by `step`."""
    return max(0, (start - stop + step - 1) // step)
