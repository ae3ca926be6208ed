"""CPUs as a target: what a module is compiled for, and what its code is made of.

Work-items ask and wait by calls of functions that do not exist, whose names `kapi_cpu.code` gives; `kapi_cpu.emission`
turns a kernel of one work-item with such calls into code of whole work-groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kapi_lowering.target import (
    AtomicUpdate,
    Combination,
    CombineMode,
    GroupKind,
    LocalMemory,
    ShuffleKind,
    SubGroupQuery,
    Target,
    WorkItemQuery,
)

if TYPE_CHECKING:
    from llvmlite import ir

    from kapi_sim import MemoryOrder, MemoryScope
    from kapi_sim.language import KernelOptions

__all__ = ["CpuTarget", "host_target"]

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
    keeps_lines: ClassVar[bool] = False

    @property
    def vector_bits(self) -> int:
        """Bits of the widest vector registers."""
        has = self.features.split(",")
        return 512 if "+avx512f" in has else 256 if "+avx2" in has or "+avx" in has else 128

    # -- the module

    @property
    def name(self) -> str:
        return "a CPU"

    @property
    def triple(self) -> str:
        return self.system

    @property
    def data_layout(self) -> str:
        return self.layout

    @property
    def emission(self) -> str:
        return "kapi_cpu.emission"

    def emission_request(self) -> dict[str, Any]:
        return {"cpu": self.cpu, "features": self.features, "vector_bits": self.vector_bits, "lanes": self.lanes}

    def is_sound(self, code: bytes) -> bool:
        return len(code) > 0

    def floats_of(self, code: bytes) -> Collection[str]:
        return ()  # every CPU computes in all of them

    @property
    def constant_space(self) -> int:
        return 0

    @property
    def guards_range(self) -> bool:
        return False

    # -- functions

    @property
    def function_convention(self) -> str:
        return ""

    @property
    def function_attributes(self) -> tuple[str, ...]:
        return ("nounwind",)

    def begin_entry(
        self, module: ir.Module, name: str, packed: ir.Type, local: Sequence[ir.Type]
    ) -> tuple[ir.Function, ir.Value]:
        from kapi_cpu.code import entry

        return entry.begin(module, name, packed)

    def local_memory(self, builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
        from kapi_cpu.code import local_memory

        return local_memory.pointers(builder, wanted)

    def finish_entry(self, function: ir.Function, ndim: int, options: KernelOptions, is_linear: bool) -> None:
        from kapi_cpu.code import entry

        entry.finish(function, options)

    @property
    def needs_linear_groups(self) -> bool:
        return True

    def linear_groups(
        self, builder: ir.IRBuilder, local_size: Sequence[ir.Value], group_count: Sequence[ir.Value]
    ) -> None:
        from kapi_cpu.code import work_items

        work_items.linear_groups(builder, local_size, group_count)

    # -- work-items

    def work_item_query(self, builder: ir.IRBuilder, query: WorkItemQuery, axis: ir.Value) -> ir.Value:
        from kapi_cpu.code import work_items

        return work_items.work_item_query(builder, query, axis)

    def sub_group_query(self, builder: ir.IRBuilder, query: SubGroupQuery) -> ir.Value:
        from kapi_cpu.code import work_items

        return work_items.sub_group_query(builder, query)

    # -- order

    def barrier(self, builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
        from kapi_cpu.code import group_operations

        group_operations.barrier(builder, group)

    def fence(self, builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
        from kapi_cpu.code import atomic_operations

        atomic_operations.fence(builder, order)

    # -- atomics

    def has_float_atomic(self, update: AtomicUpdate, width: int) -> bool:
        return True

    def atomic_load(self, builder: ir.IRBuilder, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope) -> ir.Value:
        from kapi_cpu.code import atomic_operations

        return atomic_operations.load(builder, pointer, order)

    def atomic_store(
        self, builder: ir.IRBuilder, pointer: ir.Value, value: ir.Value, order: MemoryOrder, scope: MemoryScope
    ) -> None:
        from kapi_cpu.code import atomic_operations

        atomic_operations.store(builder, pointer, value, order)

    def atomic_update(
        self,
        builder: ir.IRBuilder,
        update: AtomicUpdate,
        pointer: ir.Value,
        value: ir.Value,
        order: MemoryOrder,
        scope: MemoryScope,
    ) -> ir.Value:
        from kapi_cpu.code import atomic_operations

        return atomic_operations.update(builder, update, pointer, value, order)

    def compare_exchange(
        self,
        builder: ir.IRBuilder,
        pointer: ir.Value,
        expected: ir.Value,
        desired: ir.Value,
        orders: tuple[MemoryOrder, MemoryOrder],
        scope: MemoryScope,
    ) -> ir.Value:
        from kapi_cpu.code import atomic_operations

        return atomic_operations.compare_exchange(builder, pointer, expected, desired, orders)

    # -- groups

    @property
    def has_shuffles(self) -> bool:
        return True

    def broadcast(
        self, builder: ir.IRBuilder, group: GroupKind, ndim: int, value: ir.Value, linear_id: ir.Value
    ) -> ir.Value:
        from kapi_cpu.code import group_operations

        return group_operations.broadcast(builder, group, value, linear_id)

    def shuffle(self, builder: ir.IRBuilder, kind: ShuffleKind, value: ir.Value, operand: ir.Value) -> ir.Value:
        from kapi_cpu.code import group_operations

        return group_operations.shuffle(builder, kind, value, operand)

    def has_combination(self, combination: Combination) -> bool:
        return True

    def combine(
        self, builder: ir.IRBuilder, group: GroupKind, mode: CombineMode, combination: Combination, value: ir.Value
    ) -> ir.Value:
        from kapi_cpu.code import group_operations

        return group_operations.combine(builder, group, mode, combination, value)

    def vote(self, builder: ir.IRBuilder, group: GroupKind, kind: Literal["any", "all"], value: ir.Value) -> ir.Value:
        from kapi_cpu.code import group_operations

        return group_operations.vote(builder, group, kind, value)

    # -- functions of numbers, and print

    def library_call(self, builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
        from kapi_cpu.code import library

        return library.library_call(builder, name, result, args)

    def text(self, builder: ir.IRBuilder, text: str) -> ir.Value:
        from kapi_cpu.code import printing

        return printing.text(builder, text)

    def print_formatted(
        self, builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]
    ) -> None:
        from kapi_cpu.code import printing

        printing.print_formatted(builder, format_, values, codes)


@cache
def host_target() -> CpuTarget:
    """The target of the processor that this process runs on."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features)
    return CpuTarget(str(machine.triple), str(machine.target_data), cpu, features)
