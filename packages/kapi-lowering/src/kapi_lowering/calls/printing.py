"""`print`, as OpenCL's `printf`: one call of it for each, with the format as a constant.

Integers, bools and texts look as in Python. Floats have six digits, as C's `%g` writes them. Whole ones that it writes
without an exponent have Python's ``.0``.

References
----------
OpenCL C 3.0 specification, section 6.15.14, "printf"; OpenCL extended instruction set for SPIR-V, "printf".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I32
from kapi_lowering.numbers.conversion import convert
from kapi_lowering.target import Target
from kapi_types.kernel_typing.calls.prints import PRINT, is_text

__all__ = ["registry"]

registry = LoweringRegistry("kapi printing")


@registry.lower(PRINT, types.VarArg(types.Any))
def _print(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    sep, end = (type_.value.text for type_ in sig.args[:2])
    formats, values, codes = [], [], []
    for type_, value in zip(sig.args[2:], args[2:], strict=True):
        if is_text(type_):
            formats.append(type_.value.text.replace("%", "%%"))
            continue
        format_, handed_over = _conversion(context.kernel_target, builder, type_, value)
        formats.append(format_)
        for code, converted in handed_over:
            values.append(converted)
            codes.append(code)
    sep, end = sep.replace("%", "%%"), end.replace("%", "%%")
    context.kernel_target.print_formatted(builder, sep.join(formats) + end, values, codes)
    return context.get_dummy_value()


def _conversion(
    target: Target, builder: ir.IRBuilder, type_: types.Type, value: ir.Value
) -> tuple[str, list[tuple[str, ir.Value]]]:
    """The conversion of a number, and the values to hand over, each with its code."""
    if isinstance(type_, types.Boolean):
        chosen = builder.select(value, target.text(builder, "True"), target.text(builder, "False"))
        return "%s", [("text", chosen)]
    if isinstance(type_, types.Integer):
        wide = types.int64 if type_.signed else types.uint64
        return ("%ld" if type_.signed else "%lu"), [(str(wide), convert(builder, value, type_, wide))]
    if type_.bitwidth == 16:
        value, type_ = convert(builder, value, type_, types.float32), types.float32
    # `%g` writes a sign before not-a-number, which Python does not.
    value = builder.select(builder.fcmp_unordered("uno", value, value), value.type(float("nan")), value)
    end = builder.select(_is_integral(builder, value), target.text(builder, ".0"), target.text(builder, ""))
    return "%g%s", [(f"float{type_.bitwidth}", value), ("text", end)]


def _is_integral(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Whether a float is an integer that `%g` writes without an exponent."""
    limit = value.type(1e6)
    is_short = builder.and_(
        builder.fcmp_ordered("<", value, limit), builder.fcmp_ordered(">", value, builder.fneg(limit))
    )
    rounded = builder.sitofp(builder.fptosi(builder.select(is_short, value, value.type(0.5)), I32), value.type)
    return builder.fcmp_ordered("==", rounded, value)
