"""Queues of all platforms: the default one of a device, new ones, and those that somebody else made."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from kapi_runtime.host.devices import current_device, find_device, platform_of_device
from kapi_runtime.platform import installed
from kapi_runtime.platform.interface import Platform
from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr

_ADDRESS = (int, np.integer, ctypes.c_void_p)

__all__ = ["default_queue", "external_queue", "known_queue", "queue", "require_queue"]


def default_queue(device: Any = None) -> Any:
    """Return the default queue of a device: arrays that are made without a queue belong to it.

    On SYCL that is dpctl's and dpnp's default, out-of-order; a sub-device has one as well.

    Parameters
    ----------
    device : int or str or Device, optional
        A device, as `select_device` takes it; by default the current one.

    Returns
    -------
    Queue
        The same object for the same device, in every thread.

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> dpnp.ones(3).sycl_queue == kapi.default_queue()
    True
    """
    found = find_device(device)
    return platform_of_device(found).default_queue(found)


def queue(device: Any = None, *, in_order: bool = False, profiling: bool = False) -> Any:
    """Make a new queue.

    Parameters
    ----------
    device : int or str or Device, optional
        A device, as `select_device` takes it; by default the current one.
    in_order : bool
        Whether its work runs in the order of submission, whoever submits it.  kapi's and dpnp's work is in order on
        out-of-order queues, too.
    profiling : bool
        Whether the device takes the times of all its work.

    Returns
    -------
    Queue
        Memory is shared with the other queues of the device, but arrays belong to one queue: see the documentation's
        page on the host.

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> queue = kapi.queue(in_order=True, profiling=True)
    >>> queue.is_in_order, queue.has_enable_profiling
    (True, True)
    """
    found = find_device(device)
    return platform_of_device(found).new_queue(found, in_order, profiling)


def known_queue(source: Any) -> tuple[Platform, Any] | None:
    """Return the platform and the `Queue` of a queue of any library, or None if it is none; no address is one."""
    if isinstance(source, _ADDRESS):
        return None
    for platform in installed.platforms():
        found = platform.external_queue(source)
        if found is not None:
            return platform, found
    return None


def require_queue(source: Any, what: str = "queue") -> tuple[Platform, Any]:
    """Return the platform and the `Queue` of a queue of any library.

    - `source`: what is to be one.
    - `what`: what it is, for the message.

    Raises `KernelLaunchError` if it is none.
    """
    found = known_queue(source)
    if found is None:
        raise KernelLaunchError(
            f"{what} must be a queue of a device, got {short_repr(source)}: `default_queue(device)` gives one, an "
            "array of "
            f"dpnp's has `array.sycl_queue`{installed.what_is_missing(source)}",
            code="no-queue",
        )
    return found


def external_queue(source: Any) -> Any:
    """Return another library's queue as one of kapi's.

    Parameters
    ----------
    source : dpctl.SyclQueue or capsule or int
        A dpctl queue; a capsule named ``SyclQueueRef``, or an object that gives one by ``_get_capsule()``; or the
        address of a C++ ``sycl::queue``, an integer or a `ctypes.c_void_p`, which is copied, so that the original may
        be destroyed.  What is at the address cannot be checked: a wrong one may end the process.

    Returns
    -------
    Queue
        Equal to the original: the same queue of the SYCL runtime.

    Raises
    ------
    KernelLaunchError
        If it is none of these.

    Examples
    --------
    >>> import dpctl
    >>> import kapi_runtime as kapi
    >>> theirs = dpctl.SyclQueue(kapi.default_device())
    >>> kapi.external_queue(theirs) == theirs
    True
    >>> kapi.external_queue(theirs.addressof_ref()) == theirs
    True
    """
    if isinstance(source, _ADDRESS):
        # An address says nothing of its platform.
        found = platform_of_device(current_device()).external_queue(source)
    else:
        _, found = known_queue(source) or (None, None)
    if found is None:
        raise KernelLaunchError(
            "source of external_queue must be a dpctl.SyclQueue, a capsule of one, or the address of a sycl::queue, "
            f"got {short_repr(source)}{installed.what_is_missing(source)}",
            code="no-queue",
        )
    return found
