"""Functions of mathematics: those of NVIDIA's libdevice, which emission links, and what it does not have.

References
----------
NVIDIA, "libdevice User's Guide".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import call_declared, call_intrinsic

__all__ = ["library_call"]

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
