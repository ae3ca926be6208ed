"""A SPIR-V module as a kernel that a device can run, through dpctl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpctl.program import SyclProgramCompilationError, create_program_from_spirv

from kapi_runtime.platform.device_caches import BuiltKernels
from kapi_runtime.platform.log import building
from kapi_runtime.sycl.devices.device_summary import describe_device
from kapi_runtime.sycl.programs.build_log import build_log
from kapi_runtime.sycl.programs.work_group_size import MAX_WORK_ITEMS
from kapi_sim.errors import DriverError, LimitError
from kapi_sim.short_repr import short_repr
from kapi_spirv import SpirvModule

__all__ = ["DeviceKernel", "SyclKernel", "device_kernel"]

# What a module may need that not every device has: SPIR-V capability, dpctl's aspect, and its name for
# people.
_ABILITIES = (
    ("Float64", "has_aspect_fp64", "float64"),
    ("Float16", "has_aspect_fp16", "float16"),
    ("Int64Atomics", "has_aspect_atomic64", "64-bit atomics"),
)


@dataclass(frozen=True, slots=True, eq=False)
class SyclKernel:
    """A kernel, built for one device and context; attributes as in `BuiltKernel`.

    - `native`: what is submitted.
    """

    name: str
    native: Any
    max_work_group_size: int
    max_work_item_sizes: tuple[int, ...]
    local_mem_size: int

    @property
    def max_work_items(self) -> int:
        """Most work-items of one launch."""
        return MAX_WORK_ITEMS


@dataclass(frozen=True, slots=True, eq=False)
class DeviceKernel(SyclKernel):
    """A kernel that kapi compiled.

    - `compute_units`: parallel compute units of the device.
    - `has_loops`: whether work-items may differ in how long they take.
    """

    module: SpirvModule
    compute_units: int
    has_loops: bool


_kernels: BuiltKernels[DeviceKernel] = BuiltKernels()


def device_kernel(module: SpirvModule, queue: Any) -> DeviceKernel:
    """Return the module's kernel for the queue's device, built by the driver at the first call.

    - `queue`: its context and device are built for; another queue of theirs shares the kernel.

    Raises `DriverError` if the driver refuses the module; the message holds its build log. Raises `LimitError` if the
    module needs what the device does not have.
    """
    device = queue.sycl_device

    def build() -> DeviceKernel:
        with building(module.name, device, describe_device):
            return _build(module, queue, device)

    return _kernels.built((device, queue.sycl_context, id(module)), build)


def _build(module: SpirvModule, queue: Any, device: Any) -> DeviceKernel:
    for capability, aspect, ability in _ABILITIES:
        if capability in module.capabilities and not getattr(device, aspect):
            raise LimitError(
                f"kernel `{module.name}` uses {ability}, which {describe_device(device)} does not have: "
                "convert its arrays and numbers, or choose another device",
                code="device-lacks",
            )
    try:
        program = create_program_from_spirv(queue, module.code)
    except SyclProgramCompilationError as error:
        raise DriverError(
            f"kernel `{module.name}` must be accepted by the driver of {describe_device(device)}, got its "
            "refusal:\n"
            f"{build_log(module.code, device)}",
            code="build-refused",
        ) from error
    if not program.has_sycl_kernel(module.entry_point):
        # Asking for a missing kernel gives a null reference, which ends the process when it is submitted.
        raise DriverError(
            f"kernel `{module.name}` must have the entry point {short_repr(module.entry_point)} in its SPIR-V module, "
            "got a "
            "module without it: this is a fault of the compiler, please report it",
            code="entry-absent",
        )
    sycl_kernel = program.get_sycl_kernel(module.entry_point)
    return DeviceKernel(
        name=module.name,
        native=sycl_kernel,
        max_work_group_size=min(device.max_work_group_size, sycl_kernel.work_group_size),
        max_work_item_sizes=tuple(device.max_work_item_sizes3d),
        local_mem_size=device.local_mem_size,
        module=module,
        compute_units=device.max_compute_units,
        has_loops=module.has_loops,
    )
