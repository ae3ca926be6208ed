"""The text of ``python -m kapi_runtime``: what is installed, in which version, and what is wrong with it."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from kapi_runtime.host.devices import devices, missing_device_error
from kapi_runtime.platform import installed
from kapi_runtime.platform.entry_points import distribution_of
from kapi_runtime.platform.installed import package_version

__all__ = ["Diagnosis", "detect", "diagnose", "doctor"]

_PACKAGES = ("kapi-runtime", "kapi-numba-offload", "kapi-lowering", "kapi-types", "kapi-sim")
_LIBRARIES = ("numba", "llvmlite", "numpy")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings of `diagnose`.

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
        What is wrong, with the remedy; empty if nothing is.
    launches : tuple of (str, str)
        For each platform with a device, which path repeated launches take: by native code, or the slow path and why.
    """

    devices: tuple[Any, ...]
    left_out: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    driver: str
    problems: tuple[str, ...]
    launches: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        parts = [
            _section("devices", "\n".join(map(str, self.devices)) or "none"),
            _section("left out", "\n".join(self.left_out)),
            _section("versions", _columns(self.versions)),
            _section("environment", _columns((("driver search", self.driver), *self.settings))),
            _section("launches", _columns(self.launches)),
            _section("problems", "\n".join(self.problems) or "none"),
        ]
        return "\n\n".join(part for part in parts if part)


def diagnose() -> Diagnosis:
    """Examine devices, packages and environment, and try the default device; never raises for what it finds."""
    there = installed.platforms()
    found = [each.findings() for each in there]
    ours = [
        *_PACKAGES,
        *(name for each in there for name in (distribution_of(each.target), *each.packages)),
        *_LIBRARIES,
    ]
    return Diagnosis(
        devices=tuple(device for each in found for device in each.devices),
        left_out=tuple(reason for each in found for reason in each.left_out),
        versions=(("Python", platform.python_version()), *((name, package_version(name)) for name in ours)),
        settings=tuple(setting for each in found for setting in each.settings),
        driver="; ".join(each.driver for each in found) or "none, since no platform is installed",
        problems=tuple(problem for each in found for problem in each.problems)
        if there
        else (str(installed.nothing_installed()),),
        launches=tuple((each.name, its.launches) for each, its in zip(there, found, strict=True) if its.launches),
    )


def doctor() -> bool:
    """Print devices, versions, settings, and each problem with its cure; never raises.

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
    >>> import kapi_runtime.compat as cuda
    >>> cuda.detect()  # doctest: +ELLIPSIS
    device ... driver
    opencl:cpu:0 ... default
    cpu:0 ...
    True
    """
    found = [device.summary for device in devices]
    if not found:
        print(missing_device_error())
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


def _section(title: str, text: str) -> str:
    return title + "\n" + "\n".join(f"  {line}" for line in text.splitlines()) if text else ""


def _columns(rows: tuple[tuple[str, str], ...]) -> str:
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
