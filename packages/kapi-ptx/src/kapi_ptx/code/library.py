"""Functions of mathematics, of NVIDIA's libdevice, which emission links, or its own; and `vprintf`.

References
----------
NVIDIA, "libdevice User's Guide".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared, constant_text
from kapi_ptx.code.float16 import next_float16
from kapi_sim import AddressSpace

__all__ = ["library_call", "print_formatted", "text"]

_SUFFIXES = {"float": "f", "double": ""}


def library_call(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Call the function that C calls `name`."""
    if str(args[0].type) == "half":
        assert name == "nextafter"  # all others come in 32 bits
        return next_float16(builder, *args)
    symbol = f"__nv_{name}{_SUFFIXES[str(args[0].type)]}"
    return call_declared(builder, symbol, result, args, ("nounwind", "readnone"))


_BYTE = ir.IntType(8)
_POINTER = _BYTE.as_pointer()
_OF_CODES = {"text": _POINTER, "int64": ir.IntType(64), "uint64": ir.IntType(64)}


def text(builder: ir.IRBuilder, content: str) -> ir.Value:
    """A generic pointer to a constant text."""
    start = constant_text(builder, content, "kapi_text", int(AddressSpace.GLOBAL))
    return builder.addrspacecast(start, _POINTER)


def print_formatted(builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]) -> None:
    """Print as C's `printf`."""
    # As C promotes them: what `vprintf` reads has 8 bytes each.
    promoted = [
        builder.fpext(value, ir.DoubleType()) if code == "float32" else value
        for value, code in zip(values, codes, strict=True)
    ]
    type_ = ir.LiteralStructType([_OF_CODES.get(code, ir.DoubleType()) for code in codes])
    # In the first block: memory that is taken in a loop is taken in each iteration of it.
    with builder.goto_entry_block():
        held = builder.alloca(type_)
    for position, value in enumerate(promoted):
        builder.store(value, builder.gep(held, [I32(0), I32(position)], inbounds=True))
    call_declared(builder, "vprintf", I32, [text(builder, format_), builder.bitcast(held, _POINTER)], ("nounwind",))
