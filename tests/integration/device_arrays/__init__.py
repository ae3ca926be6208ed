"""The arrays of these tests: NumPy's on the CPU platform; dpnp's or CuPy's if ``KAPI_ARRAYS`` is "dpnp" or "cupy"."""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import sys
from typing import Any

import numpy as np

__all__ = ["SUB_GROUP", "asarray", "asnumpy", "empty", "full", "zeros"]

_LIBRARY = os.environ.get("KAPI_ARRAYS", "numpy")
_arrays = importlib.import_module(_LIBRARY)

SUB_GROUP = 32 if _LIBRARY == "cupy" else 8
"""Work-items of a sub-group that kernels ask for; a smaller work-group is one sub-group of fewer."""


def asarray(host: Any) -> Any:
    """A copy on the device; NumPy's end where a page does that cannot be accessed, so that none is read beyond."""
    return _before_guard(np.array(host)) if _arrays is np else _arrays.asarray(host)


def _before_guard(host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if sys.platform != "linux" or not host.size:
        return host
    page = mmap.PAGESIZE
    length = -(-host.nbytes // page) * page
    memory = mmap.mmap(-1, length + page)
    guard = ctypes.addressof(ctypes.c_char.from_buffer(memory, length))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(guard), page, 0) == 0
    made = np.ndarray(host.shape, host.dtype, memory, length - host.nbytes, host.strides)
    made[...] = host
    return made


def asnumpy(array: Any) -> np.ndarray[Any, Any]:
    """Elements of an array on the device."""
    host: np.ndarray[Any, Any] = array if _arrays is np else _arrays.asnumpy(array)
    return host


def empty(shape: Any, dtype: Any = float) -> Any:
    """An array on the device, whose elements are not set."""
    return _arrays.empty(shape, dtype=dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> Any:
    """An array on the device, of one value."""
    return _arrays.full(shape, value, dtype=dtype)


def zeros(shape: Any, dtype: Any = float) -> Any:
    """An array on the device, of zeros."""
    return _arrays.zeros(shape, dtype=dtype)
