"""SYCL's devices: which one a name stands for, which one is the default, and why there is none."""

from __future__ import annotations

from typing import Any

import dpctl

from kapi_runtime.platform import current
from kapi_runtime.sycl.devices import drivers
from kapi_runtime.sycl.devices.device import DpctlDevice
from kapi_runtime.sycl.devices.device_summary import describe_device
from kapi_runtime.sycl.devices.usable import best_device, is_usable, usable_devices
from kapi_sim import environment_variables
from kapi_sim.errors import DeviceNotFoundError

__all__ = ["current_device", "default_device", "device_of", "missing_device_message"]

_INSTALL = 'pip install "kapi-runtime[opencl-cpu]"'


def default_device() -> DpctlDevice | None:
    """Return SYCL's default device if arrays can live on it, otherwise the best that they can, or None."""
    device = best_device(usable_devices())
    return None if device is None else DpctlDevice(device)


def current_device() -> DpctlDevice:
    """Return the current device if it is one of SYCL's, otherwise SYCL's default.

    Raises `DeviceNotFoundError` if there is none; the message says what was looked for, and where.
    """
    device = current.current()
    if isinstance(device, DpctlDevice):
        return device
    default = default_device()
    if default is None:
        raise DeviceNotFoundError(missing_device_message(), code="no-device")
    return default


def device_of(source: Any) -> DpctlDevice | None:
    """Return the device that a device, a filter string or a part of a name, in any case, stands for; None if none."""
    if isinstance(source, DpctlDevice):
        return source
    if isinstance(source, dpctl.SyclDevice):
        return DpctlDevice(source)
    if not isinstance(source, str):
        return None
    try:
        return DpctlDevice(source)
    except (dpctl.SyclDeviceCreationError, ValueError):
        for device in usable_devices():
            if source.strip() and source.lower() in device.name.lower():
                return DpctlDevice(device)
    return None


def missing_device_message() -> str:
    """Say what was looked for in vain, where, and what to do."""
    found = drivers.driver_search()
    lines = [
        "a device with unified shared memory must be present, got none: looked for Level Zero GPUs, "
        "and for OpenCL devices with Intel's runtime"
    ]
    lines += [f"  looked in {location}" for location in found.searched]
    for device in dpctl.get_devices():
        if not is_usable(device):
            name = f"{describe_device(device)}, {device.sycl_platform.name}"
            lines.append(f"  left out {name}: no unified shared memory")
    if any(variable == drivers.SELECTOR for variable, _ in found.changed):
        hidden = ", ".join(found.without_usm)
        lines.append(f"  hid {hidden}: without unified shared memory, it ends the process that allocates there")
    lines += [f"  driver: {found.summary}", f"  {_hint(found)}"]
    return "\n".join(lines)


def _hint(found: drivers.DriverSearch) -> str:
    selector = environment_variables.ONEAPI_DEVICE_SELECTOR.value
    if selector and (drivers.SELECTOR, selector) not in found.changed:
        return (
            f"{drivers.SELECTOR} is set to {selector!r} and may leave every device out (a selector that "
            "does not touch Level Zero finds nothing here): unset it, or write '*:cpu' for CPUs"
        )
    if found.too_late:
        return drivers.TOO_LATE
    if found.how == "off":
        return f"unset {drivers.SWITCH}, or name the driver's library in {drivers.FILENAMES}"
    if found.how == "user":
        return f"unset that variable, or let {drivers.FILENAMES} name {drivers.LIBRARY}"
    if found.how in ("wheel", "system"):
        return f"the driver {found.library} could not be loaded: reinstall it with `{_INSTALL}`"
    return f"install a driver: `{_INSTALL}` brings Intel's OpenCL runtime for CPUs; a GPU needs its vendor's driver"
