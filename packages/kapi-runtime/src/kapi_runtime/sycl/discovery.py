"""The devices of this machine: which there are, which one is the default, and which one is current.

The module of the list `devices` could not have its name: a package has one attribute of a name, and importing a
module sets it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, SupportsIndex

import dpctl

from kapi_runtime.platform import current
from kapi_runtime.sycl import drivers
from kapi_runtime.sycl.device import Device
from kapi_runtime.sycl.device_summary import DeviceSummary, describe_device, summarize
from kapi_runtime.sycl.usable import best_device, is_usable, usable_devices
from kapi_sim.errors import DeviceNotFoundError
from kapi_sim.shown import shown

__all__ = [
    "DeviceList",
    "default_device",
    "devices",
    "find_device",
    "get_current_device",
    "is_available",
    "list_devices",
    "missing_device_message",
    "select_device",
]

_INSTALL = 'pip install "kapi-runtime[cpu]"'


class DeviceList(Sequence[Device]):
    """The devices that kernels can run on, best first: `kapi_runtime.devices`.

    Each use asks SYCL anew, which answers from its own list.  Devices without unified shared memory are left out: no
    array can live there.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> len(kapi.devices) >= 1
    True
    >>> with kapi.devices[0] as device:
    ...     kapi.devices.current == device
    True
    """

    @property
    def current(self) -> Device:
        """The current device, as `get_current_device` gives it."""
        return get_current_device()

    def __getitem__(self, index: Any) -> Any:
        found = usable_devices()
        if isinstance(index, slice):
            return [Device(device) for device in found[index]]
        try:
            return Device(found[index])
        except IndexError:
            if not found:
                raise DeviceNotFoundError(missing_device_message(), code="no-device") from None
            raise IndexError(
                f"index of devices must be below {len(found)}, got {index}: `list_devices()` shows them"
            ) from None
        except TypeError:
            raise TypeError(
                f"index of devices must be an integer or a slice, got {index!r}: `select_device` takes names, too"
            ) from None

    def __iter__(self) -> Iterator[Device]:
        return iter([Device(device) for device in usable_devices()])

    def __len__(self) -> int:
        return len(usable_devices())

    def __repr__(self) -> str:
        return f"<devices: {', '.join(map(describe_device, usable_devices())) or 'none'}>"


devices = DeviceList()
"""The devices that kernels can run on, best first; ``devices.current`` is the current one."""


def list_devices() -> list[DeviceSummary]:
    """Return a summary of each device that kernels can run on, best first, in the order of `devices`.

    Devices without unified shared memory are left out: no array can live there.  `python -m kapi_runtime`
    names them.

    Returns
    -------
    list of DeviceSummary
        Empty where there is none.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> [each.kind for each in kapi.list_devices() if each.is_default]
    ['cpu']
    """
    return [summarize(device) for device in usable_devices()]


def default_device() -> Device:
    """Return the device that is used where nothing says otherwise: SYCL's default, if arrays can live on it.

    Returns
    -------
    Device

    Raises
    ------
    DeviceNotFoundError
        If there is no device with unified shared memory; the message says what was looked for, and where.

    Examples
    --------
    >>> import dpnp
    >>> import kapi_runtime as kapi
    >>> kapi.default_device() == dpnp.zeros(1).sycl_device
    True
    """
    device = best_device(usable_devices())
    if device is None:
        raise DeviceNotFoundError(missing_device_message(), code="no-device")
    return Device(device)


def get_current_device() -> Device:
    """Return the current device: that of the innermost ``with device:`` or `select_device`, or the default one.

    The current device is where `kapi_runtime`'s own functions make queues and memory when they are not told; each
    thread and asyncio task has its own.  Kernels run where their arrays are, whatever is current.

    Raises
    ------
    DeviceNotFoundError
        If none is current, and there is none at all.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.get_current_device() == kapi.default_device()
    True
    """
    device: Device | None = current.current()
    return default_device() if device is None else device


def select_device(device: Any) -> Device:
    """Make a device the current one of this thread, in place of the one that is.

    Parameters
    ----------
    device : int or str or dpctl.SyclDevice
        Index into `devices`, filter string, part of a device's name, or the device itself.

    Returns
    -------
    Device

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.select_device(0) == kapi.devices.current
    True
    """
    chosen = find_device(device)
    current.select(chosen)
    return chosen


def find_device(device: Any) -> Device:
    """Return the device that an index, a filter string, a name or a device stands for.

    Parameters
    ----------
    device : int or str or dpctl.SyclDevice or None
        Index into `devices`; filter string; part of a device's name, in any case; a device; None for the current one.

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.
    """
    if device is None:
        return get_current_device()
    if isinstance(device, Device):
        return device
    if isinstance(device, dpctl.SyclDevice):
        return Device(device)
    if isinstance(device, str):
        return _named(device)
    usable = usable_devices()
    if not usable:
        raise DeviceNotFoundError(missing_device_message(), code="no-device")
    if isinstance(device, SupportsIndex) and not isinstance(device, bool):
        with suppress(IndexError, TypeError):  # an array says that it were an index, too
            return Device(usable[device])
    raise DeviceNotFoundError(
        f"device must be an index below {len(usable)}, a filter string, a part of a name or a device, got "
        f"{shown(device)}: "
        "`python -m kapi_runtime` lists them",
        code="device-unknown",
    )


def is_available() -> bool:
    """Tell whether there is a device to run kernels on; never raises.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.is_available()
    True
    """
    try:
        return bool(usable_devices())
    except Exception:
        return False


def missing_device_message() -> str:
    """Say what was looked for in vain, where, and what to do."""
    found = drivers.driver_search()
    lines = [
        "a device with unified shared memory must be present, got none: looked for Level Zero GPUs, "
        "and for OpenCL devices with Intel's runtime"
    ]
    lines += [f"  looked in {place}" for place in found.searched]
    for device in dpctl.get_devices():
        if not is_usable(device):
            name = f"{describe_device(device)}, {device.sycl_platform.name}"
            lines.append(f"  left out {name}: no unified shared memory")
    if any(variable == drivers.SELECTOR for variable, _ in found.changed):
        hidden = ", ".join(found.without_usm)
        lines.append(f"  hid {hidden}: without unified shared memory, it ends the process that allocates there")
    lines += [f"  driver: {found.summary}", f"  {_way_out(found)}"]
    return "\n".join(lines)


def _way_out(found: drivers.DriverSearch) -> str:
    selector = os.environ.get(drivers.SELECTOR)
    if selector and (drivers.SELECTOR, selector) not in found.changed:
        return (
            f"{drivers.SELECTOR} is set to {selector!r} and may leave every device out (a selector that "
            "does not "
            "touch Level Zero finds nothing here): unset it, or write '*:cpu' for CPUs"
        )
    if found.too_late:
        return (
            "a device was queried before kapi_runtime was imported, which fixed what is visible: import "
            "kapi_runtime first, or run `python -m kapi_runtime setup` once"
        )
    if found.how == "off":
        return f"unset {drivers.SWITCH}, or name the driver's library in {drivers.FILENAMES}"
    if found.how == "user":
        return f"unset that variable, or let {drivers.FILENAMES} name {drivers.LIBRARY}"
    if found.how in ("wheel", "system"):
        return f"the driver {found.library} could not be loaded: reinstall it with `{_INSTALL}`"
    return f"install a driver: `{_INSTALL}` brings Intel's OpenCL runtime for CPUs; a GPU needs its vendor's driver"


def _named(name: str) -> Device:
    try:
        return Device(name)
    except (dpctl.SyclDeviceCreationError, ValueError) as error:
        usable = usable_devices()
        if not usable:
            raise DeviceNotFoundError(missing_device_message(), code="no-device") from error
        for device in usable:
            if name.strip() and name.lower() in device.name.lower():
                return Device(device)
        raise DeviceNotFoundError(
            f"device must be the filter string of a device or a part of its name, got {shown(name)}: "
            "`python -m kapi_runtime` lists them",
            code="device-unknown",
        ) from error
