"""A wrong number of iterations of Intel's OpenCL CPU compiler, avoided: counters compared after their step."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Function, Instruction, IntType, IRValue, LocalValue, defined
from kapi_lowering.emission.pipeline import function_pass

from ..ir.opaque_zero import opaque_zero

__all__ = ["obscure_counter_starts"]


@function_pass
def obscure_counter_starts(function: Function) -> None:
    """Let no counter begin with a zero that is seen, if what follows it may be beyond the last one.

    Intel's OpenCL CPU compiler (2026.2) lets ``do { k = k + 1; } while (k <= x);`` run 2**32 or 2**64 times if `k`
    begins with 0, may wrap, and `x` is negative: one iteration is right. It does so from OpenCL C as well. The counter
    begins with a zero that the compiler cannot know to be one. Remove this when `test_driver_limits` says that the
    driver is mended.
    """
    beyond = {each for test in function.instructions() for each in _after_a_step(test)}
    for phi in [each for block in function.blocks for each in block.phis] if beyond else ():
        if not isinstance(phi.type, IntType) or phi.type.text not in ("i8", "i16", "i32", "i64"):
            continue
        steps = [each for value, _ in phi.incoming if value in beyond and (each := defined(value, "add"))]
        if any(each.operands[0] is phi and each.operands[1].integer == 1 and not each.flags for each in steps):
            for value, block in phi.incoming:
                if value.integer == 0:
                    phi.set_incoming(block, opaque_zero(function, phi.type))


def _after_a_step(test: Instruction) -> list[IRValue]:
    """The value that a comparison asks about, whether it is beyond another one that is no constant."""
    if test.opcode != "icmp" or test.predicate not in ("sgt", "sge", "slt", "sle"):
        return []
    one, other = test.operands
    if test.predicate in ("slt", "sge"):
        one, other = other, one
    if not isinstance(one, LocalValue) or not isinstance(other, LocalValue):
        return []
    # `k < x + 1` is `k <= x` to a compiler that knows that x + 1 does not wrap.
    is_next = any("nsw" in each.flags for each in (one, other) if isinstance(each, Instruction))
    return [one, other] if is_next else [one]
