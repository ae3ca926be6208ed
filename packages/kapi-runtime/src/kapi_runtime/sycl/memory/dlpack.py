"""DLPack, for memory of SYCL devices."""

from __future__ import annotations

from typing import Any

from kapi_runtime.platform.dlpack import ONEAPI, device_kind

__all__ = ["is_on_sycl_device"]


def is_on_sycl_device(value: Any) -> bool:
    """Whether `value` offers DLPack, and its memory is that of a SYCL device."""
    return device_kind(value) == ONEAPI
