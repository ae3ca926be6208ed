"""Record of a launch: kernel, device, range, and the arrays that were allocated for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import kapi_runtime
from kapi_runtime import NdRange
from kapi_runtime.sycl.programs.work_group_size import rounded_range

__all__ = ["KernelLaunch"]


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One launch, kept for diagnostics.

    Attributes
    ----------
    kernel : kapi_runtime.Kernel
        What ran.
    index_space : Range or NdRange
        Its work-items.
    queue : dpctl.SyclQueue
        Where.
    made : sequence of (tuple, numpy.dtype, str)
        Shape, dtype and USM kind of each array that was allocated for it.
    moved : int
        Bytes copied to the host for it: what work-items left of reductions.
    """

    kernel: kapi_runtime.Kernel
    index_space: Any
    queue: Any
    made: Sequence[tuple[tuple[int, ...], Any, str]]
    moved: int = 0

    @property
    def kernel_name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)

    @property
    def device_name(self) -> str:
        """The device's name."""
        return str(self.queue.sycl_device.name)

    @property
    def space(self) -> str:
        """The range, as text."""
        full = self.index_space.global_range if isinstance(self.index_space, NdRange) else self.index_space
        return " x ".join(map(str, full)) + " work-items"

    @property
    def work_group(self) -> str:
        """The size of a work-group, as text."""
        if isinstance(self.index_space, NdRange):
            return "1 work-item, which takes one iteration after another"
        device = self.queue.sycl_device
        modules = self.kernel.modules.values()
        has_loops = any(each.has_loops for each in modules)  # type: ignore[attr-defined]  # that of SPIR-V has it
        _, local = rounded_range(self.index_space, device.max_compute_units, device.max_work_group_size, has_loops)
        return "chosen by the driver" if local is None else " x ".join(map(str, local)) + " work-items"

    @property
    def allocations(self) -> list[str]:
        """Each array that was allocated, as text."""
        return [
            f"{dtype}[{', '.join(map(str, shape))}] in {kind} memory, {_size(shape) * dtype.itemsize} bytes"
            for shape, dtype, kind in self.made
        ]

    def typed_ir(self) -> str:
        """The typed IR of the kernel's modules."""
        return "\n".join(self.kernel.inspect_types().values())

    def llvm(self) -> str:
        """The optimised LLVM IR of the kernel's modules."""
        return "\n".join(self.kernel.inspect_llvm().values())

    def spirv(self) -> str:
        """The SPIR-V of the kernel's modules, as text."""
        return "\n".join(self.kernel.inspect_spirv().values())


def _size(shape: Sequence[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
