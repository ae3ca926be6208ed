"""Findings of CUDA's platform for ``python -m kapi_runtime``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice, all_devices
from kapi_runtime.cuda.native import native_functions
from kapi_runtime.platform.handles import describe_device
from kapi_runtime.platform.installed import is_installed, package_version
from kapi_runtime.platform.interface import Findings
from kapi_sim import environment_variables
from kapi_sim.errors import KapiError

if TYPE_CHECKING:
    from kapi_runtime.platform.interface import Platform

__all__ = ["findings", "versions"]

_SETTINGS = (
    environment_variables.CUDA_VISIBLE_DEVICES,
    environment_variables.CUDA_DEVICE_ORDER,
    environment_variables.CUDA_HOME,
    environment_variables.CUDA_PATH,
    environment_variables.CUDA_CACHE_DISABLE,
)


def findings(platform: Platform) -> Findings:
    """Examine devices and environment, and try the default device; never raises for what it finds."""
    settings = tuple((each.name, each.value) for each in _SETTINGS if each.value is not None)
    try:
        found = all_devices()
        driver_version = "NVIDIA's driver for CUDA {}.{}".format(*driver.version())
    except KapiError as error:
        # Who has devices of SYCL's as well may have no GPU of NVIDIA's.
        problems = () if is_installed("sycl") else (str(error),)
        return Findings((), (), settings, str(error) if not problems else "none that starts", problems)
    wrong = []
    usable = [device for device in found if device.is_usable]
    if not usable:
        wrong.append(platform.missing_device_message())
    for device in usable[:1]:
        try:
            device.memory_info()
        except KapiError as error:
            wrong.append(str(error))
    wrong += _missing_library()
    left_out = tuple(
        f"{describe_device(device)}: compute capability {'.'.join(map(str, device.compute_capability))}, below 7.5"
        for device in found
        if not device.is_usable
    )
    launches = ""
    if usable:
        reason = native_functions.why_not()
        launches = f"plain, the slow way: {reason}" if reason else "native"
    return Findings(
        tuple(device.summary for device in usable), left_out, settings, driver_version, tuple(wrong), launches
    )


def versions(device: CudaDevice) -> list[tuple[str, str]]:
    """Return names and versions of what a kernel goes through on its way to a device."""
    major, minor = device.compute_capability
    return [
        ("cuda driver", device.driver_version),
        ("cuda-bindings", package_version("cuda-bindings")),
        ("compute", f"{major}.{minor}"),
        ("ptx", device.target.version),
        ("libdevice", package_version("nvidia-nvvm")),
    ]


def _missing_library() -> list[str]:
    from kapi_ptx.emission.libdevice.library import libdevice_path

    if libdevice_path() is not None:
        return []
    return [
        "NVIDIA's libdevice must be installed for kernels that call functions of mathematics, got none: "
        f"`{driver.INSTALL}` brings it, and a CUDA toolkit in CUDA_HOME has it as well"
    ]
