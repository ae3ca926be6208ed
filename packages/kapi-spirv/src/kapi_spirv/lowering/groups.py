"""Reductions, scans and votes over groups: SPIR-V's own operations, which drivers do several times faster than a tree.

Narrow integers are combined in 32 bits and float16 in float32, for drivers crash on some of them. What neither SPIR-V
nor an extension of the target has becomes a loop of broadcasts.

References
----------
SPIR-V specification, 3.52.21, "Group and Subgroup Instructions"; SPV_KHR_uniform_group_instructions.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_sim.spec.intrinsics import rows
from kapi_sim.spec.operators import Operator, identity
from kapi_spirv._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_spirv.lowering.builtins import I32, I64, call_builtin
from kapi_spirv.lowering.exchange import CONVERGENT, broadcast
from kapi_spirv.lowering.exchange import LOWERED as EXCHANGED
from kapi_spirv.lowering.index_space import work_item_query
from kapi_spirv.lowering.memory_model import IN_SUB_GROUP, IN_WORK_GROUP
from kapi_spirv.lowering.sub_groups import sub_group_query
from kapi_types import SubGroupType
from kapi_types.kernel_typing.promotion import as_strong
from kapi_types.kernel_typing.words import operator_of

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi groups")

LOWERED = {row.key for row in rows(family="group")} - EXCHANGED

_REDUCE, _INCLUSIVE_SCAN, _EXCLUSIVE_SCAN = I32(0), I32(1), I32(2)

_OPERATIONS = {
    "plus": ("IAdd", "IAdd", "FAdd"),
    "minimum": ("SMin", "UMin", "FMin"),
    "maximum": ("SMax", "UMax", "FMax"),
}
"""Operator, to the operation on signed integers, unsigned integers and floats that every target has."""

_EXTENSION = "SPV_KHR_uniform_group_instructions"
_EXTENSION_OPERATIONS = {
    "multiplies": ("IMulKHR", "IMulKHR", "FMulKHR"),
    "bit_and": ("BitwiseAndKHR", "BitwiseAndKHR"),
    "bit_or": ("BitwiseOrKHR", "BitwiseOrKHR"),
    "bit_xor": ("BitwiseXorKHR", "BitwiseXorKHR"),
}
"""The same, of the extension."""

_INSTRUCTIONS = {
    "multiplies": ("mul", "mul", "fmul"),
    "bit_and": ("and_", "and_"),
    "bit_or": ("or_", "or_"),
    "bit_xor": ("xor", "xor"),
}
"""The same, on two values: what targets without the extension do with one broadcast after the other."""


class _Combination:
    """One reduction or scan: values of a strong number type, combined by an operator over a group."""

    def __init__(self, context: Any, builder: ir.IRBuilder, group: Any, type_: Any, operation: Operator) -> None:
        self.builder, self.group, self.operation = builder, group, operation
        self.has_extension = _EXTENSION in context.spirv_target.all_extensions
        self.type = type_
        self.is_float = isinstance(type_, types.Float)
        self.is_signed = self.is_float or type_.signed
        self._memory_type = context.get_value_type(type_)

    def over(self, kind: ir.Constant, value: ir.Value) -> ir.Value:
        """The result for one work-item's value, of the same type."""
        result = self._wide(kind, self._widened(value))
        if kind is _EXCLUSIVE_SCAN and result.type != value.type and self.operation.name in ("minimum", "maximum"):
            # What the first work-item has is the wide type's largest or smallest.
            result = self._nearer(result, self._widened(self._identity(value.type)))
        return self._narrowed(result)

    def _wide(self, kind: ir.Constant, value: ir.Value) -> ir.Value:
        name = self.operation.name
        column = 2 if self.is_float else 0 if self.is_signed else 1
        if name in _OPERATIONS:
            return self._native(_OPERATIONS[name][column], kind, value)
        if self.has_extension:
            return self._native(_EXTENSION_OPERATIONS[name][column], kind, value)
        return self._by_broadcasts(kind, value, _INSTRUCTIONS[name][column])

    def _native(self, name: str, kind: ir.Constant, value: ir.Value) -> ir.Value:
        operands = [_scope(self.group), kind, value]
        return call_builtin(
            self.builder, f"__spirv_Group{name}", value.type, operands, unsigned=True, attributes=CONVERGENT
        )

    def _by_broadcasts(self, kind: ir.Constant, value: ir.Value, instruction: str) -> ir.Value:
        """Every work-item combines the values of all that count for it."""
        builder = self.builder
        result = cgutils.alloca_once_value(builder, self._identity(value.type))
        own, size = _place_in(builder, self.group)
        with cgutils.for_range(builder, size) as loop:
            given = broadcast(builder, self.group, value, loop.index)
            before = builder.load(result)
            after = getattr(builder, instruction)(before, given)
            if kind is not _REDUCE:
                counts = builder.icmp_unsigned("<=" if kind is _INCLUSIVE_SCAN else "<", loop.index, own)
                after = builder.select(counts, after, before)
            builder.store(after, result)
        return builder.load(result)

    def _identity(self, type_: ir.Type) -> ir.Constant:
        value = identity(self.operation, as_dtype(self.type))
        return type_(float(value) if self.is_float else int(value))

    def _nearer(self, left: ir.Value, right: ir.Value) -> ir.Value:
        symbol = "<" if self.operation.name == "minimum" else ">"
        if self.is_float:
            is_left = self.builder.fcmp_ordered(symbol, left, right)
        else:
            is_left = (self.builder.icmp_signed if self.is_signed else self.builder.icmp_unsigned)(symbol, left, right)
        return self.builder.select(is_left, left, right)

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


def _place_in(builder: ir.IRBuilder, group: Any) -> tuple[ir.Value, ir.Value]:
    """The work-item's linear id in its group, and the number of work-items there, in 64 bits."""
    if isinstance(group, SubGroupType):
        own, size = (sub_group_query(builder, f"get_sub_group_{what}") for what in ("local_id", "size"))
        return builder.zext(own, I64), builder.zext(size, I64)
    own, size = I64(0), I64(1)
    for axis in reversed(range(group.ndim)):
        extent = work_item_query(builder, "get_local_size", I32(axis))
        own = builder.add(builder.mul(own, extent), work_item_query(builder, "get_local_id", I32(axis)))
        size = builder.mul(size, extent)
    return own, size


def _scope(group: Any) -> ir.Constant:
    return IN_SUB_GROUP if isinstance(group, SubGroupType) else IN_WORK_GROUP


def _over_bools(builder: ir.IRBuilder, group: Any, value: ir.Value, name: str, kind: ir.Constant) -> ir.Value:
    """Bools are counted: all true is no false one, any is at least one, and an odd number is told by the last bit."""
    is_all = name in ("logical_and", "bit_and")
    counted = builder.zext(builder.not_(value) if is_all else value, I32)
    operands = [_scope(group), kind, counted]
    count = call_builtin(builder, "__spirv_GroupIAdd", I32, operands, unsigned=True, attributes=CONVERGENT)
    if name == "bit_xor":
        return builder.trunc(count, ir.IntType(1))
    return builder.icmp_unsigned("==" if is_all else "!=", count, I32(0))


def _register_combination(name: str, kind: ir.Constant) -> None:
    @registry.lower(name, types.Any, types.Any, types.Any)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        group, type_, operator_type = sig.args
        operation = operator_of(operator_type)
        assert operation is not None
        if isinstance(type_, types.Boolean):
            return _over_bools(builder, group, args[1], operation.name, kind)
        return _Combination(context, builder, group, as_strong(type_), operation).over(kind, args[1])


_register_combination("reduce_over_group", _REDUCE)
_register_combination("inclusive_scan_over_group", _INCLUSIVE_SCAN)
_register_combination("exclusive_scan_over_group", _EXCLUSIVE_SCAN)


def _vote(builder: ir.IRBuilder, group: Any, name: str, value: ir.Value) -> ir.Value:
    operands = [_scope(group), value]
    return call_builtin(builder, f"__spirv_Group{name}", value.type, operands, attributes=CONVERGENT)


@registry.lower("any_of_group", types.Any, types.Any)
def _any_of_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return _vote(builder, sig.args[0], "Any", args[1])


@registry.lower("all_of_group", types.Any, types.Any)
def _all_of_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return _vote(builder, sig.args[0], "All", args[1])


@registry.lower("none_of_group", types.Any, types.Any)
def _none_of_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return builder.not_(_vote(builder, sig.args[0], "Any", args[1]))
