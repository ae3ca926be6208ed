"""Facts of scalar values: conditions that the first and the last lane answer for all, and values that cost little."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes
from kapi_lowering.emission.llvm_ir import Block, Instruction, IRValue

__all__ = ["bound_of", "recomputed_values"]

_SWAPPED = {
    "slt": "sgt",
    "sle": "sge",
    "sgt": "slt",
    "sge": "sle",
    "ult": "ugt",
    "ule": "uge",
    "ugt": "ult",
    "uge": "ule",
}
_CHEAP = ("add", "sub", "mul", "shl", "and", "or", "xor", "trunc", "sext", "zext", "getelementptr", "icmp")
_MOST = 12
"""Instructions that are executed again, rather than their result kept in memory."""


def bound_of(condition: IRValue, shapes: Shapes) -> tuple[IRValue, IRValue, str] | None:
    """Take apart a comparison of a number that rises from lane to lane with one that all lanes share.

    Where all lanes are on, it holds for one of them if it holds for the first or the last one, and for all if for both.
    That they are equal holds for one lane of those that count by one, or for none.

    Returns the strided and the uniform number, and the predicate with the strided one on the left.
    """
    if not isinstance(condition, Instruction) or condition.opcode != "icmp":
        return None
    strided, uniform = condition.operands
    predicate = condition.predicate
    if predicate in ("eq", "ne"):
        if shapes[strided] == 0:
            strided, uniform = uniform, strided
        return (strided, uniform, predicate) if shapes[uniform] == 0 and shapes[strided] == 1 else None
    if shapes[strided] == 0:
        strided, uniform, predicate = uniform, strided, _SWAPPED[predicate]
    stride = shapes[strided]
    if shapes[uniform] != 0 or not isinstance(stride, int) or stride <= 0:
        return None
    if not _rises(strided, shapes, f"n{predicate[0]}w"):
        return None
    return strided, uniform, predicate


def _rises(value: IRValue, shapes: Shapes, flag: str) -> bool:
    """Whether a strided value does not wrap from the first to the last lane, if all are on."""
    if not isinstance(value, Instruction):
        return False
    if value.callee.startswith(QUERY):
        return True
    if value.opcode != "add" or flag not in value.flags:
        return False
    return all(shapes[each] == 0 or _rises(each, shapes, flag) for each in value.operands)


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
            if each.opcode not in _CHEAP and each not in invariant:
                continue
            cost = 1
            for operand in each.operands:
                if isinstance(operand, Instruction) and operand not in given:
                    cost += costs.get(operand, _MOST)
            if cost <= _MOST:
                costs[each] = cost
    return {*costs}
