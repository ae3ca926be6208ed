"""Choice of a kernel's lanes: those that are demanded, or as many as fill registers, more or one by the cost model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kapi_cpu.emission.legalize.group_operations import BARRIER, SEES_LANES
from kapi_cpu.emission.vectorize.cost_model import costs_of, waits_for_itself, waits_for_operands, widest_bits
from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_cpu.emission.vectorize.processor import Processor
from kapi_cpu.emission.vectorize.query_shapes import lane_shapes, row_shapes
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import ControlFlow, Function, Instruction, IRValue

__all__ = ["VectorLength", "choose_vector_length", "uses_sub_groups"]

_MAX_LANES = 64
_OF_SUB_GROUPS = re.compile(r"kapi\.(sub_group\.|shuffle\.|\w+\.sub_group)")


@dataclass(frozen=True)
class VectorLength:
    """The lanes of a kernel's vectors.

    - `lanes`: work-items that are computed at once; 1 of scalar code.
    - `shapes`: of the kernel's values, for these lanes.
    - `reason`: why so many.
    """

    lanes: int
    shapes: Shapes
    reason: str


def choose_vector_length(
    source: Function,
    flow: ControlFlow,
    arrays: Mapping[Instruction, int],
    by_kernel: int,
    by_target: int,
    is_checked: bool,
    processor: Processor,
) -> VectorLength:
    """Choose the lanes.

    - `source`, `flow`: the kernel of one work-item.
    - `arrays`: private arrays that lanes may interleave.
    - `by_kernel`, `by_target`: the lanes that these demand; 0 if any will do.
    - `is_checked`: whether the kernel checks, and work-items may fail.
    - `processor`: which it is.
    """
    bits = processor.vector_bits
    lanes = by_kernel or by_target or _filling_lanes(source, bits, is_checked)
    shapes = Shapes(source, flow, lane_shapes(source, lanes, arrays))
    if by_kernel or by_target:
        return VectorLength(lanes, shapes, "the kernel demands it" if by_kernel else "the target demands it")
    if lanes == 1:
        return VectorLength(1, shapes, "it is checked")
    reason = f"the types that it computes in fill registers of {bits} bits"
    if uses_sub_groups(source):
        return VectorLength(lanes, shapes, reason)
    if any(each.callee.startswith(BARRIER) for each in source.instructions()):
        if lanes < _MAX_LANES and waits_for_itself(shapes, bits) and _has_wide_rows(source, flow, 2 * lanes):
            return VectorLength(2 * lanes, shapes, f"{reason}; twice as many, as iterations wait for each other")
        return VectorLength(lanes, shapes, reason)
    lanes = max(lanes, min(_MAX_LANES, bits // widest_bits(shapes)))
    costs = costs_of(shapes, lanes, processor)
    if costs.prefers_scalar:
        reason = f"a work-item costs {costs.scalar:.0f}, and {costs.vector:.0f} in a vector"
        return VectorLength(1, Shapes(source, flow, lane_shapes(source, 1, {})), reason)
    reason += f"; a work-item costs {costs.vector:.0f} in a vector, and {costs.scalar:.0f} as scalar code"
    if lanes < _MAX_LANES and waits_for_itself(shapes, bits):
        return VectorLength(2 * lanes, shapes, f"{reason}; twice as many, as iterations wait for each other")
    if lanes < _MAX_LANES and waits_for_operands(shapes, bits):
        return VectorLength(2 * lanes, shapes, f"{reason}; twice as many, as operations wait for each other")
    return VectorLength(lanes, shapes, reason)


def _filling_lanes(source: Function, vector_bits: int, is_checked: bool) -> int:
    """The lanes that fill a register with the widest type that is computed in."""
    if is_checked and not uses_sub_groups(source):
        return 1
    is_wide = any(
        each.type.scalar.text == "double"
        or (each.opcode == "load" and each.type.text == "i64" and not _is_packed(each, source))
        for each in source.instructions()
    )
    return vector_bits // (64 if is_wide else 32)


def _has_wide_rows(source: Function, flow: ControlFlow, lanes: int) -> bool:
    """Whether the rows of work-groups fill vectors, by all that is known before a launch.

    Work-groups of one axis do. Those of more axes do if neighbours on the second axis have elements of local memory
    that are so far apart, as where each row has a row of a tile.
    """
    seeds = row_shapes(source)
    if not seeds:
        return True
    shapes, widths = Shapes(source, flow, seeds), []
    for each in source.instructions():
        if each.opcode in ("load", "store") and _is_local(each.operands[-1]):
            stride = shapes[each.operands[-1]]
            size = size_of(each.type if each.opcode == "load" else each.operands[0].type)
            if isinstance(stride, int) and stride:
                widths.append(abs(stride) // size)
    return bool(widths) and min(widths) >= lanes


def _is_local(pointer: IRValue) -> bool:
    while isinstance(pointer, Instruction) and pointer.opcode == "getelementptr":
        pointer = pointer.operands[0]
    return isinstance(pointer, Instruction) and pointer.callee == "kapi.local_memory"


def uses_sub_groups(source: Function) -> bool:
    """Whether a kernel sees the lanes of its vectors."""
    if SEES_LANES in source.module.named_metadata:
        return True
    return any(_OF_SUB_GROUPS.match(each.callee) for each in source.instructions())


def _is_packed(load: Instruction, source: Function) -> bool:
    """Whether a load is of the packed arguments."""
    address = load.operands[0]
    while isinstance(address, Instruction) and address.opcode == "getelementptr":
        address = address.operands[0]
    return address in source.parameters
