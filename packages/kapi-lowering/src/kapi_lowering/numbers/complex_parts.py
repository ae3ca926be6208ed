"""Complex numbers as pairs of floats: taken apart and put together."""

from __future__ import annotations

from llvmlite import ir

__all__ = ["join", "split"]


def split(builder: ir.IRBuilder, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The real and the imaginary part."""
    return builder.extract_value(value, 0), builder.extract_value(value, 1)


def join(builder: ir.IRBuilder, real: ir.Value, imag: ir.Value) -> ir.Value:
    """The complex number of two floats of one width."""
    pair = ir.Constant(ir.LiteralStructType([real.type, imag.type]), ir.Undefined)
    return builder.insert_value(builder.insert_value(pair, real, 0), imag, 1)
