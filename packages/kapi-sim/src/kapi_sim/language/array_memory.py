"""Address, shape and strides of an array, and which arrays overlap in memory."""

from __future__ import annotations

import operator
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import LimitError
from kapi_sim.short_repr import short_repr

__all__ = [
    "OVERLAPPING",
    "ArrayFields",
    "c_strides",
    "extents_of",
    "is_between",
    "is_masked",
    "is_same_view",
    "may_share",
    "overlaps_itself",
    "span",
]

OVERLAPPING = (
    "without elements that share memory, for the kernel stores to it, got a view that overlaps itself, as broadcast_to "
    "makes: pass a copy"
)
"""Requirement on an array that a kernel stores to, in the simulator and on a device, if its elements share memory."""


@dataclass(frozen=True, slots=True)
class ArrayFields:
    """The address, shape, strides and dtype of one array, read once.

    Attributes
    ----------
    pointer : int
        Address of element (0, ..., 0), in bytes.
    shape : tuple of int
        Elements along each axis.
    strides : tuple of int
        Elements from one index to the next along each axis; zero and negative values are legal.
    dtype : numpy.dtype
        Type of one element.
    readonly : bool
        Whether the owner forbids writing.
    owner : object
        Where the memory is, as the array describes it; for a USM array the protocol's `syclobj`: a queue, context or
        filter string.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    readonly: bool
    owner: Any

    @property
    def layout(self) -> str:
        """Order of the elements: "C" and "F" are contiguous, "A" is any other."""
        if _is_contiguous(self.shape, self.strides):
            return "C"
        if _is_contiguous(self.shape[::-1], self.strides[::-1]):
            return "F"
        return "A"

    @property
    def overlaps_itself(self) -> bool:
        """Whether two of its elements share memory, as in a result of `broadcast_to`."""
        size = self.dtype.itemsize
        return overlaps_itself(self.shape, tuple(stride * size for stride in self.strides), size)

    @property
    def span(self) -> tuple[int, int]:
        """The lowest address of an element, and the end of the highest, in bytes; equal where there is none."""
        return span(self.pointer, self.shape, self.strides, len(self.shape), self.dtype.itemsize)


def is_masked(value: object) -> bool:
    """Whether `value` is a masked array; imports no `numpy.ma`, which takes as long as many launches."""
    # Another thread may be importing it: before it has the class, nobody has an instance.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(value, masked)


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of an array of this shape whose last axis is the fastest and has no gaps."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return tuple(strides)


def span(pointer: int, shape: Any, strides: Any, rank: int, itemsize: int) -> tuple[int, int]:
    """Return the lowest address of an element, and the end of the highest, in bytes; equal where there is none.

    This and the next three functions decide which arrays may be passed to one launch.  Native code of launches compiles
    them from this source, so `shape` and `strides` are anything that has an integer for each axis.
    """
    low = pointer
    high = pointer + itemsize
    for axis in range(rank):
        if shape[axis] == 0:
            return pointer, pointer
        reach = (shape[axis] - 1) * strides[axis] * itemsize
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high


def may_share(low: int, high: int, other_low: int, other_high: int) -> bool:
    """Return whether two arrays may have a byte in common, by their spans; one without elements shares none."""
    return low < other_high and other_low < high and low < high and other_low < other_high


def is_between(
    low: int, high: int, shape: Any, strides: Any, size: int,
    other_low: int, other_high: int, other_shape: Any, other_strides: Any, other_size: int, rank: int,
) -> bool:  # fmt: skip
    """Return whether two arrays of one rank lie between each other without a common byte, as columns of one matrix do.

    Along some axis both step equally far, and each keeps to its own bytes within a step.  The test is sufficient, not
    necessary: arrays for which it is false may have no common byte either.
    """
    for axis in range(rank):
        step = strides[axis] * size
        other_step = other_strides[axis] * other_size
        if step < 0:
            step = -step
        if other_step < 0:
            other_step = -other_step
        if step > 0 and step == other_step:
            own = high - low - step * (shape[axis] - 1)
            its = other_high - other_low - step * (other_shape[axis] - 1)
            # Python and C round remainders of negative numbers differently, so subtract the lower from the higher.
            if other_low >= low:
                distance = (other_low - low) % step
            else:
                distance = step - (low - other_low) % step
                if distance == step:
                    distance = 0
            if own <= distance and distance + its <= step:
                return True
    return False


def is_same_view(
    pointer: int, shape: Any, strides: Any, other_pointer: int, other_shape: Any, other_strides: Any, rank: int
) -> bool:
    """Return whether an index means the same element in two arrays of one rank and one size of elements."""
    if pointer != other_pointer:
        return False
    for axis in range(rank):
        if shape[axis] != other_shape[axis]:
            return False
        if strides[axis] != other_strides[axis] and shape[axis] > 1:  # an extent of 1 is never stepped
            return False
    return True


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the last axis is dense and each axis before steps over those after it; length 1 steps nowhere."""
    if 0 in shape:
        return True
    step = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def overlaps_itself(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether two elements of an array share a byte; exact for any strides.

    Parameters
    ----------
    shape, strides : tuple of int
        Extents in elements, steps in bytes.
    itemsize : int
        Bytes of an element.

    Examples
    --------
    >>> overlaps_itself((4, 4), (32, 8), 8)
    False
    >>> overlaps_itself((4,), (0,), 8)
    True
    >>> overlaps_itself((3, 3), (16, 8), 8)  # a window that slides over a vector
    True
    """
    if 0 in shape:
        return False
    axes = sorted(((abs(stride), extent) for stride, extent in zip(strides, shape, strict=True) if extent > 1))
    reach = itemsize
    reaches = []  # bytes that an element and the axes of shorter steps cover
    is_nested = True
    for stride, extent in axes:
        is_nested = is_nested and stride >= reach
        reaches.append(reach)
        reach += stride * (extent - 1)
    return not is_nested and _returns_to_start(tuple(axes), tuple(reaches), len(axes) - 1, 0, False, set())


def _returns_to_start(
    axes: tuple[tuple[int, int], ...],
    reaches: tuple[int, ...],
    axis: int,
    distance: int,
    has_moved: bool,
    seen: set[tuple[int, int, bool]],
) -> bool:
    """Whether steps along this axis and the shorter ones come back to less than an element from the start."""
    if axis < 0:
        return has_moved  # the last axis kept only distances below an element
    if (axis, distance, has_moved) in seen:
        return False
    seen.add((axis, distance, has_moved))
    stride, extent = axes[axis]
    reach = reaches[axis]
    if stride == 0:
        return True if abs(distance) < reach else False
    low, high = -((reach - 1 + distance) // stride), (reach - 1 - distance) // stride
    return any(
        _returns_to_start(axes, reaches, axis - 1, distance + step * stride, has_moved or step != 0, seen)
        for step in range(max(low, 1 - extent), min(high, extent - 1) + 1)
    )


def extents_of(given: Any, name: str = "shape") -> tuple[int, ...]:
    """Return the extents, or other numbers of at least 0, that an integer or a tuple of integers gives.

    Raises
    ------
    LimitError
        If it is none; the message calls it by `name`.
    """
    try:
        found = tuple(operator.index(each) for each in (given if isinstance(given, (tuple, list)) else (given,)))
        if min(found, default=0) < 0:
            raise TypeError
    except TypeError:
        raise LimitError(
            f"{name} must be an integer of at least 0, or a tuple of such, got {short_repr(given)}", code="memory-shape"
        ) from None
    return found
