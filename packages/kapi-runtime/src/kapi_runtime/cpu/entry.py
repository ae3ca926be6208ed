"""The CPU platform, as it is known before its compiler is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_runtime.platform import dlpack
from kapi_runtime.platform.entry_points import PlatformEntry

__all__ = ["ENTRY"]


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, np.generic) or isinstance(value, type):  # scalars have the interface, too
        return False
    kind = dlpack.known_device_kind(value)
    if kind is not None:
        return kind == dlpack.CPU
    try:
        return isinstance(getattr(value, "__array_interface__", None), dict)
    except Exception:
        return False


ENTRY = PlatformEntry(
    "cpu",
    "the CPU",
    "kapi_runtime.cpu.platform:CpuPlatform",
    "pip install kapi-cpu",
    ("kapi_cpu",),
    _is_array,
    rank=30,
    is_host=True,
)
