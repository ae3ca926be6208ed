"""Constants of the kernel language: numbers, tuples, and objects whose type alone says what they are."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_types.kernel_api import ConstantType, EnumerationType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.calls.intrinsic_calls import LanguageFunctionType
from kapi_types.kernel_typing.calls.prints import PrintType
from kapi_types.kernel_typing.rules.conversions import RoundType
from kapi_types.kernel_typing.rules.functions import TableFunctionType
from kapi_types.kernel_typing.rules.tuples import NamedTupleClassType

__all__ = ["registry"]

registry = LoweringRegistry("kapi constants")


@registry.lower_constant(types.Integer)
@registry.lower_constant(types.Boolean)
def _integer(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Constant:
    return context.get_value_type(type_)(int(value))


@registry.lower_constant(types.Float)
def _float(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Constant:
    return context.get_value_type(type_)(float(value))


@registry.lower_constant(types.Complex)
def _complex(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Constant:
    part = context.get_value_type(type_.underlying_float)
    return ir.Constant.literal_struct([part(float(value.real)), part(float(value.imag))])


@registry.lower_constant(types.BaseTuple)
def _tuple(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Value:
    members = [context.get_constant_generic(builder, each, item) for each, item in zip(type_.types, value, strict=True)]
    return (
        ir.Constant.literal_struct(members)
        if not isinstance(type_, types.UniTuple)
        else ir.Constant(context.get_value_type(type_), members)
    )


for _opaque in (
    ConstantType,
    DeviceFunctionType,
    EnumerationType,
    NamedTupleClassType,
    LanguageFunctionType,
    PrintType,
    RoundType,
    TableFunctionType,
    types.DType,
    types.Function,
    types.Module,
    types.NoneType,
    types.NumberClass,
):

    @registry.lower_constant(_opaque)
    def _nothing(context: Any, builder: ir.IRBuilder, type_: Any, value: Any) -> ir.Value:
        return context.get_dummy_value()
