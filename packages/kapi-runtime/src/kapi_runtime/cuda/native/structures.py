"""What a launch looks like in memory, said once for the Python that fills it in and the native code that reads it."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

__all__ = ["CudaLaunch"]


class CudaLaunch(ctypes.Structure):
    """What the driver's ``cuLaunchKernel`` is called with, and where it is."""

    _fields_: ClassVar[tuple[tuple[str, Any], ...]] = (
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
