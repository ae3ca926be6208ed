"""A wrong result of Intel's OpenCL CPU compiler, avoided: floats that go through an integer and back."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Module
from kapi_lowering.emission.pipeline import module_pass

from ..ir.opaque_zero import obscured

__all__ = ["obscure_round_trips"]


@module_pass
def obscure_round_trips(module: Module) -> None:
    """Let no integer that was a float be seen to become one again.

    Intel's OpenCL CPU compiler (2026.2) makes a rounding of a double that is converted to a 32-bit integer and back,
    from OpenCL C as well: -0.6 becomes -0.0, and no integer is -0. A zero that the compiler cannot know to be one is
    added between. Remove this when `test_driver_limits` says that the driver is mended.
    """
    if not any(each.opcode in ("sitofp", "uitofp") for each in module.instructions()):
        return
    for each in module.instructions():
        if each.opcode in ("fptosi", "fptoui") and each.type.text in ("i8", "i16", "i32", "i64"):
            other = obscured(Builder.after(each), each)
            each.replace_all_uses_with(other, but=[user for user in each.users if user is other])
