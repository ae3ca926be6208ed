"""Bits of integers: LLVM's intrinsics in 32 and 64 bits, which every target has.

Narrower integers are computed in 32 bits: LLVM's back ends do not have all widths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I32, I64, call_declared
from kapi_sim.language.table.intrinsics import rows

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi bits")

LOWERED = {row.key for row in rows(family="bits")}

_IS_POISON_OF_ZERO = ir.IntType(1)(0)


def _count(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    """The result of one of LLVM's intrinsics that count bits."""
    arguments = [value] if name == "ctpop" else [value, _IS_POISON_OF_ZERO]
    return call_declared(builder, f"llvm.{name}.i{value.type.width}", value.type, arguments)


def _leading(builder: ir.IRBuilder, value: ir.Value, width: int) -> ir.Value:
    found = _count(builder, "ctlz", value)
    return builder.sub(found, value.type(value.type.width - width))


def _trailing(builder: ir.IRBuilder, value: ir.Value, width: int) -> ir.Value:
    if width < value.type.width:
        value = builder.or_(value, value.type(1 << width))  # where the zeros of 0 end
    return _count(builder, "cttz", value)


def _set(builder: ir.IRBuilder, value: ir.Value, width: int) -> ir.Value:
    return _count(builder, "ctpop", value)


def _register(key: str, count: Callable[[ir.IRBuilder, ir.Value, int], ir.Value]) -> None:
    @registry.lower(key, types.Integer)
    def counted(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        (value,) = args
        width = value.type.width
        wide = value if width >= 32 else builder.zext(value, I32)
        found = count(builder, wide, width)
        return found if found.type == value.type else builder.trunc(found, value.type)


for _key, _how in (("clz", _leading), ("ctz", _trailing), ("popcount", _set)):
    _register(_key, _how)


@registry.lower("rotate", types.Integer, types.Integer)
def _rotate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    value, positions = args
    width = value.type.width
    wide = I32 if width < 32 else value.type
    bits = builder.zext(value, wide) if width < 32 else value
    last = wide(width - 1)
    positions = builder.trunc(positions, wide) if wide.width < positions.type.width else positions
    up, down = builder.and_(positions, last), builder.and_(builder.neg(positions), last)
    moved = builder.or_(builder.shl(bits, up), builder.lshr(bits, down))
    return builder.trunc(moved, value.type) if width < 32 else moved


@registry.lower("mul_hi", types.Integer, types.Integer)
def _mul_hi(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    width, is_signed = args[0].type.width, sig.return_type.signed
    if width == 64:
        return _upper_of_64(builder, args[0], args[1], is_signed)
    widen = builder.sext if is_signed else builder.zext
    product = builder.mul(*(widen(each, I64) for each in args))
    return builder.trunc(builder.lshr(product, I64(width)), args[0].type)


def _upper_of_64(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, is_signed: bool) -> ir.Value:
    """The upper half, by halves: not every target has integers of 128 bits."""
    half, mask = I64(32), I64(0xFFFFFFFF)

    def halves(value: ir.Value) -> tuple[ir.Value, ir.Value]:
        return builder.lshr(value, half), builder.and_(value, mask)

    (a, b), (c, d) = halves(x), halves(y)
    upper, left, right = builder.mul(a, c), builder.mul(a, d), builder.mul(b, c)
    lower, _ = halves(builder.mul(b, d))
    left_upper, left_lower = halves(left)
    # What is carried over fits: a product of halves leaves room for two more halves.
    carried_upper, _ = halves(builder.add(builder.add(right, lower), left_lower))
    upper = builder.add(upper, builder.add(left_upper, carried_upper))
    if not is_signed:
        return upper
    zero = I64(0)
    for value, other in ((x, y), (y, x)):
        upper = builder.sub(upper, builder.select(builder.icmp_signed("<", value, zero), other, zero))
    return upper
