"""Memory layout of native launches, for the Python that fills it in and the native code that reads it."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

__all__ = ["ArrayPair", "ArrayRow", "ArrayTable", "CudaLaunch", "CupyTable", "TorchTable"]

Fields = tuple[tuple[str, Any], ...]


class CudaLaunch(ctypes.Structure):
    """Arguments of the driver's ``cuLaunchKernel``, and its address."""

    _fields_: ClassVar[Fields] = (
        ("cu_launch_kernel", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("grid_x", ctypes.c_int),
        ("grid_y", ctypes.c_int),
        ("grid_z", ctypes.c_int),
        ("block_x", ctypes.c_int),
        ("block_y", ctypes.c_int),
        ("block_z", ctypes.c_int),
        ("shared", ctypes.c_int),
        ("stream", ctypes.c_void_p),
        ("parameters", ctypes.c_void_p),
    )


class ArrayTable(ctypes.Structure):
    """Requirements on the arrays of one library in a plan."""

    _fields_: ClassVar[Fields] = (
        ("count", ctypes.c_ssize_t),
        ("rows", ctypes.c_void_p),
        ("pair_count", ctypes.c_ssize_t),
        ("pairs", ctypes.c_void_p),
        ("array_type", ctypes.c_void_p),  # their class
        ("device", ctypes.c_int),
    )


class ArrayRow(ctypes.Structure):
    """One array: what it must be, and where its address is packed."""

    _fields_: ClassVar[Fields] = (
        ("element", ctypes.c_void_p),  # CuPy: the address of its dtype; PyTorch: code, bits and lanes of DLPack
        ("rank", ctypes.c_ssize_t),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),  # CuPy: in bytes; PyTorch: in elements
        ("itemsize", ctypes.c_ssize_t),
        ("place", ctypes.c_void_p),
        ("keys", ctypes.c_size_t),  # PyTorch: what kinds of tensor it is of
    )


class ArrayPair(ctypes.Structure):
    """Two arrays, of which the kernel writes one: their packed addresses, and how far each reaches from its own."""

    _fields_: ClassVar[Fields] = (
        ("first", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("first_low", ctypes.c_ssize_t),
        ("first_high", ctypes.c_ssize_t),
        ("second_low", ctypes.c_ssize_t),
        ("second_high", ctypes.c_ssize_t),
        ("may_be_one", ctypes.c_ssize_t),  # whether they may be one view
    )


class CupyTable(ArrayTable):
    """Requirements on arrays of CuPy, and offsets in CuPy's objects."""

    _fields_: ClassVar[Fields] = (
        ("pointer_type", ctypes.c_void_p),  # the class of what an array has as `data`
        # offsets in an array: of two vectors, which begin with where their elements begin and end, and of two objects
        ("shape_at", ctypes.c_ssize_t),
        ("strides_at", ctypes.c_ssize_t),
        ("dtype_at", ctypes.c_ssize_t),
        ("data_at", ctypes.c_ssize_t),
        # offsets in its `data`
        ("address_at", ctypes.c_ssize_t),
        ("device_at", ctypes.c_ssize_t),
    )


class TorchTable(ArrayTable):
    """Requirements on tensors of PyTorch, and the functions that read them."""

    _fields_: ClassVar[Fields] = (
        # addresses of C functions of DLPack's exchange, and of where they write
        ("tensor_of_object", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
        ("tensor", ctypes.c_void_p),
        ("told_stream", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),  # which must be current
        # what DLPack does not tell: offsets, the first in a tensor and the others in what is there; 0 if unknown
        ("implementation_at", ctypes.c_ssize_t),
        ("keys_at", ctypes.c_ssize_t),
        ("gradient_at", ctypes.c_ssize_t),
        # objects of Python
        ("requires_grad", ctypes.c_void_p),
        ("false", ctypes.c_void_p),
    )
