"""The one device of the platform: the processor that this process runs on."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import kapi_cpu
from kapi_cpu import CpuTarget, host_target
from kapi_cpu.target import LANE_COUNTS
from kapi_runtime.cpu.devices.thread_count import thread_count
from kapi_runtime.platform.handles import Device, DeviceSummary, describe_device
from kapi_runtime.platform.installed import platforms
from kapi_sim.errors import DeviceNotFoundError, LimitError

__all__ = ["CpuDevice", "CpuDeviceSummary", "cpu_device"]

MAX_WORK_GROUP_SIZE = 8192
"""Work-items; what they keep at barriers is memory of each thread."""

LOCAL_MEMORY = 256 * 1024
"""Bytes of local memory that a work-group may ask for: what a core's second-level cache holds."""


@dataclass(frozen=True, slots=True)
class CpuDeviceSummary(DeviceSummary):
    """The properties of the CPU."""

    def __str__(self) -> str:
        return self._text(f"kapi's own code, by kapi-cpu {self.driver_version}", "threads")


class CpuDevice(Device):
    """The CPU; `cpu_device` gives the one object."""

    # Asked of no compiler, which would bring LLVM.
    has_aspect_cpu = has_aspect_fp16 = has_aspect_fp64 = has_aspect_atomic64 = True
    has_aspect_gpu = False
    driver_version = kapi_cpu.__version__
    filter_string = "cpu:0"
    max_work_group_size = MAX_WORK_GROUP_SIZE
    max_work_item_sizes3d = (MAX_WORK_GROUP_SIZE,) * 3
    local_mem_size = LOCAL_MEMORY

    def __init__(self) -> None:
        """Make the device: `cpu_device` does."""

    @cached_property
    def target(self) -> CpuTarget:
        """The processor that kernels are compiled for."""
        return host_target()

    @cached_property
    def name(self) -> str:
        """The maker's name of the processor."""
        return _processor_name() or platform.machine()

    @cached_property
    def vendor(self) -> str:
        """The maker of the processor, as it says."""
        return _processor_field("vendor_id") or platform.machine()

    @property
    def max_compute_units(self) -> int:
        """Threads that a launch is split over."""
        return thread_count()

    @cached_property
    def global_mem_size(self) -> int:
        """The host's memory, in bytes."""
        return _memory()[1]

    @property
    def max_mem_alloc_size(self) -> int:
        """The largest single allocation, in bytes: all of the memory."""
        return self.global_mem_size

    @property
    def sub_group_sizes(self) -> list[int]:
        """Sub-group sizes that kernels may demand, in work-items."""
        return list(LANE_COUNTS)

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Raise LimitError: it is a number of NVIDIA's GPUs."""
        raise LimitError(
            f"a device must be a GPU of NVIDIA's to have a compute capability, got {describe_device(self)}",
            code="device-lacks",
        )

    @property
    def attributes(self) -> dict[str, Any]:
        """LLVM's name of the processor, and the features that it has, sorted by name."""
        has = [each[1:] for each in self.target.features.split(",") if each.startswith("+")]
        return {"cpu": self.target.cpu, "features": tuple(sorted(has)), "vector_bits": self.target.vector_bits}

    def split(self, *compute_units: int, equally: int | None = None) -> list[Any]:
        """Raise DeviceNotFoundError: its threads are shared by all launches."""
        raise DeviceNotFoundError(
            f"{describe_device(self)} has no sub-devices, since all launches share its threads: the environment "
            "variable NUMBA_NUM_THREADS sets their number",
            code="sub-devices",
        )

    def memory_info(self) -> tuple[int | None, int]:
        """Return the host's free and total memory, in bytes; None where the system does not say what is free."""
        return _memory()

    @property
    def summary(self) -> CpuDeviceSummary:
        """The properties of the device; ``print(device.summary)`` shows them as text."""
        defaults = (each.default_device() for each in platforms())
        return CpuDeviceSummary(
            filter_string=self.filter_string,
            name=self.name,
            vendor=self.vendor,
            platform="kapi",
            driver_version=self.driver_version,
            backend="cpu",
            kind="cpu",
            compute_units=self.max_compute_units,
            max_work_group_size=self.max_work_group_size,
            max_work_item_sizes=self.max_work_item_sizes3d,
            local_mem_size=self.local_mem_size,
            global_mem_size=self.global_mem_size,
            max_mem_alloc_size=self.max_mem_alloc_size,
            sub_group_sizes=tuple(self.sub_group_sizes),
            aspects=(
                *("atomic64", "cpu", "fp16", "fp64", "usm_device_allocations", "usm_host_allocations"),
                *("usm_shared_allocations", "usm_system_allocations"),
            ),
            found_by="kapi-cpu",
            is_default=next((each for each in defaults if each is not None), self) is self,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return cpu_device, ()


@cache
def cpu_device() -> CpuDevice:
    """Return the CPU, always the same object."""
    return CpuDevice()


def _processor_field(name: str) -> str:
    """A line of Linux's description of the first processor; empty elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(rf"^{name}\s*: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _processor_name() -> str:
    return _processor_field("model name") or platform.processor()


def _memory() -> tuple[int | None, int]:
    """Free and total memory of the host, in bytes."""
    try:
        page, total = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None, 2**63 - 1  # nothing tells it
    try:
        text = Path("/proc/meminfo").read_text("utf-8", "replace")
        found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    except OSError:
        found = None
    return (int(found[1]) * 1024 if found else None), page * total
