"""Classes of arrays on the device, and questions about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.numba_cuda.host.allocation import MappedArray, to_device
from kapi_sim.numba_cuda.host.device_arrays import ArrayTypeError, ConversionError, DeviceArray, is_cuda_array
from kapi_sim.numba_cuda.support import refused
from kapi_sim.short_repr import short_repr

__all__ = [
    "DeviceNDArray",
    "DeviceNDArrayBase",
    "DeviceRecord",
    "IpcArrayHandle",
    "ManagedNDArray",
    "MappedNDArray",
    "auto_device",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
]

DeviceNDArray = DeviceNDArrayBase = DeviceArray
MappedNDArray = ManagedNDArray = MappedArray
DeviceRecord = refused("DeviceRecord")
IpcArrayHandle = refused("IpcArrayHandle")


def is_cuda_ndarray(obj: object) -> bool:
    """Return whether an object is an array on the device that numba.cuda made."""
    return isinstance(obj, (DeviceArray, MappedArray))


def require_cuda_ndarray(obj: object) -> None:
    """Raise unless an object is an array on the device that numba.cuda made."""
    if not is_cuda_ndarray(obj):
        raise ArrayTypeError(
            f"obj must be an array on the device, got {short_repr(obj)}: use cuda.to_device", code="copy-without-array"
        )


def auto_device(obj: Any, stream: Any = 0, copy: bool = True, user_explicit: bool = False) -> tuple[Any, bool]:
    """Return an array on the device for `obj`, and whether it was made for it.

    Parameters
    ----------
    obj : array_like
        On the host or on the device.
    stream : object
        Not looked at.
    copy : bool
        Whether the contents are copied; else it holds nothing yet.
    user_explicit : bool
        Not looked at.
    """
    if is_cuda_array(obj):
        return obj, False
    host = np.asarray(obj)
    if not host.flags.c_contiguous and not host.flags.f_contiguous:
        raise ConversionError(
            f"obj must be contiguous to be copied as a whole, got strides {host.strides}: "
            "pass np.ascontiguousarray(obj)",
            code="copy-unlike",
        )
    return to_device(obj, stream, copy), True
