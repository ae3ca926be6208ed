"""A kernel as object code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from kapi_cpu.emission.explanation import Explanation
from kapi_cpu.emission.launch_record import ALIGNMENT, aligned
from kapi_cpu.emission.object_code import ObjectCode
from kapi_cpu.target import CpuTarget
from kapi_lowering.results.kernel_module import KernelModule

__all__ = ["CpuModule"]


@dataclass(frozen=True, slots=True)
class CpuModule(KernelModule):
    """One kernel, compiled for a CPU and one list of argument types; `KernelModule` says what it has.

    Its entry point takes the addresses of the packed arguments and of a launch's record, whose words
    `kapi_cpu.emission.launch_record` names, and runs the work-groups that the record says, one after the other.

    Attributes
    ----------
    local_itemsizes : tuple of int
        Bytes of an element of each parameter of kind "local", in their order.
    """

    target: CpuTarget
    local_itemsizes: tuple[int, ...]

    @property
    def lanes(self) -> int:
        """Work-items that are computed at once: the size of sub-groups."""
        return ObjectCode.of(self.code).lanes

    @property
    def explanation(self) -> Explanation:
        """The decisions of the vectoriser; with ``lineinfo=True`` they have the lines of the source."""
        return Explanation.from_json(ObjectCode.of(self.code).decisions)

    @property
    def context_bytes(self) -> int:
        """Bytes that each vector of work-items keeps at barriers."""
        return ObjectCode.of(self.code).context_bytes

    def local_bytes(self, counts: Sequence[int]) -> int:
        """Bytes of a work-group's local memory.

        Parameters
        ----------
        counts : sequence of int
            The number of elements of each parameter of kind "local", in their order.
        """
        sizes = self.local_itemsizes
        if len(counts) != len(sizes):
            raise ValueError(f"counts must have a number for each of {len(sizes)} local parameters, got {len(counts)}")
        return sum(aligned(count * size) for count, size in zip(counts, sizes, strict=True))

    def group_memory(self, counts: Sequence[int], local_size: Sequence[int]) -> tuple[int, int, int, int]:
        """The layout of a thread's memory for the work-group that it runs.

        Parameters
        ----------
        counts : sequence of int
            As for `local_bytes`.
        local_size : sequence of int
            Work-items of a group on each axis, the fastest first.

        Returns
        -------
        local, scratch, context, total : int
            Offsets of the three pieces, multiples of 64, and the bytes of all.
        """
        code = ObjectCode.of(self.code)
        scratch = self.local_bytes(counts)
        # A vector may write the slots of lanes that are off.
        slots = 8 * (prod(local_size) + code.lanes) + ALIGNMENT
        context = scratch + (aligned(slots) if code.context_bytes else 0)
        vectors = -(-local_size[0] // code.lanes) * prod(local_size[1:])
        return 0, scratch, context, context + vectors * code.context_bytes

    def describe_code(self) -> str:
        return f"object code for {self.target.cpu}, {len(self.code)} bytes"

    def describe_needs(self) -> list[str]:
        return [f"lanes: {self.lanes}", f"kept at barriers: {self.context_bytes} bytes for each vector of work-items"]
