"""CUDA's devices: what they are, what they can do, and the context that all libraries of a process share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kapi_ptx import PtxTarget
from kapi_ptx.target import ARCHITECTURES
from kapi_runtime.cuda.devices import driver
from kapi_runtime.platform.handles import Device, DeviceSummary, describe_device
from kapi_sim.errors import DeviceNotFoundError, LimitError
from kapi_sim.forks import reinit_after_fork

__all__ = ["CudaDevice", "CudaDeviceSummary", "all_devices", "device_at"]

LOWEST_CAPABILITY = (7, 5)
"""The oldest devices that kernels are compiled for."""


@dataclass(frozen=True, slots=True)
class CudaDeviceSummary(DeviceSummary):
    """The properties of one CUDA device.

    - `compute_capability`: such as (9, 0).
    """

    compute_capability: tuple[int, int]

    def __str__(self) -> str:
        major, minor = self.compute_capability
        return self._text(f"CUDA, driver for CUDA {self.driver_version}, compute capability {major}.{minor}", "units")


class CudaDevice(Device):
    """A GPU of NVIDIA's, by its index in the driver's list; `device_at` gives the one object of each.

    - `ordinal`: its index, as ``cupy.cuda.Device`` and ``torch.device("cuda", ordinal)`` take it.
    """

    vendor = "NVIDIA"
    has_aspect_fp16 = has_aspect_fp64 = has_aspect_atomic64 = has_aspect_gpu = True
    has_aspect_cpu = False

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self._handle = driver.call("cuDeviceGet", ordinal)
        self._lock = reinit_after_fork(threading.Lock())
        self._context: Any = None

    @property
    def filter_string(self) -> str:
        """The name that `select_device` takes."""
        return f"cuda:{self.ordinal}"

    @cached_property
    def name(self) -> str:
        """The driver's name of it."""
        text = driver.call("cuDeviceGetName", 256, self._handle)
        return str(text.split(b"\0", 1)[0].decode(errors="replace")).strip()

    @cached_property
    def compute_capability(self) -> tuple[int, int]:
        """Its generation, such as (9, 0)."""
        return self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR")

    @property
    def is_usable(self) -> bool:
        """Whether kernels can be compiled for it."""
        return self.compute_capability >= LOWEST_CAPABILITY

    @cached_property
    def target(self) -> PtxTarget:
        """Compilation target: the newest architecture that it has and LLVM knows, and the lowest PTX version of it.

        Raises `LimitError` if it is older than all that LLVM's PTX is made for here.
        """
        major, minor = self.compute_capability
        if not self.is_usable:
            low = ".".join(map(str, LOWEST_CAPABILITY))
            raise LimitError(
                f"a device must have compute capability {low} or more for kernels, got {self.name} with "
                f"{major}.{minor}",
                code="device-too-old",
            )
        return PtxTarget(max(sm for sm in ARCHITECTURES if sm <= 10 * major + minor))

    @cached_property
    def max_work_group_size(self) -> int:
        """Largest work-group, in work-items."""
        return self.attribute("MAX_THREADS_PER_BLOCK")

    @cached_property
    def max_work_item_sizes3d(self) -> tuple[int, int, int]:
        """Largest work-group along each of three dimensions, in work-items, the fastest last."""
        z, y, x = (self.attribute(f"MAX_BLOCK_DIM_{axis}") for axis in "ZYX")
        return z, y, x

    @cached_property
    def max_group_counts(self) -> tuple[int, int, int]:
        """Most work-groups along each of three dimensions, the fastest last."""
        z, y, x = (self.attribute(f"MAX_GRID_DIM_{axis}") for axis in "ZYX")
        return z, y, x

    @cached_property
    def local_mem_size(self) -> int:
        """Local memory that a work-group may ask for, in bytes."""
        return self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    @cached_property
    def max_compute_units(self) -> int:
        """Streaming multiprocessors."""
        return self.attribute("MULTIPROCESSOR_COUNT")

    @cached_property
    def global_mem_size(self) -> int:
        """Its memory, in bytes."""
        return int(driver.call("cuDeviceTotalMem", self._handle))

    @cached_property
    def uuid(self) -> str:
        """The number that no other device has, as ``nvidia-smi -L`` shows it."""
        found = driver.call("cuDeviceGetUuid", self._handle)
        return bytes(found.bytes).hex()

    @property
    def driver_version(self) -> str:
        """The newest version of CUDA that the driver knows."""
        return "{}.{}".format(*driver.version())

    @property
    def sub_group_sizes(self) -> list[int]:
        """Sub-group sizes that kernels may have, in work-items: a warp's."""
        return [32]

    @property
    def has_managed_memory(self) -> bool:
        """Whether it has memory that moves between host and device."""
        return bool(self.attribute("MANAGED_MEMORY"))

    @property
    def reads_host_memory(self) -> bool:
        """Whether kernels may use any address of the host, through the host's page tables."""
        return bool(self.attribute("PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES"))

    @property
    def context(self) -> Any:
        """The device's primary context, which CUDA's runtime, CuPy, PyTorch and JAX use as well.

        It is retained once, and not given back: the process holds it as long as arrays may live there.
        """
        if self._context is None:
            with self._lock:
                if self._context is None:
                    self._context = driver.call("cuDevicePrimaryCtxRetain", self._handle)
        return self._context

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make its context the current one of this thread inside a ``with`` block."""
        before = driver.call("cuCtxGetCurrent")
        if int(before) == int(self.context):
            yield
            return
        driver.call("cuCtxSetCurrent", self.context)
        if not int(before) and self.ordinal == 0:  # a thread that has none keeps the one that libraries begin with
            yield
            return
        try:
            yield
        finally:
            driver.call("cuCtxSetCurrent", before)

    def memory_info(self) -> tuple[int, int]:
        """Return free and total memory, in bytes."""
        with self.entered():
            free, total = driver.call("cuMemGetInfo")
        return int(free), int(total)

    def attribute(self, name: str) -> int:
        """Return an attribute by the driver's name for it, without ``CU_DEVICE_ATTRIBUTE_``."""
        which = getattr(driver.bindings().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(driver.call("cuDeviceGetAttribute", which, self._handle))

    @property
    def max_mem_alloc_size(self) -> int:
        """The largest single allocation, in bytes: all of its memory."""
        return self.global_mem_size

    @property
    def attributes(self) -> dict[str, int]:
        """All that the driver reports of it, by the driver's names without ``CU_DEVICE_ATTRIBUTE_``, sorted.

        Attributes that this driver does not know are left out.
        """
        found = {}
        for which in driver.bindings().CUdevice_attribute:
            name = which.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
            code, value = driver.result("cuDeviceGetAttribute", which, self._handle)
            if not code and name != "MAX":
                found[name] = int(value)
        return dict(sorted(found.items()))

    def split(self, *compute_units: int, equally: int | None = None) -> list[Any]:
        """Raise DeviceNotFoundError: CUDA's driver makes no sub-devices."""
        raise DeviceNotFoundError(
            f"{describe_device(self)} has no sub-devices, as CUDA devices have none: instances "
            "of a GPU (MIG) are made by `nvidia-smi mig`, and are devices themselves",
            code="sub-devices",
        )

    @property
    def summary(self) -> CudaDeviceSummary:
        """The properties of the device; ``print(device.summary)`` shows them as text."""
        managed = ("usm_shared_allocations",) if self.has_managed_memory else ()
        return CudaDeviceSummary(
            filter_string=self.filter_string,
            name=self.name,
            vendor=self.vendor,
            platform="CUDA",
            driver_version=self.driver_version,
            backend="cuda",
            kind="gpu",
            compute_capability=self.compute_capability,
            compute_units=self.max_compute_units,
            max_work_group_size=self.max_work_group_size,
            max_work_item_sizes=self.max_work_item_sizes3d,
            local_mem_size=self.local_mem_size,
            global_mem_size=self.global_mem_size,
            max_mem_alloc_size=self.max_mem_alloc_size,
            sub_group_sizes=tuple(self.sub_group_sizes),
            aspects=("atomic64", "fp16", "fp64", "gpu", "usm_device_allocations", "usm_host_allocations", *managed),
            found_by="NVIDIA's driver",
            is_default=self.ordinal == 0,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CudaDevice) and self.ordinal == other.ordinal

    def __hash__(self) -> int:
        return hash(("cuda", self.ordinal))


_devices: dict[int, CudaDevice] = {}


def device_at(ordinal: int) -> CudaDevice:
    """Return the device at an index of the driver's list.

    Raises `DriverError` if there is none.
    """
    device = _devices.get(ordinal)
    if device is None:
        device = _devices.setdefault(ordinal, CudaDevice(ordinal))
    return device


def all_devices() -> list[CudaDevice]:
    """Return the devices that the driver lists, also those that are too old.

    Raises `DeviceNotFoundError` if there is no driver, or no `cuda.bindings`.
    """
    return [device_at(ordinal) for ordinal in range(int(driver.call("cuDeviceGetCount")))]
