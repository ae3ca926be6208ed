"""Arrays of other libraries that are on a SYCL device, and say so by DLPack alone."""

from __future__ import annotations

from typing import Any

__all__ = ["is_on_sycl_device", "shared_array_of"]

_ONEAPI = 14  # kDLOneAPI of DLPack


def is_on_sycl_device(value: Any) -> bool:
    """Whether `value` offers DLPack, and its memory is that of a SYCL device."""
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and int(device()[0]) == _ONEAPI


def shared_array_of(value: Any) -> Any:
    """Return a dpnp array that shares the memory of `value`, which is on a SYCL device.

    References
    ----------
    The array API standard, data interchange.
    """
    import dpnp  # there, if anything can be on a SYCL device that is not dpnp's own: it reads the capsule

    return dpnp.from_dlpack(value)
