"""Shape, type and strides of new arrays as numba.cuda's functions take them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_runtime.platform.installed import platform_of_array
from kapi_sim.errors import DtypeError, LimitError
from kapi_sim.language.array_memory import extents_of
from kapi_sim.short_repr import short_repr

__all__ = ["Form", "form_like", "form_of"]


@dataclass(frozen=True, slots=True)
class Form:
    """Shape, dtype and layout of a new array.

    - `strides`: in elements.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    @property
    def is_c_contiguous(self) -> bool:
        """Whether the elements are in C's order without gaps."""
        return 0 in self.shape or self.strides == _dense(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last, at least 1."""
        if 0 in self.shape:
            return 1
        last = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.dtype.itemsize

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple(stride * self.dtype.itemsize for stride in self.strides)


def form_of(shape: Any, dtype: Any, strides: Any, order: Any) -> Form:
    """Return the form that arguments of numba.cuda's functions name.

    - `dtype`: type of its elements.
    - `strides`: bytes from element to element along each axis; None for an array without gaps.
    - `order`: the order of elements where no strides are given.

    Raises `LimitError` if `shape` or `strides` are none; `DtypeError` if `order` is none, or strides are no multiple of
    the item size.
    """
    extents, made = extents_of(shape), np.dtype(dtype)
    if strides is None:
        if order not in ("C", "F"):
            raise DtypeError(f'order must be "C" or "F", got {short_repr(order)}', code="copy-order")
        return Form(extents, made, _dense(extents) if order == "C" else _dense(extents[::-1])[::-1])
    steps = extents_of(strides, "strides")
    if len(steps) != len(extents):
        raise LimitError(
            f"strides must be as many as the axes of shape {extents}, got {short_repr(strides)}", code="memory-shape"
        )
    if any(step % made.itemsize for step in steps):
        raise DtypeError(f"strides must be whole elements of {made}, got {steps} bytes", code="array-misaligned")
    return Form(extents, made, tuple(step // made.itemsize for step in steps))


def form_like(array: Any) -> Form:
    """Return the form of an array without gaps whose axes lie in memory in the order of an array's.

    - `array`: of the host or of a device.
    """
    platform = platform_of_array(array, "ary")
    fields = None if platform is None else platform.fields(array)
    if fields is None:
        array = np.asarray(array)
        shape, strides, dtype = array.shape, array.strides, array.dtype
    else:
        shape, strides, dtype = tuple(fields.shape), fields.strides, fields.dtype
    # The last axis is the fastest among those of equal strides, as in C's order.
    axes = sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis))
    steps, step = [0] * len(shape), 1
    for axis in axes:
        steps[axis] = step
        step *= shape[axis]
    is_c_contiguous = 0 in shape or len(shape) < 2
    return Form(shape, dtype, _dense(shape) if is_c_contiguous else tuple(steps))


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
