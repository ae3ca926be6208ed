"""Scalar values that cost little."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes
from kapi_lowering.emission.llvm_ir import Block, Instruction, IRValue

__all__ = ["CHEAP", "recomputed_values"]

CHEAP = ("add", "sub", "mul", "shl", "and", "or", "xor", "trunc", "sext", "zext", "getelementptr", "icmp")
"""Instructions that take little time, and may be executed at any."""

_MOST = 12
"""Instructions that are executed again, rather than their result kept in memory."""


def recomputed_values(
    blocks: Iterable[Block], shapes: Shapes, invariant: Collection[IRValue], given: Collection[IRValue]
) -> set[IRValue]:
    """The scalar values that a few instructions compute from what is always there.

    - `blocks`: all, each behind those that dominate it.
    - `invariant`: loads that may be executed at any time.
    - `given`: what is there at the start.
    """
    costs: dict[IRValue, int] = {}
    for block in blocks:
        for each in block.instructions:
            if each.form.is_void or shapes[each] is VARYING:
                continue
            if each.opcode not in CHEAP and each not in invariant:
                continue
            cost = 1
            for operand in each.operands:
                if isinstance(operand, Instruction) and operand not in given:
                    cost += costs.get(operand, _MOST)
            if cost <= _MOST:
                costs[each] = cost
    return {*costs}
