"""The devices of all platforms that are installed: which there are, which one is the default, and which is current.

The list `devices` could not have a module of its name at the top: a package has one attribute of a name, and importing
a module sets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, SupportsIndex

from kapi_runtime.platform import current, installed
from kapi_runtime.platform.installed import platform_of_device
from kapi_runtime.platform.interface import Platform
from kapi_sim.errors import DeviceNotFoundError
from kapi_sim.log import LOGGER
from kapi_sim.short_repr import short_repr

__all__ = [
    "DeviceList",
    "current_device",
    "default_device",
    "devices",
    "find_device",
    "is_available",
    "missing_device_error",
    "platform_of_device",
    "select_device",
]


class DeviceList(Sequence[Any]):
    """The devices that kernels can run on, best first: `kapi_runtime.devices`.

    Each use asks the platforms that are installed anew, SYCL before CUDA, and the CPU itself last.  Devices that no
    array can live on are left out; `python -m kapi_runtime` names them.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> len(kapi.devices) >= 1
    True
    >>> with kapi.devices[0] as device:
    ...     kapi.devices.current == device
    True
    >>> [each.kind for each in kapi.devices() if each.is_default]
    ['cpu']
    """

    def __call__(self) -> list[Any]:
        """Return a summary of each device that kernels can run on, in the order of the list.

        The result is empty where there is none. Raises `DeviceNotFoundError` if no platform is installed; the message
        says what installs one.
        """
        if not installed.platforms():
            raise installed.nothing_installed()
        return [device.summary for device in _all()]

    @property
    def current(self) -> Any:
        """The current device: that of the innermost ``with device:`` or `select_device`, or the default one.

        It is where `kapi_runtime`'s own functions make queues and memory when they are not told; each thread and
        asyncio task has its own.  Kernels run where their arrays are, whatever is current.

        Raises `DeviceNotFoundError` if none is current, and there is none at all.
        """
        return current_device()

    def __getitem__(self, index: Any) -> Any:
        found = _all()
        if isinstance(index, slice):
            return found[index]
        try:
            return found[index]
        except IndexError:
            if not found:
                raise missing_device_error() from None
            raise IndexError(f"index of devices must be below {len(found)}, got {index}: {_names()}") from None
        except TypeError:
            raise TypeError(
                f"index of devices must be an integer or a slice, got {short_repr(index)}: `select_device` takes "
                "names, too"
            ) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(_all())

    def __len__(self) -> int:
        return len(_all())

    def __repr__(self) -> str:
        return f"<devices: {', '.join(_described()) or 'none'}>"


devices = DeviceList()
"""The devices that kernels can run on, best first; ``devices.current`` is the current one."""


def default_device() -> Any:
    """Return the device of programs that name none.

    Raises
    ------
    DeviceNotFoundError
        If there is none.
    """
    for platform in installed.platforms():
        device = platform.default_device()
        if device is not None:
            return device
    raise missing_device_error()


def current_device() -> Any:
    """Return the current device: that of the innermost ``with device:`` or `select_device`, or the default one.

    Raises `DeviceNotFoundError` if none is current, and there is none at all.
    """
    device = current.current()
    return default_device() if device is None else device


def select_device(device: Any) -> Any:
    """Make a device the current device of this thread.

    Parameters
    ----------
    device : int or str or Device
        Index into `devices`, filter string, part of a device's name, or the device itself, native ones included.

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
    LOGGER.info("current device: %s", platform_of_device(chosen).describe_device(chosen))
    return chosen


def find_device(device: Any) -> Any:
    """Return the device that an index, a filter string, a name or a device stands for.

    - `device`: index into `devices`; a device's name as its platform knows it; a device, native ones included; None for
      the current one.

    Raises `DeviceNotFoundError` if there is no such device.
    """
    if device is None:
        return current_device()
    for platform in _asked(device):
        found = platform.device(device)
        if found is not None:
            return found
    usable, missing = _all(), installed.what_is_missing(device)
    if not usable:
        raise missing_device_error(missing)
    if isinstance(device, str):
        raise DeviceNotFoundError(
            f"device must be the filter string of a device or a part of its name, got {short_repr(device)}: {_names()}"
            f"{missing}",
            code="device-unknown",
        )
    if isinstance(device, SupportsIndex) and not isinstance(device, bool):
        with suppress(IndexError, TypeError):  # an array says that it were an index, too
            return usable[device]
    raise DeviceNotFoundError(
        f"device must be an index below {len(usable)}, a filter string, a part of a name or a device, got "
        f"{short_repr(device)}: {_names()}{missing}",
        code="device-unknown",
    )


def is_available() -> bool:
    """Return whether there is a device to run kernels on; never raises.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.is_available()
    True
    """
    try:
        return bool(_all())
    except Exception:
        return False


def missing_device_error(missing: str = "") -> DeviceNotFoundError:
    """Make the error that says what was looked for in vain, where, and what to do; it ends with what is missing."""
    platforms = installed.platforms()
    if not platforms:
        return installed.nothing_installed()
    messages = "\n".join(platform.missing_device_message() for platform in platforms)
    return DeviceNotFoundError(messages + missing, code="no-device")


def _asked(device: Any) -> list[Platform]:
    """The platforms in the order in which they are asked for a device: first the one whose name a text begins with."""
    there = installed.platforms()
    if isinstance(device, str):
        word = device.strip().lower().partition(":")[0]
        there.sort(key=lambda each: each.name != word)
    return there


def _described() -> list[str]:
    return [platform.describe_device(each) for platform in installed.platforms() for each in platform.devices()]


def _names() -> str:
    """Say which devices there are, for a message about one that is not there."""
    names = _described()
    return f"the only device is {names[0]}" if len(names) == 1 else f"the devices are {', '.join(names)}"


def _all() -> list[Any]:
    return [device for platform in installed.platforms() for device in platform.devices()]
