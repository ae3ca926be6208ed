"""What is there, in which version, and what is wrong with it: the text of ``python -m kapi_runtime``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

import dpctl
import dpctl.memory

from kapi_runtime.sycl import drivers
from kapi_runtime.sycl.device_summary import describe_device
from kapi_runtime.sycl.discovery import list_devices, missing_device_message
from kapi_runtime.sycl.queues import default_queue
from kapi_runtime.sycl.usable import is_usable

__all__ = ["Diagnosis", "detect", "diagnose", "doctor"]

_PACKAGES = (
    "kapi-runtime",
    "kapi-numba-offload",
    "kapi-spirv",
    "kapi-types",
    "kapi-sim",
    "dpctl",
    "dpnp",
    "intel-sycl-rt",
    "intel-opencl-rt",
    "numba",
    "llvmlite",
    "numpy",
)
_SETTINGS = (drivers.SWITCH, drivers.FILENAMES, drivers.VENDORS, drivers.SELECTOR)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    devices : tuple of DeviceSummary
        Devices that kernels can run on, best first.
    left_out : tuple of str
        Devices that they cannot run on, with the reason.
    versions : tuple of (str, str)
        Packages and their versions, "not installed" among them.
    settings : tuple of (str, str)
        Environment variables that govern what is found.
    driver : str
        What the search for an OpenCL CPU driver came to.
    problems : tuple of str
        What is wrong, with the way out; empty if nothing is.
    """

    devices: tuple[Any, ...]
    left_out: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    driver: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        parts = [
            _section("devices", "\n".join(map(str, self.devices)) or "none"),
            _section("left out", "\n".join(self.left_out)),
            _section("versions", _columns(self.versions)),
            _section("environment", _columns((("driver search", self.driver), *self.settings))),
            _section("problems", "\n".join(self.problems) or "none"),
        ]
        return "\n\n".join(part for part in parts if part)


def diagnose() -> Diagnosis:
    """Look at devices, packages and environment, and try the default device; never raises for what it finds.

    Returns
    -------
    Diagnosis
    """
    found = drivers.driver_search()
    devices = list_devices()
    left_out = [device for device in dpctl.get_devices() if not is_usable(device)]
    problems = [missing_device_message()] if not devices else [*_default_problems(), *_trial()]
    return Diagnosis(
        devices=tuple(devices),
        left_out=tuple(
            f"{describe_device(device)}, {device.sycl_platform.name}, driver {device.driver_version}: "
            "no unified shared memory, so no array can live there"
            for device in left_out
        ),
        versions=(("Python", platform.python_version()), *((name, _version(name)) for name in _PACKAGES)),
        settings=tuple((name, os.environ[name]) for name in _SETTINGS if name in os.environ),
        driver=found.summary,
        problems=tuple(problems),
    )


def doctor() -> bool:
    """Print devices, versions and settings, and what is wrong with them, with the way out; never raises for it.

    Returns
    -------
    bool
        Whether nothing is wrong.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> well = kapi.doctor()  # doctest: +ELLIPSIS
    devices
    ...
    problems
      none
    """
    diagnosis = diagnose()
    print(diagnosis)
    return not diagnosis.problems


def detect() -> bool:
    """Print a table of the devices that kernels can run on, or why there is none.

    Returns
    -------
    bool
        Whether there is one.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.detect()  # doctest: +ELLIPSIS
    device ... driver
    opencl:cpu:0 ... default
    True
    """
    found = list_devices()
    if not found:
        print(missing_device_message())
        return False
    rows = [("device", "name", "kind", "units", "memory", "driver", "")]
    for each in found:
        memory = f"{each.global_mem_size / 2**30:.1f} GiB"
        default = "default" if each.is_default else ""
        units = str(each.compute_units)
        rows.append((each.filter_string, each.name, each.kind, units, memory, each.driver_version, default))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    return True


def _default_problems() -> list[str]:
    """SYCL's own default device, which dpnp takes, may be one that ends the process."""
    try:
        chosen = dpctl.select_default_device()
    except dpctl.SyclDeviceCreationError:
        return []
    if is_usable(chosen):
        return []
    usable = list_devices()[0].filter_string
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


def _bad_path() -> list[str]:
    """Intel's driver reads its own path up to the first space; it then lists a device that cannot be used."""
    library = drivers.driver_search().library
    if library is None or " " not in library:
        return []
    return [
        f"the driver's path must have no spaces, got {library!r}: make the environment in a folder whose path has none"
    ]


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        module = sys.modules.get(distribution.replace("-", "_"))
        return str(getattr(module, "__version__", "not installed"))


def _section(title: str, text: str) -> str:
    return title + "\n" + "\n".join(f"  {line}" for line in text.splitlines()) if text else ""


def _columns(rows: tuple[tuple[str, str], ...]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
