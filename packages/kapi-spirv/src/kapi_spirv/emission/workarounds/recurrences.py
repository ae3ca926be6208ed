"""A crash of Intel's OpenCL CPU compiler, avoided: loop variables that take each other's values."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Function, defined
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import integer_of, obscured

__all__ = ["break_recurrences"]


@function_pass
def break_recurrences(function: Function) -> None:
    """Let no loop variable take the value that another one had an iteration before.

    Intel's OpenCL CPU compiler (2026.2) crashes when it vectorises some loops of this kind across work-items, of
    which `a, b = b, a + b` is the shortest; it does so from OpenCL C as well. A zero that it cannot know to be one is
    mixed into the value, and keeps it from seeing the pattern. Remove this when `test_driver_limits` says that the
    driver is mended.
    """
    for phi in [each for block in function.blocks for each in block.phis]:
        bits = integer_of(phi.type)
        if bits is None or bits.text not in ("i8", "i16", "i32", "i64"):
            continue
        for value, before in dict.fromkeys(phi.incoming):
            other = defined(value, "phi")
            if other is not None and other is not phi and other.block is phi.block:
                phi.set_incoming(before, obscured(Builder.before(before.terminator), value, name="kapi.copy"))
