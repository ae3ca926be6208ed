"""A kernel as PTX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kapi_lowering.results.kernel_module import KernelModule
from kapi_ptx.local_layout import dynamic_bytes
from kapi_ptx.target import PtxTarget

__all__ = ["PtxModule"]

_COARSE = rb"^\.visible \.entry %s_by_(\d+)\("  # as `emission.optimize.coarsening` names it


@dataclass(frozen=True, slots=True)
class PtxModule(KernelModule):
    """One kernel, compiled to PTX for one list of argument types.

    It has the attributes of `kapi_lowering.KernelModule`. `code` is the PTX, in ASCII, without the zero at its end that
    `cuModuleLoadData` wants; the packed argument is the entry point's only one; the last dimension is CUDA's x.

    Attributes
    ----------
    local_itemsizes : tuple of int
        Bytes of an element of each parameter of kind "local" that lies in the memory which the launch asks for; empty
        where local memory lies in the module.
    """

    target: PtxTarget
    local_itemsizes: tuple[int, ...]

    @property
    def ptx(self) -> str:
        """The code as text."""
        return self.code.decode()

    @property
    def coarse_entry_point(self) -> tuple[str, int] | None:
        """The entry point for large ranges, if there is one, and how many blocks' work one block of it does along x.

        A kernel has it that is compiled with `is_small` and `reads_apart` and only computes, reads and writes elements.
        """
        found = re.search(_COARSE % re.escape(self.entry_point.encode()), self.code, re.MULTILINE)
        return (f"{self.entry_point}_by_{int(found[1])}", int(found[1])) if found else None

    def dynamic_shared_bytes(self, counts: Sequence[int]) -> int:
        """Bytes of shared memory that a launch asks for.

        Parameters
        ----------
        counts : sequence of int
            The number of elements of each parameter of kind "local", in their order.

        Returns
        -------
        int
            0 where local memory lies in the module.

        Raises
        ------
        ValueError
            If there are more or fewer counts than such parameters.
        """
        local = [each.name for each in self.parameters if each.kind == "local"]
        if len(counts) != len(local):
            raise ValueError(f"counts must have a number for each of {len(local)} local parameters, got {len(counts)}")
        if not self.local_itemsizes:
            return 0
        return dynamic_bytes([count * size for count, size in zip(counts, self.local_itemsizes, strict=True)])

    def describe_code(self) -> str:
        return f"PTX {self.target.version} for sm_{self.target.sm}, {len(self.code)} bytes"

    def describe_needs(self) -> list[str]:
        where = (
            f"{len(self.local_itemsizes)} parameters in what the launch asks for" if self.local_itemsizes else "none"
        )
        return [f"compute capability: {self.target.sm / 10} or later", f"dynamic shared memory: {where}"]
