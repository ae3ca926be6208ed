"""Devices that arrays can live on, and the default one among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dpctl

from kapi_runtime.sycl.devices.fork_check import require_no_fork

__all__ = ["best_device", "is_usable", "usable_devices"]


def is_usable(device: Any) -> bool:
    """Return whether arrays can live on a `dpctl.SyclDevice`: whether it has unified shared memory."""
    return bool(device.has_aspect_usm_device_allocations and device.has_aspect_usm_shared_allocations)


def usable_devices() -> list[Any]:
    """Return each `dpctl.SyclDevice` that arrays can live on, the best first.

    Raises `ForkError` in a process that was forked after a device was used.
    """
    require_no_fork()
    return sorted(filter(is_usable, dpctl.get_devices()), key=lambda device: -device.default_selector_score)


def best_device(usable: Sequence[Any]) -> Any:
    """SYCL's default device if it is among `usable`, otherwise the first of the highest score, or None."""
    if not usable:
        return None
    try:
        chosen = dpctl.select_default_device()
    except dpctl.SyclDeviceCreationError:
        chosen = None
    if chosen is not None and chosen in usable:
        return chosen
    return max(usable, key=lambda device: device.default_selector_score)
