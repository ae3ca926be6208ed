"""Rows of one small array, one for each work-item: how long they are, and the kernel that adds them up."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_numba_offload.elements.kernel_source import make_kernel
from kapi_numba_offload.elements.reductions import COMBINATIONS

__all__ = ["adding_kernel", "pitch_of"]

_LINE = 128  # bytes that processors fetch together: rows of two work-items lie in none of them


def pitch_of(size: int, dtype: np.dtype[Any]) -> int:
    """Elements from one row to the next, for rows of `size` elements."""
    step = _LINE // dtype.itemsize
    return -(-size // step) * step


def adding_kernel(operation: str, dtype: np.dtype[Any], ndim: int, place: str, *, is_new: bool = False) -> Any:
    """The kernel that combines the elements of all rows, over `space_of` of the array.

    Its arguments: the array, the rows one after another along one axis, their number, elements from one to the next,
    and the array's lengths but the first.

    Parameters
    ----------
    operation : str
        A key of `COMBINATIONS`.
    dtype : numpy.dtype
        Of the array and the rows.
    ndim : int
        Axes of the array, 1 to 3.
    place : str
        What the kernel is made from, ``file:line``.
    is_new : bool
        Whether the array has no values yet; else they are combined with those of the rows.
    """
    combination = COMBINATIONS[operation]
    lengths = [f"n{axis}" for axis in range(1, ndim)]
    at = "item.get_id(0)"
    for axis, length in enumerate(lengths, 1):
        at = f"({at}) * {length} + item.get_id({axis})"
    element = f"array[{', '.join(f'item.get_id({axis})' for axis in range(ndim))}]"
    lines = [f"at = {at}", "total = rows[at]", "for row in range(1, count):"]
    lines.append(f"    {combination.line('rows[row * pitch + at]', dtype)}")
    if not is_new:
        lines.append(combination.line(element, dtype))
    lines.append(f"{element} = total")
    return make_kernel("add_up", ("array", "rows", "count", "pitch", *lengths), tuple(lines), place)
