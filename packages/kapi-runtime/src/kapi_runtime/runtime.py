"""Versions of all parts that run here: `get_version`."""

from __future__ import annotations

import platform
from dataclasses import dataclass, fields
from typing import Any

from kapi_runtime.host.devices import find_device, platform_of_device
from kapi_runtime.platform.installed import package_version

__all__ = ["Versions", "get_version"]


_NONE = "not installed"


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of the packages and drivers between a kernel and its device, or "unknown", or "not installed".

    Attributes
    ----------
    kapi_runtime : str
        This package.
    python : str
        The interpreter.
    dpctl, dpnp : str
        The packages.
    sycl : str
        The SYCL runtime: its package, and the shared library that is loaded.
    unified_runtime : str
        What stands between the SYCL runtime and drivers: its package, and a shared library that is loaded.
    driver : str
        The driver of the device, as it says it.
    opencl : str
        The OpenCL version of the device's platform.
    spirv : str
        SPIR-V versions that the device's driver takes.
    numba, llvmlite : str
        The packages.
    llvm : str
        The LLVM inside of llvmlite, which emits SPIR-V.
    """

    kapi_runtime: str
    python: str
    numba: str
    llvmlite: str
    llvm: str
    driver: str
    dpctl: str = _NONE
    dpnp: str = _NONE
    sycl: str = _NONE
    unified_runtime: str = _NONE
    opencl: str = _NONE
    spirv: str = _NONE

    def __str__(self) -> str:
        return "\n".join(f"{field.name:<16} {getattr(self, field.name)}" for field in fields(self))


def get_version(device: Any = None) -> Versions:
    """Return the versions of the packages and drivers between a kernel and its device.

    Parameters
    ----------
    device : int or str or dpctl.SyclDevice, optional
        A device, as `select_device` takes it; by default the current one.

    Returns
    -------
    Versions

    Raises
    ------
    DeviceNotFoundError
        If there is no such device.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> versions = kapi.runtime.get_version()
    >>> versions.driver == kapi.devices.current.driver_version
    True
    """
    chosen = find_device(device)
    return Versions(
        kapi_runtime=package_version("kapi-runtime"),
        python=platform.python_version(),
        numba=package_version("numba"),
        llvmlite=package_version("llvmlite"),
        llvm=_llvm(),
        **dict(platform_of_device(chosen).versions(chosen)),
    )


def _llvm() -> str:
    import llvmlite.binding  # without Numba a matter of milliseconds, but not of every import of this module

    return ".".join(map(str, llvmlite.binding.llvm_version_info))
