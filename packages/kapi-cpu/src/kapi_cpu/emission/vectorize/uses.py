"""Uses of values in other blocks, whether as operands or as the units of strides."""

from __future__ import annotations

from collections.abc import Mapping

from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_cpu.emission.vectorize.instructions.prefetching import FarLoad
from kapi_lowering.emission.llvm_ir import Function, Instruction, IRValue

__all__ = ["is_used_elsewhere", "units_of"]


def units_of(
    source: Function, shapes: Shapes, far_loads: Mapping[Instruction, FarLoad]
) -> dict[IRValue, dict[Instruction, None]]:
    """The instructions that need the unit of a stride, or the step of a loop, by that."""
    found: dict[IRValue, dict[Instruction, None]] = {}
    for each, far in far_loads.items():
        found.setdefault(far.step, {})[each] = None
    for each in source.instructions():
        unit = shapes.unit_of(each)
        if unit is not None:
            found.setdefault(unit, {}).update(dict.fromkeys(each.users))
    return found


def is_used_elsewhere(each: Instruction, shapes: Shapes, strided_by: Mapping[IRValue, dict[Instruction, None]]) -> bool:
    """Whether an instruction's value is used in other blocks, on the edges to them, or as a unit there."""
    block = each.block
    for user in strided_by.get(each, {}):
        if user.opcode == "phi":
            if any(source is not block for value, source in user.incoming if shapes.unit_of(value) is each):
                return True
        elif user.block is not block:
            return True
    for user in each.users:
        if user.opcode == "phi":
            if any(value is each and source is not block for value, source in user.incoming):
                return True
        elif user.block is not block:
            return True
    return False
