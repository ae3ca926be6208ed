"""Texts, and `print` by C's `printf`."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, constant_text

__all__ = ["print_formatted", "text"]

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
