"""The CUDA platform, as it is known before NVIDIA's libraries are imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_runtime.platform import dlpack
from kapi_runtime.platform.entry_points import PlatformEntry

__all__ = ["ENTRY"]


def _is_array(value: Any) -> bool:
    kind = dlpack.known_device_kind(value)
    if kind == dlpack.CPU and isinstance(value, np.ndarray):
        return _has_cuda_interface(value)  # numba-cuda's mapped and managed arrays are NumPy's, too
    # The interface is a property that some arrays of the host have, too, and that raises for some of a device.
    return (
        kind in (dlpack.CUDA, dlpack.CUDA_HOST, dlpack.CUDA_MANAGED) if kind is not None else _has_cuda_interface(value)
    )


def _has_cuda_interface(value: Any) -> bool:
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:
        return True


ENTRY = PlatformEntry(
    "cuda",
    "CUDA",
    "kapi_runtime.cuda.platform:CudaPlatform",
    'pip install "kapi-runtime[cuda]"',
    ("cuda.bindings", "kapi_ptx"),
    _is_array,
    rank=20,
    extras={"cuda": "cuda", "geforce": "cuda", "gpu": "cuda", "nvidia": "cuda", "rtx": "cuda", "tesla": "cuda"},
    libraries=frozenset(("cuda", "cupy", "cupy_backends", "jax", "jaxlib", "numba", "torch")),
    queue_protocol="__cuda_stream__",
)
