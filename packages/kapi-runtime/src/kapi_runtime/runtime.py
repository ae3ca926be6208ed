"""What runs here, in which version: `get_version`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass, fields
from typing import Any

from kapi_runtime.sycl import drivers
from kapi_runtime.sycl.discovery import find_device
from kapi_runtime.sycl.opencl import OpenclError, opencl_device

__all__ = ["Versions", "get_version"]

_IL_VERSION = 0x105B  # OpenCL's CL_DEVICE_IL_VERSION


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of all that a kernel goes through; "unknown" or "not installed" where there is none to tell.

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
    dpctl: str
    dpnp: str
    sycl: str
    unified_runtime: str
    driver: str
    opencl: str
    spirv: str
    numba: str
    llvmlite: str
    llvm: str

    def __str__(self) -> str:
        return "\n".join(f"{field.name:<16} {getattr(self, field.name)}" for field in fields(self))


def get_version(device: Any = None) -> Versions:
    """Return the versions of all that a kernel goes through on its way to a device.

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
    >>> versions.driver == kapi.get_current_device().driver_version
    True
    """
    chosen = find_device(device)
    return Versions(
        kapi_runtime=_package("kapi-runtime"),
        python=platform.python_version(),
        dpctl=_package("dpctl"),
        dpnp=_package("dpnp"),
        sycl=f"{_package('intel-sycl-rt')} ({_library('libsycl.so')})",
        unified_runtime=f"{_package('intel-cmplr-lib-ur')} ({_library('libur_')})",
        driver=chosen.driver_version,
        opencl=chosen.sycl_platform.version.strip(),
        spirv=_spirv(chosen) or "unknown",
        numba=_package("numba"),
        llvmlite=_package("llvmlite"),
        llvm=_llvm(),
    )


def _package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        module = sys.modules.get(name.replace("-", "_"))  # imported from a source tree
        return str(getattr(module, "__version__", "not installed"))


def _library(name: str) -> str:
    """File name of a loaded library, with links followed: it holds the version."""
    paths = drivers.loaded_libraries(name)
    return os.path.basename(os.path.realpath(paths[0])) if paths else "unknown"


def _spirv(device: Any) -> str:
    """The versions of SPIR-V that a device's driver takes, such as "1.0, 1.1"; "" if it does not tell."""
    try:
        words = opencl_device(device).text(_IL_VERSION).split()
    except OpenclError:
        return ""
    found = (word.removeprefix("SPIR-V_") for word in words if word.startswith("SPIR-V_"))
    return ", ".join(sorted(found, key=lambda version: tuple(map(int, version.split(".")))))


def _llvm() -> str:
    import llvmlite.binding  # without Numba a matter of milliseconds, but not of every import of this module

    return ".".join(map(str, llvmlite.binding.llvm_version_info))
