"""`HostTarget`: each question of `Target`, answered for the processor that Python runs on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import llvmlite.binding as llvm
from llvmlite import ir

from host_target import code
from kapi_lowering.llvm_calls import I32
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
from kapi_sim import MemoryOrder, MemoryScope
from kapi_sim.language import KernelOptions

__all__ = ["HostTarget", "host_machine"]

_ORDERS = {
    MemoryOrder.RELAXED: "monotonic",
    MemoryOrder.ACQUIRE: "acquire",
    MemoryOrder.RELEASE: "release",
    MemoryOrder.ACQ_REL: "acq_rel",
    MemoryOrder.SEQ_CST: "seq_cst",
}
_BYTES = {"i32": 4, "float": 4, "i64": 8, "double": 8}


def host_machine() -> Any:
    """A target machine of LLVM's for this process; the engine that is made with it owns it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), reloc="static", codemodel="large"
    )


@cache
def _host_names() -> tuple[str, str]:
    machine = host_machine()
    return str(machine.triple), str(machine.target_data)


@dataclass(frozen=True)
class HostTarget(Target):
    """The host's processor, which runs one work-item after the other.

    Parameters
    ----------
    needs_linear_groups, has_shuffles : bool
        Answers that change what is lowered, though not what a kernel without sub-groups gives.
    """

    has_fp64: bool = True
    has_fp16: bool = True
    has_atomic64: bool = True
    sub_group_sizes: tuple[int, ...] = ()
    needs_linear_groups: bool = False
    has_shuffles: bool = True

    # -- the module

    name = "the host"
    triple = _host_names()[0]
    data_layout = _host_names()[1]
    code = "host_target.code"
    emission = "host_target.emission"

    def emission_request(self) -> dict[str, Any]:
        return {}

    def is_sound(self, code: bytes) -> bool:
        return True

    def floats_of(self, code: bytes) -> Collection[str]:
        return ("float16", "float64")  # it has them all, so that nothing is refused

    constant_space = 0

    # -- functions

    function_convention = ""
    function_attributes = ()

    def begin_entry(
        self, module: ir.Module, name: str, packed: ir.Type, local: Sequence[ir.Type]
    ) -> tuple[ir.Function, ir.Value]:
        type_ = ir.FunctionType(ir.VoidType(), [packed.as_pointer(), *local])
        function = ir.Function(module, type_, name)
        return function, function.args[0]

    def local_memory(self, builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
        arguments: Sequence[ir.Value] = builder.function.args[1:]
        return arguments

    def finish_entry(self, function: ir.Function, ndim: int, options: KernelOptions, is_linear: bool) -> None:
        pass

    def linear_groups(
        self, builder: ir.IRBuilder, local_size: Sequence[ir.Value], group_count: Sequence[ir.Value]
    ) -> None:
        """Nothing: who runs the work-items gives them their indices on each axis."""

    # -- work-items

    def work_item_query(self, builder: ir.IRBuilder, query: WorkItemQuery, axis: ir.Value) -> ir.Value:
        return code.position(builder, query, axis)

    def sub_group_query(self, builder: ir.IRBuilder, query: SubGroupQuery) -> ir.Value:
        return code.call_lacking(builder, "sub_group", I32)

    # -- order

    def barrier(self, builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
        code.call_lacking(builder, "barrier", ir.VoidType())

    def fence(self, builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
        builder.fence(_ORDERS[order])

    # -- atomics

    def has_float_atomic(self, update: AtomicUpdate, width: int) -> bool:
        return update == "fadd"

    def atomic_load(self, builder: ir.IRBuilder, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope) -> ir.Value:
        return builder.load_atomic(pointer, _ORDERS[order], _BYTES[str(pointer.type.pointee)])

    def atomic_store(
        self, builder: ir.IRBuilder, pointer: ir.Value, value: ir.Value, order: MemoryOrder, scope: MemoryScope
    ) -> None:
        builder.store_atomic(value, pointer, _ORDERS[order], _BYTES[str(value.type)])

    def atomic_update(
        self,
        builder: ir.IRBuilder,
        update: AtomicUpdate,
        pointer: ir.Value,
        value: ir.Value,
        order: MemoryOrder,
        scope: MemoryScope,
    ) -> ir.Value:
        return builder.atomic_rmw("xchg" if update == "exchange" else update, pointer, value, _ORDERS[order])

    def compare_exchange(
        self,
        builder: ir.IRBuilder,
        pointer: ir.Value,
        expected: ir.Value,
        desired: ir.Value,
        orders: tuple[MemoryOrder, MemoryOrder],
        scope: MemoryScope,
    ) -> ir.Value:
        success, failure = (_ORDERS[each] for each in orders)
        return builder.extract_value(builder.cmpxchg(pointer, expected, desired, success, failure), 0)

    # -- groups

    def broadcast(
        self, builder: ir.IRBuilder, group: GroupKind, ndim: int, value: ir.Value, linear_id: ir.Value
    ) -> ir.Value:
        return code.call_lacking(builder, "broadcast", value.type, [value, linear_id])

    def shuffle(self, builder: ir.IRBuilder, kind: ShuffleKind, value: ir.Value, operand: ir.Value) -> ir.Value:
        return code.call_lacking(builder, "shuffle", value.type, [value, operand])

    def has_combination(self, combination: Combination) -> bool:
        return True

    def combine(
        self, builder: ir.IRBuilder, group: GroupKind, mode: CombineMode, combination: Combination, value: ir.Value
    ) -> ir.Value:
        return code.call_lacking(builder, "combine", value.type, [value])

    def vote(self, builder: ir.IRBuilder, group: GroupKind, kind: Literal["any", "all"], value: ir.Value) -> ir.Value:
        return code.call_lacking(builder, "vote", value.type, [value])

    # -- functions of numbers, and print

    def library_call(self, builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
        return code.library_call(builder, name, result, args)

    def text(self, builder: ir.IRBuilder, text: str) -> ir.Value:
        return code.text(builder, text)

    def print_formatted(
        self, builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]
    ) -> None:
        code.print_formatted(builder, format_, values, codes)
