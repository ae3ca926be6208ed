"""Barriers and fences, which the target writes; reductions, scans and votes over groups.

These are the target's own operations, which are several times faster than a tree. Narrow integers are combined in 32
bits and float16 in float32, for drivers crash on some of them. What the target does not have becomes a loop of
broadcasts.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_lowering.calls.shuffles import LOWERED as EXCHANGED
from kapi_lowering.calls.shuffles import broadcast, kind_of
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import Combination, CombineMode, Target
from kapi_sim import MemoryOrder, MemoryScope
from kapi_sim.language.intrinsics.operators import Operator, identity
from kapi_sim.language.table.intrinsics import rows
from kapi_types import SubGroupType
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing.calls.intrinsic_types import operator_of
from kapi_types.kernel_typing.rules.promotion import as_strong

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi groups")

LOWERED = {"group_barrier", "atomic_fence", *(row.key for row in rows(family="group"))} - EXCHANGED

_COMBINATIONS: dict[str, tuple[Combination, ...]] = {
    "plus": ("add", "add", "fadd"),
    "minimum": ("min", "umin", "fmin"),
    "maximum": ("max", "umax", "fmax"),
    "multiplies": ("mul", "mul", "fmul"),
    "bit_and": ("and", "and"),
    "bit_or": ("or", "or"),
    "bit_xor": ("xor", "xor"),
}
"""Operator, to the combination of signed integers, unsigned integers and floats."""

_INSTRUCTIONS = {"mul": "mul", "fmul": "fmul", "and": "and_", "or": "or_", "xor": "xor"}
"""A combination that targets may lack, to the instruction on two values, of which a loop is made."""


class _Combination:
    """One reduction or scan: values of a strong number type, combined by an operator over a group."""

    def __init__(self, context: Any, builder: ir.IRBuilder, group: Any, type_: Any, operation: Operator) -> None:
        self.context, self.target = context, context.kernel_target
        self.builder, self.group, self.operation = builder, group, operation
        self.type = type_
        self.is_float = isinstance(type_, types.Float)
        self.is_signed = self.is_float or type_.signed
        self._memory_type = context.get_value_type(type_)

    def over(self, mode: CombineMode, value: ir.Value) -> ir.Value:
        """The result for one work-item's value, of the same type."""
        result = self._narrowed(self._wide(mode, self._widened(value)))
        if mode != "exclusive_scan":
            return result
        return _behind_first(self.target, self.builder, self.group, result, self._identity(value.type))

    def _wide(self, mode: CombineMode, value: ir.Value) -> ir.Value:
        combination = _COMBINATIONS[self.operation.name][2 if self.is_float else 0 if self.is_signed else 1]
        if self.target.has_combination(combination):
            return self.target.combine(self.builder, kind_of(self.group), mode, combination, value)
        return self._by_broadcasts(mode, value, _INSTRUCTIONS[combination])

    def _by_broadcasts(self, mode: CombineMode, value: ir.Value, instruction: str) -> ir.Value:
        """Every work-item combines the values of all that count for it."""
        builder = self.builder
        result = cgutils.alloca_once_value(builder, self._identity(value.type))
        own, size = _linear_id_in(self.target, builder, self.group)
        with cgutils.for_range(builder, size) as loop:
            given = broadcast(self.context, builder, self.group, value, loop.index)
            before = builder.load(result)
            after = getattr(builder, instruction)(before, given)
            if mode != "reduce":
                counts = builder.icmp_unsigned("<=" if mode == "inclusive_scan" else "<", loop.index, own)
                after = builder.select(counts, after, before)
            builder.store(after, result)
        return builder.load(result)

    def _identity(self, type_: ir.Type) -> ir.Constant:
        value = identity(self.operation, as_dtype(self.type))
        return type_(float(value) if self.is_float else int(value))

    def _widened(self, value: ir.Value) -> ir.Value:
        if self.is_float:
            return self.builder.fpext(value, ir.FloatType()) if self.type.bitwidth == 16 else value
        if value.type.width >= 32:
            return value
        return (self.builder.sext if self.is_signed else self.builder.zext)(value, I32)

    def _narrowed(self, value: ir.Value) -> ir.Value:
        wanted = self._memory_type
        if value.type == wanted:
            return value
        return (self.builder.fptrunc if self.is_float else self.builder.trunc)(value, wanted)


def _linear_id_in(target: Target, builder: ir.IRBuilder, group: Any) -> tuple[ir.Value, ir.Value]:
    """The work-item's linear id in its group, and the number of work-items there, in 64 bits."""
    if isinstance(group, SubGroupType):
        own, size = target.sub_group_query(builder, "local_id"), target.sub_group_query(builder, "size")
        return builder.zext(own, I64), builder.zext(size, I64)
    own, size = I64(0), I64(1)
    for axis in reversed(range(group.ndim)):
        extent = target.work_item_query(builder, "local_size", I32(axis))
        own = builder.add(builder.mul(own, extent), target.work_item_query(builder, "local_id", I32(axis)))
        size = builder.mul(size, extent)
    return own, size


def _behind_first(target: Target, builder: ir.IRBuilder, group: Any, scan: ir.Value, identity: ir.Value) -> ir.Value:
    """An exclusive scan whose first work-item has the identity.

    A target's has that of the type in which it combines, and a driver has been seen to give the first work-item a
    constant that it was given.
    """
    own, _ = _linear_id_in(target, builder, group)
    return builder.select(builder.icmp_unsigned("==", own, I64(0)), identity, scan)


def _over_bools(
    target: Target, builder: ir.IRBuilder, group: Any, value: ir.Value, name: str, mode: CombineMode
) -> ir.Value:
    """Combinations of bools by counts: all is no false one, any at least one, and the last bit says whether odd."""
    is_all = name in ("logical_and", "bit_and")
    counted = builder.zext(builder.not_(value) if is_all else value, I32)
    count = target.combine(builder, kind_of(group), mode, "add", counted)
    if mode == "exclusive_scan":
        count = _behind_first(target, builder, group, count, I32(0))
    if name == "bit_xor":
        return builder.trunc(count, ir.IntType(1))
    return builder.icmp_unsigned("==" if is_all else "!=", count, I32(0))


def _register_combination(name: str, mode: CombineMode) -> None:
    @registry.lower(name, types.Any, types.Any, types.Any)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        group, type_, operator_type = sig.args
        operation = operator_of(operator_type)
        assert operation is not None
        if isinstance(type_, types.Boolean):
            return _over_bools(context.kernel_target, builder, group, args[1], operation.name, mode)
        return _Combination(context, builder, group, as_strong(type_), operation).over(mode, args[1])


_register_combination("reduce_over_group", "reduce")
_register_combination("inclusive_scan_over_group", "inclusive_scan")
_register_combination("exclusive_scan_over_group", "exclusive_scan")


@registry.lower("any_of_group", types.Any, types.Any)
def _any_of_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.kernel_target.vote(builder, kind_of(sig.args[0]), "any", args[1])


@registry.lower("all_of_group", types.Any, types.Any)
def _all_of_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.kernel_target.vote(builder, kind_of(sig.args[0]), "all", args[1])


@registry.lower("none_of_group", types.Any, types.Any)
def _none_of_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return builder.not_(context.kernel_target.vote(builder, kind_of(sig.args[0]), "any", args[1]))


@registry.lower("group_barrier", types.Any, ConstantType)
def _group_barrier(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    scope = sig.args[1].value
    # A fence for the work-item alone has nothing to order for others: what remains is that all wait.
    order = MemoryOrder.RELAXED if scope is MemoryScope.WORK_ITEM else MemoryOrder.ACQ_REL
    context.kernel_target.barrier(builder, kind_of(sig.args[0]), order, scope)
    return context.get_dummy_value()


@registry.lower("atomic_fence", ConstantType, ConstantType)
def _atomic_fence(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    order, scope = sig.args[0].value, sig.args[1].value
    if order is not MemoryOrder.RELAXED:
        context.kernel_target.fence(builder, order, scope)
    return context.get_dummy_value()
