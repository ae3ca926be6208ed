"""The option `fastmath`: flags on each operation of floats.

References
----------
LLVM Language Reference, "Fast-Math Flags".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

__all__ = ["allow_fast_math"]

_OPERATIONS = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp"))
_FLOATS = (ir.HalfType, ir.FloatType, ir.DoubleType)


def allow_fast_math(module: ir.Module, flags: Sequence[str]) -> None:
    """Give the flags to each float operation of a module, and to each call that returns a float.

    Parameters
    ----------
    module : llvmlite.ir.Module
        Changed in place.
    flags : sequence of str
        Names from `kapi_sim.language.FAST_MATH_FLAGS`; none changes nothing.
    """
    if not flags:
        return
    instructions = (each for function in module.functions for block in function.blocks for each in block.instructions)
    for instruction in instructions:
        if isinstance(instruction, ir.CallInstr):
            if isinstance(instruction.type, _FLOATS):
                instruction.fastmath.update(flags)
        elif instruction.opname in _OPERATIONS:
            instruction.flags.extend(flag for flag in flags if flag not in instruction.flags)
