"""Atomics and fences, as LLVM has them for every CPU, and updates that no other thread can see."""

from __future__ import annotations

from llvmlite import ir

from kapi_cpu.emission.group_updates import PREFIX
from kapi_lowering.target import AtomicUpdate
from kapi_sim import MemoryOrder, MemoryScope

__all__ = ["atomic_load", "atomic_store", "atomic_update", "compare_exchange", "fence"]

_ORDERS = {
    MemoryOrder.RELAXED: "monotonic",
    MemoryOrder.ACQUIRE: "acquire",
    MemoryOrder.RELEASE: "release",
    MemoryOrder.ACQ_REL: "acq_rel",
    MemoryOrder.SEQ_CST: "seq_cst",
}
_LOCAL = 3
"""The address space of local memory, until there is one."""

_BYTES = {"i8": 1, "i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}


def fence(builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
    """Order memory."""
    builder.fence(_ORDERS[order])


def atomic_load(builder: ir.IRBuilder, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope) -> ir.Value:
    """Read."""
    return builder.load_atomic(pointer, _ORDERS[order], _BYTES[str(pointer.type.pointee)])


def atomic_store(
    builder: ir.IRBuilder, pointer: ir.Value, value: ir.Value, order: MemoryOrder, scope: MemoryScope
) -> None:
    """Write."""
    builder.store_atomic(value, pointer, _ORDERS[order], _BYTES[str(value.type)])


def atomic_update(
    builder: ir.IRBuilder,
    operation: AtomicUpdate,
    pointer: ir.Value,
    value: ir.Value,
    order: MemoryOrder,
    scope: MemoryScope,
) -> ir.Value:
    """Read and write at once; returns what was read.

    One thread runs a work-group, so that what only its work-items reach needs no instruction that locks memory. But
    lanes must update one after the other: a call keeps the update in one piece until vectors are made.
    """
    if pointer.type.addrspace == _LOCAL or scope <= MemoryScope.WORK_GROUP:
        generic = value.type.as_pointer()
        type_ = ir.FunctionType(value.type, [generic, value.type])
        name = f"{PREFIX}{operation}.{value.type}"
        function = builder.module.globals.get(name) or ir.Function(builder.module, type_, name)
        if pointer.type != generic:
            pointer = builder.addrspacecast(pointer, generic)
        return builder.call(function, [pointer, value])
    return builder.atomic_rmw("xchg" if operation == "exchange" else operation, pointer, value, _ORDERS[order])


def compare_exchange(
    builder: ir.IRBuilder,
    pointer: ir.Value,
    expected: ir.Value,
    desired: ir.Value,
    orders: tuple[MemoryOrder, MemoryOrder],
    scope: MemoryScope,
) -> ir.Value:
    """Write where `expected` is read; returns what was read."""
    success, failure = (_ORDERS[each] for each in orders)
    return builder.extract_value(builder.cmpxchg(pointer, expected, desired, success, failure), 0)
