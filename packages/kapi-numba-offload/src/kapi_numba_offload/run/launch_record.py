"""Record of a launch: kernel, device, range, and the arrays that were allocated for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import kapi_runtime
from kapi_numba_offload.libraries.arrays import device_facts
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_runtime import NdRange

__all__ = ["KernelLaunch"]


class KernelLaunch(NamedTuple):
    """One launch, kept for diagnostics.

    Attributes
    ----------
    kernel : kapi_runtime.Kernel
        What ran.
    index_space : Range or NdRange
        Its work-items.
    queue : object
        Where.
    made : sequence of (tuple, numpy.dtype, str)
        Shape, dtype and kind of memory of each array that was allocated for it.
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
        return str(device_facts(self.queue).name)

    @property
    def space(self) -> str:
        """The range, as text."""
        full = self.index_space.global_range if isinstance(self.index_space, NdRange) else self.index_space
        return " x ".join(map(str, full)) + " work-items"

    @property
    def work_group(self) -> str:
        """The size of a work-group, as text."""
        if isinstance(self.index_space, NdRange):
            size = math.prod(self.index_space.local_range)
            return "1 work-item, which takes one iteration after another" if size == 1 else f"{size} work-items"
        has_loops = any(getattr(each, "has_loops", False) for each in self.kernel.modules.values())
        local = library_of_queue(self.queue).work_group(self.queue, self.index_space, has_loops)
        return "chosen by the driver" if local is None else " x ".join(map(str, local)) + " work-items"

    @property
    def allocations(self) -> list[str]:
        """Each array that was allocated, as text."""
        return [
            f"{dtype}[{', '.join(map(str, shape))}] in {kind} memory, {math.prod(shape) * dtype.itemsize} bytes"
            for shape, dtype, kind in self.made
        ]

    def typed_ir(self) -> str:
        """The typed IR of the kernel's modules."""
        return "\n".join(self.kernel.inspect_types().values())

    def llvm(self) -> str:
        """The optimised LLVM IR of the kernel's modules."""
        return "\n".join(self.kernel.inspect_llvm().values())

    def device_code(self) -> tuple[str, str]:
        """The name of the target's code, and the code of the kernel's modules, as text."""
        code = [each for each in self.kernel.modules.values() if each.target.name == "PTX"]
        if code:
            return "PTX", "\n".join(each.ptx for each in code)  # type: ignore[attr-defined]  # that of PTX has it
        return "SPIR-V", "\n".join(self.kernel.inspect_spirv().values())
