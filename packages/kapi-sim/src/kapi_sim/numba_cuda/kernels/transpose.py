"""``numba.cuda.kernels.transpose``."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, as_host_array

__all__ = ["transpose"]


def transpose(a: Any, b: Any = None) -> DeviceArray:
    """Return the transpose of a matrix on the device, in `b` if that is given.

    Parameters
    ----------
    a : array
        Of two axes.
    b : DeviceArray, optional
        Takes the result.
    """
    host = as_host_array(a)
    if host.ndim != 2:
        raise KernelLaunchError(f"an array must have two axes to be transposed, got {host.ndim}", code="cuda-shape")
    if b is None:
        return DeviceArray.of(np.ascontiguousarray(host.T))
    b.setitem(Ellipsis, np.ascontiguousarray(host.T))
    made: DeviceArray = b
    return made
