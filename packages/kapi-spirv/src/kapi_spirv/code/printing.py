"""`printf`, as OpenCL has it.

References
----------
OpenCL C 3.0 specification, section 6.15.14, "printf"; OpenCL extended instruction set for SPIR-V, "printf".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, call_declared, constant_text

__all__ = ["print_formatted", "text"]

_CONSTANT_SPACE = 2
_MANGLED = {"text": "S0_", "int64": "l", "uint64": "m", "float32": "f", "float64": "d"}


def text(builder: ir.IRBuilder, content: str) -> ir.Value:
    """A pointer to a constant text."""
    return constant_text(builder, content, space=_CONSTANT_SPACE)


def print_formatted(builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]) -> None:
    """Print as C's `printf`."""
    # LLVM's back end ends the process on a variadic call with pointers: each list of types has a function of its own.
    symbol = "_Z6printfPU3AS2Kc" + "".join(_MANGLED[code] for code in codes)
    operands = [text(builder, format_), *values]
    call_declared(builder, symbol, I32, operands, ("nounwind",), "spir_func")
