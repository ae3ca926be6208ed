"""A CPU module as a kernel that this process can run: linked once, and kept."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kapi_cpu import CpuModule
from kapi_cpu.target import unmet_needs
from kapi_runtime.cpu.devices.device import LOCAL_MEMORY, MAX_WORK_GROUP_SIZE, cpu_device
from kapi_runtime.platform.device_caches import BuiltKernels
from kapi_runtime.platform.handles import describe_device
from kapi_runtime.platform.log import linking
from kapi_sim.errors import DriverError, KapiError
from kapi_sim.forks import block_forks, reinit_after_fork

if TYPE_CHECKING:
    from kapi_cpu.loading import LoadedKernel

__all__ = ["CpuKernel", "built_kernel"]

_lock = reinit_after_fork(threading.RLock())  # of the one linker


@dataclass(frozen=True, slots=True, eq=False)
class CpuKernel:
    """A kernel in this process, and the limits that its launches keep.

    - `loaded`: its code in memory.
    - `shapes`: the shapes of its launches, by their extents.
    """

    module: CpuModule
    loaded: LoadedKernel
    shapes: dict[tuple[int, ...], object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""
        return self.module.name

    @property
    def native(self) -> LoadedKernel:
        """Its code in memory."""
        return self.loaded

    @property
    def prints(self) -> bool:
        """Whether it writes to C's standard output."""
        return b"printf" in self.module.code

    @property
    def max_work_group_size(self) -> int:
        """Largest work-group, in work-items."""
        return MAX_WORK_GROUP_SIZE

    @property
    def max_work_item_sizes(self) -> tuple[int, ...]:
        """Largest work-group along each of three dimensions, in work-items, the fastest last."""
        return (MAX_WORK_GROUP_SIZE,) * 3

    @property
    def max_work_items(self) -> int:
        """Most work-items of one launch: ids have 64 bits."""
        return 2**63 - 1

    @property
    def local_mem_size(self) -> int:
        """Local memory that a work-group may ask for in a launch, in bytes."""
        return LOCAL_MEMORY


_kernels: BuiltKernels[CpuKernel] = BuiltKernels()


def built_kernel(module: CpuModule) -> CpuKernel:
    """Return a module's kernel, linked at the first call.

    Raises `DriverError` if it was compiled for another processor, or its code cannot be linked.
    """
    return _kernels.built((cpu_device(), id(module)), partial(_link, module))


def _link(module: CpuModule) -> CpuKernel:
    from kapi_cpu.loading import load  # which brings LLVM

    _require_processor(module)
    device = cpu_device()
    with linking(module.name, device, describe_device), block_forks(), _lock:
        try:
            return CpuKernel(module, load(module))
        except KapiError:
            raise
        except Exception as error:
            raise DriverError(
                f"code of kernel `{module.name}` must be linked for {describe_device(device)}, got {error}",
                code="build-refused",
            ) from error


def _require_processor(module: CpuModule) -> None:
    """Raise unless this processor has all that a module was compiled for."""
    if got := unmet_needs(module.target, cpu_device().target):
        raise DriverError(
            f"kernel `{module.name}` must be compiled for a processor like {describe_device(cpu_device())}, got {got}: "
            "compile it here",
            code="build-refused",
        )
