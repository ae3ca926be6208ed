"""Barriers and values that work-items hand to each other: calls whose names say what is done."""

from __future__ import annotations

from typing import Literal

from llvmlite import ir

from kapi_lowering.llvm_calls import call_declared
from kapi_lowering.target import Combination, CombineMode, GroupKind, ShuffleKind
from kapi_sim import MemoryOrder, MemoryScope

__all__ = ["barrier", "broadcast", "combine", "shuffle", "vote"]

_I1 = ir.IntType(1)


def _call(builder: ir.IRBuilder, name: str, result: ir.Type, *args: ir.Value) -> ir.Value:
    kind = f".{args[0].type}" if args else ""
    return call_declared(builder, f"kapi.{name}{kind}", result, args, ("convergent", "nounwind"))


def barrier(builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
    """Wait for all work-items of the group."""
    _call(builder, f"barrier.{group}", ir.VoidType())


def broadcast(builder: ir.IRBuilder, group: GroupKind, ndim: int, value: ir.Value, linear_id: ir.Value) -> ir.Value:
    """The value of the work-item with that linear id."""
    return _call(builder, f"broadcast.{group}", value.type, value, linear_id)


def shuffle(builder: ir.IRBuilder, kind: ShuffleKind, value: ir.Value, operand: ir.Value) -> ir.Value:
    """The value of another work-item of the sub-group."""
    return _call(builder, f"shuffle.{kind}", value.type, value, operand)


def vote(builder: ir.IRBuilder, group: GroupKind, kind: Literal["any", "all"], value: ir.Value) -> ir.Value:
    """Whether a bit is set for any or for all work-items."""
    return _call(builder, f"vote.{group}.{kind}", _I1, value)


def combine(
    builder: ir.IRBuilder, group: GroupKind, mode: CombineMode, combination: Combination, value: ir.Value
) -> ir.Value:
    """Reduce or scan one value of each work-item."""
    return _call(builder, f"combine.{group}.{mode}.{combination}", value.type, value)
