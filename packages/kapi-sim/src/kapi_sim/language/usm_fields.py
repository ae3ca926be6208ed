"""What the USM array protocol says of one array in hand; needs NumPy only.

References
----------
The protocol is `__sycl_usm_array_interface__`, version 1, as dpctl documents it.
"""

from __future__ import annotations

import operator
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.short_repr import short_repr

__all__ = [
    "OVERLAPPING",
    "ArrayFields",
    "array_fields",
    "c_strides",
    "is_between",
    "is_masked",
    "is_same_view",
    "is_usm_array",
    "is_usm_array_class",
    "may_share",
    "overlaps_itself",
    "span",
    "structure_fields",
]

_PROTOCOL = "__sycl_usm_array_interface__"


OVERLAPPING = (
    "without elements that share memory, for the kernel stores to it, got a view that overlaps itself, as broadcast_to "
    "makes: pass a copy"
)
"""What an array must be that a kernel stores to, in both worlds, where its elements share memory."""


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
        What the array says of its place; of a USM array the protocol's `syclobj`: a queue, context or filter string.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    readonly: bool
    owner: Any

    @property
    def layout(self) -> str:
        """What the strides are, given the shape: "C", "F" or "A"."""
        if _is_contiguous(self.shape, self.strides):
            return "C"
        if _is_contiguous(self.shape[::-1], self.strides[::-1]):
            return "F"
        return "A"

    @property
    def overlaps_itself(self) -> bool:
        """Whether two of its elements share memory, as in what `broadcast_to` gives."""
        size = self.dtype.itemsize
        return overlaps_itself(self.shape, tuple(stride * size for stride in self.strides), size)

    @property
    def span(self) -> tuple[int, int]:
        """The lowest address of an element, and the end of the highest, in bytes; equal where there is none."""
        return span(self.pointer, self.shape, self.strides, len(self.shape), self.dtype.itemsize)


def is_usm_array(value: object) -> bool:
    """Whether `value` speaks the USM array protocol; reads no memory."""
    return is_usm_array_class(type(value)) or hasattr(value, _PROTOCOL)


def is_usm_array_class(cls: type) -> bool:
    """Whether all objects of a class speak the USM array protocol."""
    return hasattr(cls, _PROTOCOL)


def array_fields(value: Any) -> ArrayFields:
    """Read where the array `value` is, without waiting for the work that fills it.

    The property of the protocol waits for the array's queue in the array type that dpnp wraps; that type's attributes
    tell the same and do not wait. Other libraries' arrays are read by the protocol.

    Parameters
    ----------
    value : object
        Any object with `__sycl_usm_array_interface__`.

    Returns
    -------
    ArrayFields

    Raises
    ------
    DtypeError
        If `value` has no such attribute, or what it tells is no array.
    """
    known = structure_fields(value)
    if known is not None:
        return known
    interface = getattr(value, _PROTOCOL, None)
    if interface is None:
        raise DtypeError(
            f"array must have {_PROTOCOL}, got {type(value).__name__}; dpnp arrays have it, and "
            "`dpnp.asarray` makes one of a NumPy array",
            code="usm-array-interface",
        )
    return _reported_fields(interface)


def structure_fields(value: Any) -> ArrayFields | None:
    """Read where an array of dpnp's, or of the type that it wraps, is; None of other objects."""
    inner = value.get_array() if hasattr(value, "get_array") else value
    # Memory objects of the same library have the pointer and the queue, and are arrays of bytes by their protocol.
    if not isinstance(getattr(inner, "_pointer", None), int) or not hasattr(inner, "strides"):
        return None
    return ArrayFields(
        inner._pointer, inner.shape, inner.strides, inner.dtype, not inner.flags.writable, inner.sycl_queue
    )


def _reported_fields(interface: Any) -> ArrayFields:
    """What an object tells by the protocol, which may be anything."""
    try:
        dtype = np.dtype(str(interface["typestr"]))
        base, readonly = interface["data"]
        shape = tuple(map(operator.index, interface["shape"]))
        given = interface.get("strides")
        strides = c_strides(shape) if given is None else tuple(map(operator.index, given))
        pointer = operator.index(base) + operator.index(interface.get("offset", 0)) * dtype.itemsize
        fields = ArrayFields(pointer, shape, strides, dtype, bool(readonly), interface["syclobj"])
        low, high = fields.span if len(strides) == len(shape) else (0, 0)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise _interface_error(f"got {type(error).__name__}: {error}") from error
    if len(strides) != len(shape) or any(extent < 0 for extent in shape):
        raise _interface_error(f"got shape {short_repr(shape)} and strides {short_repr(given)}")
    if low < high and not 0 <= low < high <= 2**64:
        raise _interface_error(f"got elements from address {low:#x} to {high:#x}")
    if low < high and pointer % dtype.alignment != 0:
        raise DtypeError(
            f"an array must begin at a multiple of its elements' alignment, {dtype.alignment}, got {dtype} at "
            f"{pointer:#x}: pass a copy",
            code="array-misaligned",
        )
    return fields


def _interface_error(got: str) -> DtypeError:
    return DtypeError(f"{_PROTOCOL} of an array must be as dpctl documents it, {got}", code="usm-array-interface")


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

    This and the next three are the rule of which arrays may be given to one launch.  Launches in native code compile
    them as they stand here, so `shape` and `strides` are anything that has an integer for each axis.
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

    Along some axis both step equally far, and each keeps to its own bytes within a step.  Arrays of which this is false
    may have no common byte either.
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
            # Both are not negative here: the remainder is that of the difference of the lower from the higher.
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
        if shape[axis] != other_shape[axis] or strides[axis] != other_strides[axis]:
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
    reaches = []  # of each axis with all whose steps are shorter, in bytes
    is_nested = True
    for stride, extent in axes:
        is_nested = is_nested and stride >= reach
        reaches.append(reach)
        reach += stride * (extent - 1)
    return not is_nested and _meets(tuple(axes), tuple(reaches), len(axes) - 1, 0, False, set())


def _meets(
    axes: tuple[tuple[int, int], ...],
    reaches: tuple[int, ...],
    axis: int,
    distance: int,
    has_moved: bool,
    seen: set[tuple[int, int, bool]],
) -> bool:
    """Whether steps along this axis and the shorter ones come back to less than an element from the start."""
    if axis < 0:
        return has_moved  # the last axis let through only what is near enough
    if (axis, distance, has_moved) in seen:
        return False
    seen.add((axis, distance, has_moved))
    stride, extent = axes[axis]
    reach = reaches[axis]  # what the shorter axes can make good, and an element
    if stride == 0:
        return True if abs(distance) < reach else False
    low, high = -((reach - 1 + distance) // stride), (reach - 1 - distance) // stride
    return any(
        _meets(axes, reaches, axis - 1, distance + step * stride, has_moved or step != 0, seen)
        for step in range(max(low, 1 - extent), min(high, extent - 1) + 1)
    )
