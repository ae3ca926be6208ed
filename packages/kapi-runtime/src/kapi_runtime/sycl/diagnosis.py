"""Findings of SYCL for ``python -m kapi_runtime`` and `runtime.get_version`: devices, drivers, problems."""

from __future__ import annotations

import os
from typing import Any

import dpctl
import dpctl.memory

from kapi_runtime.platform.installed import package_version
from kapi_runtime.platform.interface import Findings
from kapi_runtime.sycl.devices import drivers
from kapi_runtime.sycl.devices.device_summary import describe_device, summarize
from kapi_runtime.sycl.devices.discovery import missing_device_message
from kapi_runtime.sycl.devices.opencl import OpenclError, opencl_device
from kapi_runtime.sycl.devices.usable import is_usable, usable_devices
from kapi_runtime.sycl.memory.usm_array import has_dpnp
from kapi_runtime.sycl.native import native_functions
from kapi_runtime.sycl.queues.launch_chain import ordering_problem
from kapi_runtime.sycl.queues.queue import default_queue
from kapi_sim import environment_variables
from kapi_types.usm.structures import learn

__all__ = ["findings", "versions"]

_SETTINGS = (
    environment_variables.FIND_DRIVER,
    environment_variables.OCL_ICD_FILENAMES,
    environment_variables.OCL_ICD_VENDORS,
    environment_variables.ONEAPI_DEVICE_SELECTOR,
)
_IL_VERSION = 0x105B  # OpenCL's CL_DEVICE_IL_VERSION


def findings() -> Findings:
    """Examine devices and environment, and try the default device; never raises for what it finds."""
    found = drivers.driver_search()
    devices = [summarize(device) for device in usable_devices()]
    left_out = [device for device in dpctl.get_devices() if not is_usable(device)]
    problems = [missing_device_message()] if not devices else [*_default_problems(), *_trial()]
    return Findings(
        devices=tuple(devices),
        left_out=tuple(
            f"{describe_device(device)}, {device.sycl_platform.name}, driver {device.driver_version}: "
            "no unified shared memory, so no array can live there"
            for device in left_out
        ),
        settings=tuple((each.name, each.value) for each in _SETTINGS if each.value is not None),
        driver=found.summary,
        problems=tuple(problems),
        launches=_launches() if devices and not problems else "",
    )


def versions(device: Any) -> list[tuple[str, str]]:
    """Return what kernels go through on their way to a device, by the names of `kapi_runtime.runtime.Versions`."""
    return [
        ("dpctl", package_version("dpctl")),
        ("dpnp", package_version("dpnp")),
        ("sycl", f"{package_version('intel-sycl-rt')} ({_library('libsycl.so')})"),
        ("unified_runtime", f"{package_version('intel-cmplr-lib-ur')} ({_library('libur_')})"),
        ("driver", device.driver_version),
        ("opencl", device.sycl_platform.version.strip()),
        ("spirv", _spirv(device) or "unknown"),
    ]


def _default_problems() -> list[str]:
    """SYCL's own default device, which dpnp takes, may be one that ends the process."""
    try:
        chosen = dpctl.select_default_device()
    except dpctl.SyclDeviceCreationError:
        return []
    if is_usable(chosen):
        return []
    usable = summarize(usable_devices()[0]).filter_string
    return [
        f"SYCL's default device must have unified shared memory, got {describe_device(chosen)}: kapi_runtime "
        "takes "
        f"{usable} instead, but dpnp takes the default and ends the process.\n"
        f"Make arrays with device={usable!r}, or set {drivers.SELECTOR}='*:{usable.rpartition(':')[2]}'"
    ]


def _trial() -> list[str]:
    """Allocate on the default device, write there, and read back."""
    try:
        queue = default_queue()
        memory = dpctl.memory.MemoryUSMDevice(64, queue=queue)
        memory.copy_from_host(bytearray(range(64)))
        queue.wait()
        if bytes(memory.copy_to_host()) != bytes(range(64)):
            return ["memory of the default device must hold what was written to it, got other values back"]
    except Exception as error:
        return [f"the default device must allocate and copy memory, got {type(error).__name__}: {error}", *_bad_path()]
    return []


def _launches() -> str:
    """The path of repeated launches: the checks of the native one, in the order in which a launch makes them."""
    reasons = [native_functions.why_not() or ordering_problem(default_queue()), *_array_problems()]
    text = "; ".join(filter(None, reasons))
    return f"plain, the slow way: {text}" if text else "native"


def _array_problems() -> list[str]:
    if not has_dpnp():
        return []
    try:
        import dpnp

        is_known = learn(dpnp.empty(1, sycl_queue=default_queue()))
    except Exception as error:  # whatever it is, launches of other arrays need no dpnp
        return [f"dpnp must make arrays, got {type(error).__name__}: {error}"]
    if is_known:
        return []
    return [f"dpnp's arrays must be laid out in memory as its headers say, got {dpnp.__version__} with others"]


def _bad_path() -> list[str]:
    """Intel's driver reads its own path up to the first space; it then lists a device that cannot be used."""
    library = drivers.driver_search().library
    if library is None or " " not in library:
        return []
    return [
        f"the driver's path must have no spaces, got {library!r}: make the environment in a folder whose path has none"
    ]


def _library(name: str) -> str:
    """File name of a loaded library, with links followed: it holds the version."""
    paths = drivers.loaded_libraries(name)
    return os.path.basename(os.path.realpath(paths[0])) if paths else "unknown"


def _spirv(device: Any) -> str:
    """The versions of SPIR-V that a device's driver takes, such as "1.0, 1.1"; "" if it does not report any."""
    try:
        words = opencl_device(device).text(_IL_VERSION).split()
    except OpenclError:
        return ""
    found = (word.removeprefix("SPIR-V_") for word in words if word.startswith("SPIR-V_"))
    return ", ".join(sorted(found, key=lambda version: tuple(map(int, version.split(".")))))
