"""Devices and contexts by numba.cuda's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kapi_runtime.diagnosis.report import detect
from kapi_runtime.host import contexts
from kapi_runtime.host import devices as host_devices
from kapi_runtime.host.contexts import Context, close
from kapi_runtime.host.devices import current_device, devices, is_available, missing_device_error
from kapi_runtime.platform.installed import platform_of_device

__all__ = [
    "Runtime",
    "close",
    "cuda_error",
    "current_context",
    "defer_cleanup",
    "detect",
    "get_current_device",
    "gpus",
    "is_available",
    "is_float16_supported",
    "is_supported_version",
    "list_devices",
    "require_context",
    "runtime",
    "select_device",
    "synchronize",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

gpus = devices
"""The devices that kernels can run on; CPUs are among them."""


def list_devices() -> Any:
    """Return the devices that kernels can run on, best first.

    Returns
    -------
    DeviceList

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> [device.id for device in cuda.list_devices()][:1]
    [0]
    """
    return gpus


def select_device(device_id: Any) -> Any:
    """Make a device the current device of this thread, as `kapi_runtime.select_device` does.

    Parameters
    ----------
    device_id : int or str or Device
        What that takes; its result and errors are those of that, too.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.select_device(device_id=0) == cuda.gpus.current()
    True
    """
    return host_devices.select_device(device_id)


def get_current_device() -> Any:
    """Return the current device, as ``gpus.current`` does.

    Raises
    ------
    DeviceNotFoundError
        If there is none.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> cuda.get_current_device() == cuda.gpus.current
    True
    """
    return current_device()


def current_context(devnum: Any = None) -> Context:
    """Return the context of the current device, or of the device `devnum`, as `kapi_runtime.current_context` does."""
    return contexts.current_context(devnum)


def require_context(fn: _Function) -> _Function:
    """Decorate a function: the device that is current at its call stays current until it returns.

    A call where there is no device raises DeviceNotFoundError before the function is entered.

    Parameters
    ----------
    fn : callable
        Any function.
    """
    return contexts.require_context(fn)


def synchronize() -> None:
    """Wait for all launches of kapi on the current device, and for its default queue.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    contexts.current_context().synchronize()


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Let go of no memory in a ``with`` block, where that would wait for the device.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> with cuda.defer_cleanup():
    ...     del cuda
    """
    with contexts.current_context().defer_cleanup():
        yield


def is_float16_supported() -> bool:
    """Return whether kernels may compute in float16 on the current device.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    """
    return bool(current_device().supports_float16)


def cuda_error() -> str | None:
    """Return why there is no device, or None if there is one."""
    return None if is_available() else str(missing_device_error())


class Runtime:
    """The library between kapi and the drivers of the current device: CUDA's driver, or the SYCL runtime."""

    def get_version(self) -> tuple[int, int]:
        """Return its version, major and minor; `kapi_runtime.runtime.get_version` tells more.

        Raises
        ------
        LimitError
            If nothing reports it.
        DeviceNotFoundError
            If there is no device.

        Examples
        --------
        >>> import kapi_runtime.compat as cuda
        >>> major, minor = cuda.runtime.get_version()
        >>> major > 0
        True
        """
        device = current_device()
        return platform_of_device(device).numba_cuda.runtime_version(device)

    @property
    def supported_versions(self) -> tuple[tuple[int, int], ...]:
        """The versions that kapi runs on of those that are here: that whose devices passed the platform's checks."""
        return (self.get_version(),) if is_available() else ()

    def is_supported_version(self) -> bool:
        """Return whether there are devices that passed the platform's checks."""
        return is_available()


runtime = Runtime()
"""Tells the version of the library between kapi and the drivers."""


def is_supported_version() -> bool:
    """Return whether kapi runs on the version that is here, as ``runtime.is_supported_version`` does."""
    return runtime.is_supported_version()
