"""What native launches look like in memory, for the Python that fills it in and the native code that reads it."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

__all__ = ["CudaLaunch", "CupyPair", "CupyRow", "CupyTable"]

Fields = tuple[tuple[str, Any], ...]


class CudaLaunch(ctypes.Structure):
    """What the driver's ``cuLaunchKernel`` is called with, and where it is."""

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


class CupyTable(ctypes.Structure):
    """What the arrays of a plan must be, all of them CuPy's, and where CuPy keeps what."""

    _fields_: ClassVar[Fields] = (
        ("count", ctypes.c_ssize_t),
        ("rows", ctypes.c_void_p),
        ("pair_count", ctypes.c_ssize_t),
        ("pairs", ctypes.c_void_p),
        ("array_type", ctypes.c_void_p),  # its class
        ("pointer_type", ctypes.c_void_p),  # the class of what it has as `data`
        ("device", ctypes.c_int),
        # offsets in an array: of two vectors, which begin with where their elements begin and end, and of two objects
        ("shape_at", ctypes.c_ssize_t),
        ("strides_at", ctypes.c_ssize_t),
        ("dtype_at", ctypes.c_ssize_t),
        ("data_at", ctypes.c_ssize_t),
        # offsets in its `data`
        ("address_at", ctypes.c_ssize_t),
        ("device_at", ctypes.c_ssize_t),
    )


class CupyRow(ctypes.Structure):
    """One array: what it must be, and where its address is packed."""

    _fields_: ClassVar[Fields] = (
        ("dtype", ctypes.c_void_p),
        ("rank", ctypes.c_ssize_t),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),  # in bytes
        ("itemsize", ctypes.c_ssize_t),
        ("place", ctypes.c_void_p),
    )


class CupyPair(ctypes.Structure):
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
