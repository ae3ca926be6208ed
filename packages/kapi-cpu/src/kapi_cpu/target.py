"""CPUs as a target: what a module is compiled for, and what its code is made of.

Work-items ask and wait by calls of functions that do not exist, whose names `kapi_cpu.code` gives; `kapi_cpu.emission`
turns a kernel of one work-item with such calls into code of entire work-groups.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from kapi_lowering.target import (
    AtomicUpdate,
    Combination,
    Target,
)

__all__ = ["CpuTarget", "host_target", "unmet_needs"]

# Intel's of these years: a mitigation slows the gathers of those before them, and AMD's take them apart.
_FAST_GATHERS = (
    "alderlake", "raptorlake", "meteorlake", "arrowlake", "arrowlake-s", "lunarlake", "pantherlake",
    "sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids",
)  # fmt: skip
LANE_COUNTS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class CpuTarget(Target):
    """The processor that a module is compiled for.

    Parameters
    ----------
    system, layout : str
        LLVM's names of the system (its triple), and of the sizes and alignments of its types (its data layout).
    cpu, features : str
        LLVM's name of the processor, and what it has: ``"+avx2,-avx512f"`` and so on.
    lanes : int
        Work-items that are computed at once where a kernel does not demand sub-groups of a size; 0 for as many as the
        types that it computes in fill registers with.
    has_fp64, has_fp16, has_atomic64 : bool
        Whether kernels may compute in float64 and in float16, and have atomics on 64-bit integers.
    sub_group_sizes : tuple of int
        Sizes that a kernel may demand of its sub-groups, which are the lanes of its vectors.
    has_fast_gathers : bool
        Whether one instruction loads elements that are anywhere faster than as many loads.
    """

    system: str = ""
    layout: str = ""
    cpu: str = "generic"
    features: str = ""
    lanes: int = 0
    has_fp64: bool = True
    has_fp16: bool = True
    has_atomic64: bool = True
    sub_group_sizes: tuple[int, ...] = LANE_COUNTS
    has_fast_gathers: bool = False
    keeps_lines: ClassVar[bool] = True

    @property
    def vector_bits(self) -> int:
        """Bits of the widest vector registers."""
        has = self.features.split(",")
        return 512 if "+avx512f" in has else 256 if "+avx2" in has or "+avx" in has else 128

    # -- the module

    name = "a CPU"

    @property
    def triple(self) -> str:
        return self.system

    @property
    def data_layout(self) -> str:
        return self.layout

    code = "kapi_cpu.code"
    emission = "kapi_cpu.emission"

    def emission_request(self) -> dict[str, Any]:
        return {
            "cpu": self.cpu,
            "features": self.features,
            "vector_bits": self.vector_bits,
            "lanes": self.lanes,
            "has_fast_gathers": self.has_fast_gathers,
        }

    def is_sound(self, code: bytes) -> bool:
        return len(code) > 0

    def floats_of(self, code: bytes) -> Collection[str]:
        return ()  # every CPU computes in all of them

    constant_space = 0
    guards_range = False

    # -- functions

    function_convention = ""
    function_attributes = ("nounwind",)
    needs_linear_groups = True

    # -- atomics

    has_narrow_atomics = True

    def has_float_atomic(self, update: AtomicUpdate, width: int) -> bool:
        return True

    # -- groups

    has_shuffles = True

    def has_combination(self, combination: Combination) -> bool:
        return True


@cache
def host_target() -> CpuTarget:
    """The target of the processor that this process runs on."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features)
    layout = str(machine.target_data)
    # Virtual machines may go by the name of an earlier processor. Those with AMX are all Intel's, and of these years.
    has_fast_gathers = cpu in _FAST_GATHERS or "+amx-tile" in features.split(",")
    return CpuTarget(str(machine.triple), layout, cpu, features, has_fast_gathers=has_fast_gathers)


def unmet_needs(target: CpuTarget, here: CpuTarget) -> str:
    """Describe code for `target` that the processor `here` may not run; empty if it runs there."""
    if target.triple != here.triple:
        return f"code for {target.triple}"
    wanted, has = target.features.split(","), set(here.features.split(","))
    lacking = [each[1:] for each in wanted if each.startswith("+") and each not in has]
    if lacking:
        return f"code that needs {', '.join(lacking)}"
    # Of another processor, LLVM uses all features that are not switched off by name.
    is_integral = {each[1:] for each in wanted} >= {each[1:] for each in has}
    return "" if target.cpu in (here.cpu, "generic") or is_integral else f"code for {target.cpu}"
