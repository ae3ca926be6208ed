"""Atomic operations, as SPIR-V's instructions.

LLVM 22's SPIR-V back end makes plain loads and stores of LLVM's atomic ones, and drops the memory that a fence orders.
So lowering calls SPIR-V's instructions by name, with scopes and semantics of its own, here and in `ordering`.

References
----------
SPIR-V specification, 3.52.18, "Atomic Instructions"; SPV_EXT_shader_atomic_float_add and _min_max.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.target import AtomicUpdate
from kapi_sim import MemoryOrder, MemoryScope
from kapi_spirv.code.builtins import call_builtin
from kapi_spirv.code.memory_model import scope_operand, semantics_operand

__all__ = ["atomic_load", "atomic_store", "atomic_update", "compare_exchange"]

_UPDATES = {
    "exchange": "Exchange",
    "add": "IAdd",
    "sub": "ISub",
    "min": "SMin",
    "max": "SMax",
    "umin": "UMin",
    "umax": "UMax",
    "and": "And",
    "or": "Or",
    "xor": "Xor",
    "fadd": "FAddEXT",
    "fmin": "FMinEXT",
    "fmax": "FMaxEXT",
}


def atomic_load(builder: ir.IRBuilder, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope) -> ir.Value:
    """Read."""
    return _call(builder, "Load", pointer.type.pointee, [pointer, scope_operand(scope), semantics_operand(order)])


def atomic_store(
    builder: ir.IRBuilder, pointer: ir.Value, value: ir.Value, order: MemoryOrder, scope: MemoryScope
) -> None:
    """Write."""
    _call(builder, "Store", ir.VoidType(), [pointer, scope_operand(scope), semantics_operand(order), value])


def atomic_update(
    builder: ir.IRBuilder,
    update: AtomicUpdate,
    pointer: ir.Value,
    value: ir.Value,
    order: MemoryOrder,
    scope: MemoryScope,
) -> ir.Value:
    """Read and write at once; returns what was read."""
    operands = [pointer, scope_operand(scope), semantics_operand(order), value]
    return _call(builder, _UPDATES[update], value.type, operands)


def compare_exchange(
    builder: ir.IRBuilder,
    pointer: ir.Value,
    expected: ir.Value,
    desired: ir.Value,
    orders: tuple[MemoryOrder, MemoryOrder],
    scope: MemoryScope,
) -> ir.Value:
    """Write `desired` where `expected` is read; returns what was read."""
    operands = [pointer, scope_operand(scope), *map(semantics_operand, orders), desired, expected]
    return _call(builder, "CompareExchange", desired.type, operands)


def _call(builder: ir.IRBuilder, operation: str, result: ir.Type, operands: Sequence[ir.Value]) -> ir.Value:
    return call_builtin(builder, f"__spirv_Atomic{operation}", result, operands, attributes=("nounwind",))
