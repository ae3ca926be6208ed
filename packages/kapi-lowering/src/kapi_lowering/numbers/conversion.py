"""Conversions between scalar types, implicit and written: integers wrap, floats to integers saturate."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I64, call_declared, call_intrinsic
from kapi_lowering.numbers.complex_parts import join, split
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing.rules.conversions import PYTHON_CONVERSIONS
from kapi_types.weak import weak_int

__all__ = ["convert", "held_bound", "registry"]

registry = LoweringRegistry("kapi conversion")


def convert(builder: ir.IRBuilder, value: ir.Value, source: types.Type, target: types.Type) -> ir.Value:
    """`value` of scalar type `source` as `target`: the conversion that NumPy's assignment makes.

    A float outside of an integer type's range gives its nearest end, and nan gives 0.
    """
    if isinstance(target, types.Complex):
        return _to_complex(builder, value, source, target)
    if isinstance(target, types.Boolean):
        return _to_bool(builder, value, source)
    if isinstance(target, types.Integer):
        return _to_integer(builder, value, source, target)
    return _to_float(builder, value, source, target)


def held_bound(builder: ir.IRBuilder, value: ir.Value, type_: types.Type) -> ir.Value:
    """A bound of a range or of a slice as a signed number: what 63 bits do not hold is the most that they hold."""
    if type_.signed:
        return value
    most = I64(2**63 - 1)
    return builder.select(builder.icmp_unsigned("<", value, most), value, most)


def _llvm_float(type_: types.Type) -> ir.Type:
    return {16: ir.HalfType(), 32: ir.FloatType(), 64: ir.DoubleType()}[type_.bitwidth]


def _to_bool(builder: ir.IRBuilder, value: ir.Value, source: types.Type) -> ir.Value:
    if isinstance(source, types.Boolean):
        return value
    if isinstance(source, types.Integer):
        return builder.icmp_unsigned("!=", value, value.type(0))
    if isinstance(source, types.Complex):
        parts = [builder.fcmp_unordered("!=", part, part.type(0.0)) for part in split(builder, value)]
        return builder.or_(*parts)
    return builder.fcmp_unordered("!=", value, value.type(0.0))


def _to_integer(builder: ir.IRBuilder, value: ir.Value, source: types.Type, target: types.Type) -> ir.Value:
    wanted = ir.IntType(target.bitwidth)
    if isinstance(source, types.Boolean):
        return builder.zext(value, wanted)
    if isinstance(source, types.Integer):
        if source.bitwidth == target.bitwidth:
            return value
        if source.bitwidth > target.bitwidth:
            return builder.trunc(value, wanted)
        return (builder.sext if source.signed else builder.zext)(value, wanted)
    return _saturate(builder, value, wanted, target.signed)


def _saturate(builder: ir.IRBuilder, value: ir.Value, wanted: ir.IntType, signed: bool) -> ir.Value:
    """The float's integer part, or the end of the range that it lies beyond; targets choose its instructions."""
    width = {"half": 16, "float": 32, "double": 64}[str(value.type)]
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.i{wanted.width}.f{width}"
    return call_declared(builder, name, wanted, [value])


def _to_float(builder: ir.IRBuilder, value: ir.Value, source: types.Type, target: types.Type) -> ir.Value:
    wanted = _llvm_float(target)
    if target.bitwidth == 16 and not isinstance(source, types.Float):
        # Through float32, as NumPy does it.
        return builder.fptrunc(_to_float(builder, value, source, types.float32), wanted)
    if isinstance(source, types.Boolean):
        return builder.uitofp(value, wanted)
    if isinstance(source, types.Integer):
        return (builder.sitofp if source.signed else builder.uitofp)(value, wanted)
    if source.bitwidth == target.bitwidth:
        return value
    return (builder.fpext if source.bitwidth < target.bitwidth else builder.fptrunc)(value, wanted)


def _to_complex(builder: ir.IRBuilder, value: ir.Value, source: types.Type, target: types.Type) -> ir.Value:
    part = target.underlying_float
    if isinstance(source, types.Complex):
        real, imag = split(builder, value)
        return join(builder, *(_to_float(builder, each, source.underlying_float, part) for each in (real, imag)))
    real = _to_float(builder, value, source, part)
    return join(builder, real, real.type(0.0))


_KINDS = (types.Boolean, types.Integer, types.Float, types.Complex)

for _source in _KINDS:
    # What is complex becomes nothing else by itself but true or false.
    for _target in _KINDS if _source is not types.Complex else (types.Boolean, types.Complex):

        @registry.lower_cast(_source, _target)
        def _cast(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
            return convert(builder, value, source, target)


for _target in _KINDS:

    @registry.lower_cast(ConstantType, _target)
    def _cast_member(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
        return convert(builder, I64(int(source.value)), weak_int, target)


@registry.lower_cast(types.BaseTuple, types.BaseTuple)
def _cast_tuple(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
    converted = [
        context.cast(builder, builder.extract_value(value, index), from_, to)
        for index, (from_, to) in enumerate(zip(source.types, target.types, strict=True))
    ]
    return context.make_tuple(builder, target, converted)


for _function in (*PYTHON_CONVERSIONS, complex):

    @registry.lower(_function)
    def _zero(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return ir.Constant(context.get_value_type(sig.return_type), None)


for _function in PYTHON_CONVERSIONS:

    @registry.lower(_function, types.Any)
    def _python_conversion(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return convert(builder, args[0], sig.args[0], sig.return_type)


@registry.lower(types.NumberClass, types.Any)
def _numpy_conversion(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return convert(builder, args[0], sig.args[0], sig.return_type)


@registry.lower(round, types.Any, types.NoneType)
def _round_without_digits(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return _round(context, builder, sig.replace(args=sig.args[:1]), args[:1])


@registry.lower("number.astype", types.Any, types.Any)
@registry.lower("number.item", types.Any)
def _method_conversion(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return convert(builder, args[0], sig.args[0], sig.return_type)


for _class in (types.Number, types.Boolean):

    @registry.lower_getattr(_class, "dtype")
    def _dtype(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
        return context.get_dummy_value()


@registry.lower(round, types.Any)
def _round(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    (type_,), (value,) = sig.args, args
    if not isinstance(type_, types.Float):
        return convert(builder, value, type_, weak_int)
    return convert(builder, call_intrinsic(builder, "rint", [value]), type_, weak_int)


def _strong(type_: types.Type) -> types.Type:
    return type_.dtype if isinstance(type_, types.DType) else type_.instance_type


def _register_dtypes(function: Any, left: Any, right: Any) -> None:
    @registry.lower(function, left, right)
    def compare(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return ir.Constant(ir.IntType(1), int(function(*map(_strong, sig.args))))


for _comparison in (operator.eq, operator.ne):
    for _other in (types.DType, types.NumberClass):
        _register_dtypes(_comparison, types.DType, _other)
    _register_dtypes(_comparison, types.NumberClass, types.DType)


@registry.lower_getattr(types.DType, "type")
def _dtype_type(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return context.get_dummy_value()


@registry.lower_getattr(types.DType, "itemsize")
def _dtype_itemsize(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return context.get_constant(weak_int, context.get_abi_sizeof(context.element_type(type_.dtype)))
