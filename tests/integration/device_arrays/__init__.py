"""The arrays of these tests: dpnp's, or CuPy's if ``KAPI_ARRAYS`` is "cupy"."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

__all__ = ["SUB_GROUP", "asarray", "asnumpy"]

IS_CUDA = os.environ.get("KAPI_ARRAYS", "dpnp") == "cupy"

SUB_GROUP = 32 if IS_CUDA else 8
"""Work-items of a sub-group that kernels ask for; a smaller work-group is one sub-group of fewer."""

if IS_CUDA:
    import cupy as arrays
else:
    import dpnp as arrays


def asarray(host: np.ndarray[Any, Any]) -> Any:
    """A copy on the device."""
    return arrays.asarray(host)


def asnumpy(array: Any) -> np.ndarray[Any, Any]:
    """Elements of an array on the device."""
    host: np.ndarray[Any, Any] = arrays.asnumpy(array)
    return host
