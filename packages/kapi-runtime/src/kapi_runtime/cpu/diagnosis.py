"""The CPU's part of the report of ``python -m kapi_runtime``."""

from __future__ import annotations

from kapi_runtime.cpu.devices.device import CpuDevice, cpu_device
from kapi_runtime.platform.installed import package_version
from kapi_runtime.platform.interface import Findings
from kapi_sim.environment_variables import NUMBA_NUM_THREADS
from kapi_sim.errors import KapiError

__all__ = ["findings", "versions"]


def findings() -> Findings:
    """Examine the processor and the environment; never raises for what it finds."""
    settings = tuple((each.name, each.value) for each in (NUMBA_NUM_THREADS,) if each.value is not None)
    device = cpu_device()
    try:
        summary = device.summary
    except KapiError as error:
        return Findings((), (), settings, "none that starts", (str(error),))
    return Findings((summary,), (), settings, "none needed for the CPU", (), "in this process")


def versions(device: CpuDevice) -> list[tuple[str, str]]:
    """Return names and versions of what a kernel goes through on its way to the CPU."""
    return [("driver", device.driver_version), ("kapi_cpu", package_version("kapi-cpu"))]
