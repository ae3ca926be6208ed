"""Comparisons, `not`, `min` and `max`: integers compare exactly, whatever their widths and signs."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.numbers.complex_numbers import compare_complex
from kapi_lowering.numbers.complex_parts import join, split
from kapi_types.kernel_typing.rules.operators import COMPARISONS

__all__ = ["registry"]

registry = LoweringRegistry("kapi comparison")


def _compare_integers(
    builder: ir.IRBuilder, symbol: str, types_: tuple[types.Type, types.Type], values: tuple[ir.Value, ir.Value]
) -> ir.Value:
    (left_type, right_type), (left, right) = types_, values
    width = max(left_type.bitwidth, right_type.bitwidth)
    if left_type.signed == right_type.signed:
        wide = [_extend(builder, type_, value, width) for type_, value in zip(types_, values, strict=True)]
        compare = builder.icmp_signed if left_type.signed else builder.icmp_unsigned
        return compare(symbol, *wide)
    signed_is_left = left_type.signed
    signed = left if signed_is_left else right
    wide = [_extend(builder, type_, value, width) for type_, value in zip(types_, values, strict=True)]
    # A negative number is below every unsigned one; the others compare as unsigned.
    is_negative = builder.icmp_signed("<", signed, signed.type(0))
    if_negative = {"==": False, "!=": True}.get(symbol, symbol.startswith("<") == signed_is_left)
    return builder.select(is_negative, ir.IntType(1)(int(if_negative)), builder.icmp_unsigned(symbol, *wide))


def _extend(builder: ir.IRBuilder, type_: types.Type, value: ir.Value, width: int) -> ir.Value:
    if type_.bitwidth == width:
        return value
    return (builder.sext if type_.signed else builder.zext)(value, ir.IntType(width))


def _compare_floats(builder: ir.IRBuilder, symbol: str, left: ir.Value, right: ir.Value) -> ir.Value:
    # nan differs from everything, itself included, and is on no side of anything.
    compare = builder.fcmp_unordered if symbol == "!=" else builder.fcmp_ordered
    return compare(symbol, left, right)


def _register_comparison(function: Any, symbol: str) -> None:
    @registry.lower(function, types.Integer, types.Integer)
    def integers(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return _compare_integers(builder, symbol, sig.args, args)

    @registry.lower(function, types.Boolean, types.Boolean)
    def bools(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return builder.icmp_unsigned(symbol, *args)

    @registry.lower(function, types.Float, types.Float)
    def floats(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return _compare_floats(builder, symbol, *args)


for _function, _symbol in COMPARISONS.items():
    _register_comparison(_function, _symbol)


@registry.lower(operator.not_, types.Any)
def _not(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return builder.not_(context.cast(builder, args[0], sig.args[0], types.boolean))


def _register_extremum(function: Any, symbol: str) -> None:
    @registry.lower(function, types.VarArg(types.Any))
    def extremum(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        best, *others = args
        type_ = sig.return_type
        for value in others:
            if isinstance(type_, types.Complex):
                better = compare_complex(builder, symbol, value, best)
                parts = zip(split(builder, value), split(builder, best), strict=True)
                best = join(builder, *(builder.select(better, *each) for each in parts))
                continue
            if isinstance(type_, types.Float):
                better = _compare_floats(builder, symbol, value, best)
            elif isinstance(type_, types.Integer):
                better = _compare_integers(builder, symbol, (type_, type_), (value, best))
            else:
                better = builder.icmp_unsigned(symbol, value, best)
            best = builder.select(better, value, best)
        return best


_register_extremum(min, "<")
_register_extremum(max, ">")
