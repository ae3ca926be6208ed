"""`print`, as OpenCL's `printf`: one call of it for each, with the format as a constant.

Integers, bools and texts look as Python's do; floats have six digits, as C's `%g` writes them.

References
----------
OpenCL C 3.0 specification, section 6.15.14, "printf"; OpenCL extended instruction set for SPIR-V, "printf".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_spirv._numba_compat import LoweringRegistry, types
from kapi_spirv.lowering.builtins import I32
from kapi_spirv.lowering.conversion import convert
from kapi_types.kernel_typing.prints import PRINT, is_text

__all__ = ["registry"]

registry = LoweringRegistry("kapi printing")

_CONSTANT_SPACE = 2
_TEXT = ir.IntType(8).as_pointer(_CONSTANT_SPACE)


@registry.lower(PRINT, types.VarArg(types.Any))
def _print(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    sep, end = (type_.value.text for type_ in sig.args[:2])
    formats, values, codes = [], [], ""
    for type_, value in zip(sig.args[2:], args[2:], strict=True):
        if is_text(type_):
            formats.append(type_.value.text.replace("%", "%%"))
            continue
        format_, code, shown = _shown(builder, type_, value)
        formats.append(format_)
        values.append(shown)
        codes += code
    sep, end = sep.replace("%", "%%"), end.replace("%", "%%")
    _call_printf(builder, sep.join(formats) + end, values, codes)
    return context.get_dummy_value()


def _shown(builder: ir.IRBuilder, type_: types.Type, value: ir.Value) -> tuple[str, str, ir.Value]:
    """The conversion of a number, the code of its type in mangled names, and the value to hand over."""
    if isinstance(type_, types.Boolean):
        return "%s", "S0_", builder.select(value, _text(builder, "True"), _text(builder, "False"))
    if isinstance(type_, types.Integer):
        wide = types.int64 if type_.signed else types.uint64
        return (
            ("%ld", "l", convert(builder, value, type_, wide))
            if type_.signed
            else ("%lu", "m", convert(builder, value, type_, wide))
        )
    if type_.bitwidth == 16:
        return "%g", "f", convert(builder, value, type_, types.float32)
    return "%g", "d" if type_.bitwidth == 64 else "f", value


def _text(builder: ir.IRBuilder, text: str) -> ir.Value:
    """A pointer to a constant text."""
    content = bytearray(text.encode() + b"\0")
    module = builder.module
    type_ = ir.ArrayType(ir.IntType(8), len(content))
    variable = ir.GlobalVariable(module, type_, module.get_unique_name("kapi.text"), _CONSTANT_SPACE)
    variable.linkage, variable.global_constant, variable.initializer = "internal", True, ir.Constant(type_, content)
    return builder.gep(variable, [I32(0), I32(0)], inbounds=True)


def _call_printf(builder: ir.IRBuilder, format_: str, values: list[ir.Value], codes: str) -> None:
    # LLVM's back end ends the process on a variadic call with pointers: each list of types has a function of its own.
    symbol = f"_Z6printfPU3AS2Kc{codes}"
    function = builder.module.globals.get(symbol)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(I32, [_TEXT, *(value.type for value in values)]), symbol)
        function.calling_convention = "spir_func"
        function.attributes.add("nounwind")
    builder.call(function, [_text(builder, format_), *values], cconv="spir_func")
