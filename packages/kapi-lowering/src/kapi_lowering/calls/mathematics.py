"""The primitives of mathematics: LLVM's intrinsics where LLVM can fold them, else calls of the target's library."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I32, I64, call_intrinsic
from kapi_lowering.numbers.conversion import convert
from kapi_lowering.target import Target
from kapi_types.kernel_typing.rules.functions import primitive_key

__all__ = ["PRIMITIVES", "registry"]

registry = LoweringRegistry("kapi mathematics")

_INTRINSICS = {
    "fabs", "sqrt", "floor", "ceil", "trunc", "rint", "copysign", "exp", "exp2", "log", "log2", "log10", "pow", "sin",
    "cos", "fma",
}  # fmt: skip
_LIBRARY = {
    "cbrt", "expm1", "log1p", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "hypot", "remainder", "nextafter", "erf", "erfc", "tgamma", "lgamma",
}  # fmt: skip
_FACTORS = {"degrees": 180.0 / math.pi, "radians": math.pi / 180.0}
_PREDICATES = {"isnan", "isinf", "isfinite", "signbit"}
_EXACT_IN_HALF = {"fabs", "fma", "copysign", "floor", "ceil", "trunc", "rint", "nextafter", *_PREDICATES}

PRIMITIVES = frozenset({*_INTRINSICS, *_LIBRARY, *_FACTORS, *_PREDICATES, "fmod", "ldexp", "ilogb", "same"})
"""The primitives that are lowered here; a test compares them with the front end's."""

_LARGEST_EXPONENT = 1 << 20  # beyond every float's; libraries take a 32-bit exponent


def _compute(target: Target, builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """The result of a primitive of floats, all operands being of one float type."""
    type_ = args[0].type
    if name in _PREDICATES:
        return _classify(builder, name, args[0])
    if name in _FACTORS:
        return builder.fmul(args[0], type_(_FACTORS[name]))
    if name == "fmod":
        return builder.frem(*args)
    if name in _INTRINSICS:
        return call_intrinsic(builder, name, args)
    if name == "ilogb":
        return builder.sext(target.library_call(builder, name, I32, args), I64)
    return target.library_call(builder, name, type_, args)


def _classify(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    """A predicate, as comparisons that LLVM understands."""
    if name == "isnan":
        return builder.fcmp_unordered("uno", value, value)
    if name == "signbit":
        bits = ir.IntType({"half": 16, "float": 32, "double": 64}[str(value.type)])
        return builder.icmp_signed("<", builder.bitcast(value, bits), bits(0))
    magnitude = call_intrinsic(builder, "fabs", [value])
    infinity = value.type(float("inf"))
    return builder.fcmp_ordered("==" if name == "isinf" else "<", magnitude, infinity)


def _in_width(target: Target, builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """The same, of float16 through float32, which is what its bounds are written for."""
    if str(args[0].type) != "half" or name in _EXACT_IN_HALF:
        return _compute(target, builder, name, args)
    value = _compute(target, builder, name, [builder.fpext(arg, ir.FloatType()) for arg in args])
    return builder.fptrunc(value, ir.HalfType()) if str(value.type) == "float" else value


def _register(name: str, count: int) -> None:
    @registry.lower(primitive_key(name), *[types.Float] * count)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        value = _in_width(context.kernel_target, builder, name, list(args))
        if name in _PREDICATES or name == "ilogb" or sig.return_type == sig.args[0]:
            return value
        return convert(builder, value, sig.args[0], sig.return_type)


@registry.lower(primitive_key("same"), types.Any)
def _same(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return convert(builder, args[0], sig.args[0], sig.return_type)


@registry.lower(primitive_key("ldexp"), types.Float, types.Integer)
def _ldexp(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    value, exponent = args
    exponent = convert(builder, exponent, sig.args[1], types.int64)
    is_signed = sig.args[1].signed
    compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
    for symbol, limit in (("<", -_LARGEST_EXPONENT), (">", _LARGEST_EXPONENT))[not is_signed :]:
        exponent = builder.select(compare(symbol, exponent, I64(limit)), I64(limit), exponent)
    wide = convert(builder, value, sig.args[0], types.float32) if sig.args[0] == types.float16 else value
    scaled = context.kernel_target.library_call(builder, "ldexp", wide.type, [wide, builder.trunc(exponent, I32)])
    return builder.fptrunc(scaled, value.type) if wide is not value else scaled


_OF_TWO = {"atan2", "pow", "hypot", "copysign", "fmod", "remainder", "nextafter"}

for _name in PRIMITIVES - {"ldexp", "same"}:
    _register(_name, 3 if _name == "fma" else 2 if _name in _OF_TWO else 1)
