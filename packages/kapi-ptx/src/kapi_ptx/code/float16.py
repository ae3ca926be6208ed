"""Functions of float16 that libdevice lacks.

PTX has instructions for all else. Remainders are float32's (`emission/libdevice/mathematics.py`), and minima with 1 are
kept from the assembler (`emission/workarounds/saturations.py`).
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import call_intrinsic

__all__ = ["next_float16"]

_I16 = ir.IntType(16)


def next_float16(builder: ir.IRBuilder, value: ir.Value, toward: ir.Value) -> ir.Value:
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
