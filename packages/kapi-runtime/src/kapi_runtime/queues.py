"""Queues: where work is submitted, what they are called in messages, and how arrays name theirs."""

from __future__ import annotations

from typing import Any

import dpctl

from kapi_runtime.devices import default_device, describe_device
from kapi_sim.errors import DeviceNotFoundError

__all__ = ["default_queue", "describe_queue", "queue_of"]


def default_queue(device: Any = None) -> Any:
    """Return the queue that arrays made without one live on.

    Parameters
    ----------
    device : dpctl.SyclDevice or str, optional
        A device or its filter string; by default the default device.

    Returns
    -------
    dpctl.SyclQueue
        The same object for the same device: the queue that dpnp uses, too.

    Raises
    ------
    DeviceNotFoundError
        If there is no device, or none of this filter string.
    """
    chosen = default_device() if device is None else device
    if isinstance(chosen, str):
        try:
            chosen = dpctl.SyclDevice(chosen)
        except (dpctl.SyclDeviceCreationError, ValueError) as error:
            raise DeviceNotFoundError(
                f"device must be the filter string of a device, got {device!r}: `python -m kapi_runtime` lists them"
            ) from error
    return dpctl.get_device_cached_queue(chosen)


def queue_of(owner: Any) -> Any:
    """Return the `dpctl.SyclQueue` that the ``syclobj`` of the USM array protocol stands for, or None.

    Parameters
    ----------
    owner : dpctl.SyclQueue or capsule or object
        A queue, a capsule of one, or an object that gives a capsule of one.

    References
    ----------
    The USM array protocol, version 1, as dpctl documents it.
    """
    if isinstance(owner, dpctl.SyclQueue):
        return owner
    capsule = owner._get_capsule() if hasattr(owner, "_get_capsule") else owner
    if type(capsule).__name__ == "PyCapsule":
        try:
            return dpctl.SyclQueue(capsule)
        except (TypeError, ValueError):
            return None
    return None


def describe_queue(queue: Any) -> str:
    """Name a `dpctl.SyclQueue` in a few words, for messages: its address, kind and device."""
    kind = "in-order queue" if queue.is_in_order else "queue"
    profiling = " with profiling" if queue.has_enable_profiling else ""
    return f"{kind} {queue.addressof_ref():#x}{profiling} of {describe_device(queue.sycl_device)}"
