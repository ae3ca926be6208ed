"""Values that the work-items of a group hand to each other, as OpenCL's functions and SPIR-V's instructions.

References
----------
SPIR-V specification, 3.52.21, "Group and Subgroup Instructions", and 3.52.24, "Non-Uniform Instructions";
SPV_KHR_uniform_group_instructions.
"""

from __future__ import annotations

from typing import Literal

from llvmlite import ir

from kapi_lowering.llvm_calls import I32
from kapi_lowering.target import Combination, CombineMode, GroupKind, ShuffleKind
from kapi_spirv.code.builtins import call_builtin
from kapi_spirv.code.memory_model import execution_scope
from kapi_spirv.code.work_items import work_item_query

__all__ = ["COMBINATIONS", "EXTENDED_COMBINATIONS", "EXTENSION", "broadcast", "combine", "shuffle", "vote"]

EXTENSION = "SPV_KHR_uniform_group_instructions"

COMBINATIONS = {
    "add": "IAdd",
    "fadd": "FAdd",
    "min": "SMin",
    "umin": "UMin",
    "fmin": "FMin",
    "max": "SMax",
    "umax": "UMax",
    "fmax": "FMax",
}
"""The operations that every target has."""

EXTENDED_COMBINATIONS = {
    "mul": "IMulKHR",
    "fmul": "FMulKHR",
    "and": "BitwiseAndKHR",
    "or": "BitwiseOrKHR",
    "xor": "BitwiseXorKHR",
}
"""The operations that `EXTENSION` adds."""

_CONVERGENT = ("nounwind", "readnone", "convergent")  # all work-items of a group come to it, and it orders no memory
_MODES = {"reduce": I32(0), "inclusive_scan": I32(1), "exclusive_scan": I32(2)}
_SHUFFLES = {"down": "ShuffleDown", "up": "ShuffleUp", "xor": "ShuffleXor", "from": "Shuffle"}


def broadcast(builder: ir.IRBuilder, group: GroupKind, ndim: int, value: ir.Value, linear_id: ir.Value) -> ir.Value:
    """The value of the work-item with that linear id."""
    position = [builder.trunc(linear_id, I32)] if group == "sub_group" else _local_id(builder, ndim, linear_id)
    operands = [value, *position]
    return call_builtin(builder, f"{group}_broadcast", value.type, operands, unsigned=True, attributes=_CONVERGENT)


def _local_id(builder: ir.IRBuilder, ndim: int, linear_id: ir.Value) -> list[ir.Value]:
    """The local id, the fastest axis first, of a work-item whose linear id in its group is given."""
    position = []
    for axis in range(ndim - 1):
        extent = work_item_query(builder, "local_size", I32(axis))
        position.append(builder.urem(linear_id, extent))
        linear_id = builder.udiv(linear_id, extent)
    return [*position, linear_id]


def shuffle(builder: ir.IRBuilder, kind: ShuffleKind, value: ir.Value, operand: ir.Value) -> ir.Value:
    """The value of another work-item of the sub-group."""
    operands = [execution_scope("sub_group"), value, operand]
    name = f"__spirv_GroupNonUniform{_SHUFFLES[kind]}"
    return call_builtin(builder, name, value.type, operands, unsigned=True, attributes=_CONVERGENT)


def combine(
    builder: ir.IRBuilder, group: GroupKind, mode: CombineMode, combination: Combination, value: ir.Value
) -> ir.Value:
    """Reduce or scan one value of each work-item."""
    name = (COMBINATIONS | EXTENDED_COMBINATIONS)[combination]
    operands = [execution_scope(group), _MODES[mode], value]
    return call_builtin(builder, f"__spirv_Group{name}", value.type, operands, unsigned=True, attributes=_CONVERGENT)


def vote(builder: ir.IRBuilder, group: GroupKind, kind: Literal["any", "all"], value: ir.Value) -> ir.Value:
    """Whether a bit is set for any or for all work-items."""
    operands = [execution_scope(group), value]
    return call_builtin(builder, f"__spirv_Group{kind.capitalize()}", value.type, operands, attributes=_CONVERGENT)
