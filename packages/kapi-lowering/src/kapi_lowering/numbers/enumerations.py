"""Members of users' enumerations, held as their position in the class."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry
from kapi_lowering.llvm_calls import I64
from kapi_lowering.numbers.conversion import convert
from kapi_types.kernel_api import ConstantType, EnumerationType, EnumMemberType

__all__ = ["registry"]

registry = LoweringRegistry("kapi enumerations")


@registry.lower_constant(EnumMemberType)
def _member(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Constant:
    return I64(list(type_.enumeration).index(value))


@registry.lower_getattr_generic(EnumerationType)
def _by_name(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value, name: str) -> ir.Value:
    member = type_.enumeration.__members__[name]
    return context.get_constant_generic(builder, context.typing_context.resolve_value_type(member), member)


@registry.lower_getattr(EnumMemberType, "value")
def _value(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    """A chain of selects over all members."""
    wanted = context.typing_context.resolve_getattr(type_, "value")
    chosen = None
    for position, member in enumerate(type_.enumeration):
        own = context.typing_context.resolve_value_type(member.value)
        held = convert(builder, context.get_constant_generic(builder, own, member.value), own, wanted)
        is_here = builder.icmp_signed("==", value, I64(position))
        chosen = held if chosen is None else builder.select(is_here, held, chosen)
    return chosen


@registry.lower(operator.eq, EnumMemberType, EnumMemberType)
def _equal(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return builder.icmp_signed("==", *args)


@registry.lower(operator.ne, EnumMemberType, EnumMemberType)
def _different(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return builder.icmp_signed("!=", *args)


@registry.lower(operator.eq, ConstantType, ConstantType)
def _equal_constants(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Constant:
    return ir.IntType(1)(sig.args[0] == sig.args[1])


@registry.lower(operator.ne, ConstantType, ConstantType)
def _different_constants(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Constant:
    return ir.IntType(1)(sig.args[0] != sig.args[1])
