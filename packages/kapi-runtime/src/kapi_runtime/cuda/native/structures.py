"""Memory layout of native launches, for the Python that fills it in and the native code that reads it."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

__all__ = [
    "ArrayPair",
    "ArrayRow",
    "ArrayTable",
    "CudaLaunch",
    "CupyTable",
    "DynamicLaunch",
    "DynamicRow",
    "TorchTable",
]

Fields = tuple[tuple[str, Any], ...]

_POINTER, _INT, _WORD = ctypes.c_void_p, ctypes.c_int, ctypes.c_ssize_t


def _fields(type_: Any, names: str) -> Fields:
    return tuple((name, type_) for name in names.split())


class CudaLaunch(ctypes.Structure):
    """A plan: what its arguments must be, what the driver is told, and the timeline that holds what launches use."""

    _fields_: ClassVar[Fields] = (
        ("is_busy", _WORD),  # whether a launch is under way
        ("given_count", _WORD),
        # of Python: functions that pack what native code does not, wait for events, and launch in the device's context
        *_fields(_POINTER, "pack wait resend none true"),
        *_fields(_POINTER, "cupy torch"),  # tables of arrays, or null
        *_fields(_POINTER, "cu_launch_kernel function"),
        *_fields(_INT, "grid_x grid_y grid_z block_x block_y block_z shared"),
        *_fields(_POINTER, "stream parameters"),
        *_fields(_POINTER, "timeline look event_type"),  # objects of Python, see `keep_alive.Timeline`
        # launches in a batch after which `look` is called, and where a timeline and an event have their batch
        *_fields(_WORD, "look_after batch_of_timeline batch_of_event"),
    )


class DynamicLaunch(CudaLaunch):
    """A plan for arrays of any shape, and for a global range of any extents; its table of CuPy's has `DynamicRow`s.

    What a `CudaLaunch` has for good of grid, function and look, this one has of its latest launch.
    """

    _fields_: ClassVar[Fields] = (
        *_fields(_WORD, "rank"),  # of the index space
        *_fields(_POINTER, "range_type extents"),  # the class of global ranges, and where extents are packed, or 0
        # work-items of a group that is chosen for the range, or 0 where `block_x` and the others have it; at most along
        # the slowest of three axes; and groups at most along those but the fastest
        *_fields(_WORD, "group_size deepest most_groups"),
        *_fields(_POINTER, "own_function coarse_function"),  # the latter is null if there is none
        *_fields(_WORD, "coarse_blocks coarse_along_x coarse_groups"),  # see `CoarseFunction`; from how many on
        *_fields(_WORD, "shares"),  # whether an array that is only read shares memory with one that is written
        *_fields(_WORD, "light look_often look_seldom"),  # `look_after` of launches of more bytes, and of fewer
    )


class DynamicRow(ctypes.Structure):
    """One array of a `DynamicLaunch`: its type, where it is packed, and what native code has read of the latest one."""

    _fields_: ClassVar[Fields] = (
        *_fields(_WORD, "index"),
        *_fields(_POINTER, "element"),
        *_fields(_WORD, "rank itemsize layout has_strides is_written"),  # the layout is "A", "C" or "F": 0, 1, 2
        *_fields(_POINTER, "place"),  # of the address; shape, and strides, follow
        *_fields(_POINTER, "pointer shape strides low high"),  # the strides in bytes
    )


class ArrayTable(ctypes.Structure):
    """Requirements on the arrays of one library in a plan."""

    _fields_: ClassVar[Fields] = (
        ("count", _WORD),
        ("rows", _POINTER),
        ("pair_count", _WORD),
        ("pairs", _POINTER),
        ("array_type", _POINTER),  # their class
        ("device", _INT),
        ("stream", _POINTER),  # which must be the library's current one
        ("current_stream", _POINTER),  # the address of the C function that tells it
    )


class ArrayRow(ctypes.Structure):
    """One array: what it must be, and where its address is packed."""

    _fields_: ClassVar[Fields] = (
        ("index", _WORD),  # which argument it is
        ("element", _POINTER),  # CuPy: the address of its dtype; PyTorch: code, bits and lanes of DLPack
        ("rank", _WORD),
        ("shape", _POINTER),
        ("strides", _POINTER),  # CuPy: in bytes; PyTorch: in elements
        ("itemsize", _WORD),
        ("place", _POINTER),
        ("keys", ctypes.c_size_t),  # PyTorch: what kinds of tensor it is of
    )


class ArrayPair(ctypes.Structure):
    """Two arrays, of which the kernel writes one: their packed addresses, and how far each reaches from its own."""

    _fields_: ClassVar[Fields] = (
        *_fields(_POINTER, "first second"),
        *_fields(_WORD, "first_low first_high second_low second_high may_be_one distance"),  # see `packing_source.Pair`
    )


class CupyTable(ArrayTable):
    """Requirements on arrays of CuPy, and offsets in CuPy's objects."""

    _fields_: ClassVar[Fields] = (
        ("pointer_type", _POINTER),  # the class of what an array has as `data`
        # offsets in an array: of two vectors, which begin with where their elements begin and end, and of two objects
        *_fields(_WORD, "shape_at strides_at dtype_at data_at"),
        *_fields(_WORD, "address_at device_at"),  # offsets in its `data`
    )


class TorchTable(ArrayTable):
    """Requirements on tensors of PyTorch, and the functions that read them."""

    _fields_: ClassVar[Fields] = (
        # addresses of a C function of DLPack's exchange, and of where it and the other one write
        *_fields(_POINTER, "tensor_of_object tensor told_stream"),
        # what DLPack does not tell: offsets, the first in a tensor and the others in what is there; 0 if unknown
        *_fields(_WORD, "implementation_at keys_at gradient_at"),
        *_fields(_POINTER, "requires_grad false"),  # objects of Python
    )
