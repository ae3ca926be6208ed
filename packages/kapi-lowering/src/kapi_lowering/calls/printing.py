"""`print`, as OpenCL's `printf`: one call of it for each, with the format as a constant.

Integers, bools and texts look as Python's do; floats have six digits, as C's `%g` writes them.

References
----------
OpenCL C 3.0 specification, section 6.15.14, "printf"; OpenCL extended instruction set for SPIR-V, "printf".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
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
        format_, code, converted = _conversion(context.kernel_target, builder, type_, value)
        formats.append(format_)
        values.append(converted)
        codes.append(code)
    sep, end = sep.replace("%", "%%"), end.replace("%", "%%")
    context.kernel_target.print_formatted(builder, sep.join(formats) + end, values, codes)
    return context.get_dummy_value()


def _conversion(target: Target, builder: ir.IRBuilder, type_: types.Type, value: ir.Value) -> tuple[str, str, ir.Value]:
    """The conversion of a number, the code of what is handed over, and the value to hand over."""
    if isinstance(type_, types.Boolean):
        return "%s", "text", builder.select(value, target.text(builder, "True"), target.text(builder, "False"))
    if isinstance(type_, types.Integer):
        wide = types.int64 if type_.signed else types.uint64
        return ("%ld" if type_.signed else "%lu"), str(wide), convert(builder, value, type_, wide)
    if type_.bitwidth == 16:
        return "%g", "float32", convert(builder, value, type_, types.float32)
    return "%g", f"float{type_.bitwidth}", value
