"""Functions of mathematics that LLVM has no intrinsic of, by C's names; emission links its own."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import call_declared

__all__ = ["library_call"]

_SUFFIXES = {"half": "16", "float": "f", "double": ""}
_PURE = ("nounwind", "readnone")


def library_call(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Call the function that C calls `name`, for the type of the first argument."""
    suffix = _SUFFIXES[str(args[0].type)]
    if suffix != "16":
        return call_declared(builder, name + suffix, result, args, _PURE)
    bits = [builder.bitcast(each, ir.IntType(16)) for each in args]
    return builder.bitcast(call_declared(builder, f"kapi_{name}16", ir.IntType(16), bits, _PURE), result)
