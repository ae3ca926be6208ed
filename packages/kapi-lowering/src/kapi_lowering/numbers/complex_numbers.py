"""Operators on complex numbers, by NumPy's and Python's formulas: products as written, quotients by Smith's method.

References
----------
Robert L. Smith, "Algorithm 116: Complex division", Communications of the ACM 5(8), 1962.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import call_intrinsic
from kapi_lowering.numbers.complex_parts import join, split
from kapi_lowering.numbers.conversion import convert
from kapi_types.kernel_typing.library.complex_functions import complex_power
from kapi_types.kernel_typing.library.parts import make_complex
from kapi_types.kernel_typing.rules.conversions import part_of
from kapi_types.kernel_typing.rules.operators import COMPARISONS, INPLACE
from kapi_types.weak import is_weak

__all__ = ["compare_complex", "registry"]

registry = LoweringRegistry("kapi complex numbers")

Emit = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def _by_parts(name: str) -> Emit:
    def emit(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
        (a, b), (c, d) = split(builder, left), split(builder, right)
        instruction = getattr(builder, name)
        return join(builder, instruction(a, c), instruction(b, d))

    return emit


def _multiply(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
    (a, b), (c, d) = split(builder, left), split(builder, right)
    real = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
    return join(builder, real, builder.fadd(builder.fmul(a, d), builder.fmul(b, c)))


def _divide(builder: ir.IRBuilder, left: ir.Value, right: ir.Value, is_python: bool = False) -> ir.Value:
    """Scaled by the divisor's larger part; by zero, each part of the dividend is divided by zero.

    Python divides its own numbers where NumPy multiplies by an inverse.
    """
    (a, b), (c, d) = split(builder, left), split(builder, right)
    size_c, size_d = (call_intrinsic(builder, "fabs", [part]) for part in (c, d))
    is_steep = builder.fcmp_ordered("<", size_c, size_d)
    large, small = builder.select(is_steep, d, c), builder.select(is_steep, c, d)
    first, second = builder.select(is_steep, b, a), builder.select(is_steep, a, b)
    ratio = builder.fdiv(small, large)
    below = builder.fadd(large, builder.fmul(small, ratio))
    turned = builder.fmul(first, ratio)
    difference = builder.select(is_steep, builder.fsub(turned, second), builder.fsub(second, turned))
    parts = builder.fadd(first, builder.fmul(second, ratio)), difference
    if is_python:  # the least numbers have no inverse
        real, imag = (builder.fdiv(part, below) for part in parts)
    else:
        scale = builder.fdiv(c.type(1.0), below)
        real, imag = (builder.fmul(part, scale) for part in parts)
    zero = c.type(0.0)
    by_zero = builder.and_(builder.fcmp_ordered("==", size_c, zero), builder.fcmp_ordered("==", size_d, zero))
    real = builder.select(by_zero, builder.fdiv(a, size_c), real)
    return join(builder, real, builder.select(by_zero, builder.fdiv(b, size_c), imag))


def _in_place(function: Any) -> Any:
    return next(key for key, plain in INPLACE.items() if plain is function)


def _register_binary(function: Any, emit: Emit) -> None:
    for key in (function, _in_place(function)):

        @registry.lower(key, types.Complex, types.Complex)
        def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
            return emit(builder, *args)


for _function, _emit in {
    operator.add: _by_parts("fadd"),
    operator.sub: _by_parts("fsub"),
    operator.mul: _multiply,
}.items():
    _register_binary(_function, _emit)


@registry.lower(operator.truediv, types.Complex, types.Complex)
@registry.lower(_in_place(operator.truediv), types.Complex, types.Complex)
def _quotient(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    left, right = args
    return _divide(builder, left, right, is_python=is_weak(sig.return_type))


@registry.lower(operator.pow, types.Complex, types.Complex)
@registry.lower(_in_place(operator.pow), types.Complex, types.Complex)
def _power(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    function = context.get_function((complex_power, sig.args), sig)
    context.add_linking_libs(function.libs)
    return function(builder, args)


@registry.lower(operator.neg, types.Complex)
def _negative(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    real, imag = split(builder, args[0])
    return join(builder, builder.fneg(real), builder.fneg(imag))


@registry.lower(operator.pos, types.Complex)
def _positive(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return args[0]


@registry.lower(abs, types.Complex)
def _absolute(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    real, imag = split(builder, args[0])
    return context.kernel_target.library_call(builder, "hypot", real.type, [real, imag])


def compare_complex(builder: ir.IRBuilder, symbol: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Compare by the real parts, and by the imaginary parts where these are equal, as NumPy orders complex numbers."""
    (a, b), (c, d) = split(builder, left), split(builder, right)
    if symbol == "==":
        return builder.and_(builder.fcmp_ordered("==", a, c), builder.fcmp_ordered("==", b, d))
    if symbol == "!=":
        return builder.or_(builder.fcmp_unordered("!=", a, c), builder.fcmp_unordered("!=", b, d))
    are_numbers = builder.fcmp_ordered("ord", b, d)
    by_real = builder.and_(builder.fcmp_ordered(symbol[0], a, c), are_numbers)
    return builder.or_(by_real, builder.and_(builder.fcmp_ordered("==", a, c), builder.fcmp_ordered(symbol, b, d)))


def _register_comparison(function: Any, symbol: str) -> None:
    @registry.lower(function, types.Complex, types.Complex)
    def compare(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return compare_complex(builder, symbol, *args)


for _function, _symbol in COMPARISONS.items():
    _register_comparison(_function, _symbol)


@registry.lower(complex, types.Any)
def _to_complex(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return convert(builder, args[0], sig.args[0], sig.return_type)


@registry.lower(complex, types.Any, types.Any)
@registry.lower(make_complex, types.Any, types.Any)
def _from_parts(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    wanted = sig.return_type.underlying_float
    return join(builder, *(convert(builder, part, each, wanted) for part, each in zip(args, sig.args, strict=True)))


def _register_parts(class_: Any) -> None:
    @registry.lower_getattr(class_, "real")
    def real(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
        if isinstance(type_, types.Complex):
            return builder.extract_value(value, 0)
        return convert(builder, value, type_, part_of(type_))

    @registry.lower_getattr(class_, "imag")
    def imag(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
        if isinstance(type_, types.Complex):
            return builder.extract_value(value, 1)
        return context.get_value_type(part_of(type_))(0)

    @registry.lower("number.conjugate", class_)
    def conjugate(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        if isinstance(sig.args[0], types.Complex):
            real, imag = split(builder, args[0])
            return join(builder, real, builder.fneg(imag))
        return convert(builder, args[0], sig.args[0], sig.return_type)


for _class in (types.Number, types.Boolean):
    _register_parts(_class)
