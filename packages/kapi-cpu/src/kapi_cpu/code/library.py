"""C's functions: those of mathematics that LLVM has no intrinsic of, which emission links, and `printf`."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared, constant_text

__all__ = ["library_call", "print_formatted", "text"]

_SUFFIXES = {"half": "16", "float": "f", "double": ""}
_PURE = ("nounwind", "readnone")


def library_call(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Call the function that C calls `name`, for the type of the first argument."""
    suffix = _SUFFIXES[str(args[0].type)]
    if suffix != "16":
        return call_declared(builder, name + suffix, result, args, _PURE)
    bits = [builder.bitcast(each, ir.IntType(16)) for each in args]
    return builder.bitcast(call_declared(builder, f"kapi_{name}16", ir.IntType(16), bits, _PURE), result)


_CHARACTER = ir.IntType(8)


def text(builder: ir.IRBuilder, content: str) -> ir.Value:
    """A pointer to a constant text."""
    return constant_text(builder, content)


def print_formatted(builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]) -> None:
    """Call `printf`, which takes float64 alone."""
    module = builder.module
    function = module.globals.get("printf")
    if function is None:
        function = ir.Function(module, ir.FunctionType(I32, [_CHARACTER.as_pointer()], var_arg=True), "printf")
    wide = [
        builder.fpext(value, ir.DoubleType()) if code == "float32" else value
        for value, code in zip(values, codes, strict=True)
    ]
    builder.call(function, [text(builder, format_), *wide])
