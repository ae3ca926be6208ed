"""Functions of mathematics, of NVIDIA's libdevice, which emission links, or its own; and `vprintf`.

References
----------
NVIDIA, "libdevice User's Guide".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared, call_intrinsic, constant_text
from kapi_sim import AddressSpace

__all__ = ["library_call", "print_formatted", "text"]

_I16 = ir.IntType(16)
_SUFFIXES = {"float": "f", "double": ""}


def library_call(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
    """Call the function that C calls `name`."""
    if str(args[0].type) == "half":
        assert name == "nextafter"  # all others come in 32 bits
        return _next_half(builder, *args)
    symbol = f"__nv_{name}{_SUFFIXES[str(args[0].type)]}"
    return call_declared(builder, symbol, result, args, ("nounwind", "readnone"))


def _next_half(builder: ir.IRBuilder, value: ir.Value, toward: ir.Value) -> ir.Value:
    """The float16 next to `value`: its bits, as an integer, count the numbers of one sign."""
    bits = builder.bitcast(value, _I16)
    is_up = builder.fcmp_ordered(">", toward, value)
    is_negative = builder.icmp_signed("<", bits, _I16(0))
    step = builder.select(builder.xor(is_up, is_negative), _I16(1), _I16(-1))
    moved = builder.bitcast(builder.add(bits, step), ir.HalfType())
    zero = ir.HalfType()(0.0)
    from_zero = call_intrinsic(builder, "copysign", [builder.bitcast(_I16(1), ir.HalfType()), toward])
    moved = builder.select(builder.fcmp_ordered("==", value, zero), from_zero, moved)
    moved = builder.select(builder.fcmp_ordered("==", value, toward), toward, moved)
    # The sum of two is nan if either is.
    return builder.select(builder.fcmp_unordered("uno", value, toward), builder.fadd(value, toward), moved)


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
