"""Values that the work-items of a group hand to each other: broadcasts, shifts, permutations, selections.

Bits are moved, whatever they mean, in integers of 32 or 64 bits: drivers lack, or crash on, some other types.

References
----------
SPIR-V specification, 3.52.21, "Group and Subgroup Instructions", and 3.52.24, "Non-Uniform Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_spirv._numba_compat import LoweringRegistry, cgutils, types
from kapi_spirv.lowering.builtins import I32, I64, call_builtin
from kapi_spirv.lowering.index_space import work_item_query
from kapi_spirv.lowering.memory_model import IN_SUB_GROUP
from kapi_spirv.lowering.sub_groups import sub_group_query
from kapi_types import GroupType, SubGroupType

__all__ = ["CONVERGENT", "LOWERED", "broadcast", "registry"]

registry = LoweringRegistry("kapi exchange")

LOWERED = {"group_broadcast", "shift_group_left", "shift_group_right", "permute_group_by_xor", "select_from_group"}

CONVERGENT = ("nounwind", "readnone", "convergent")
"""LLVM's attributes of what all work-items of a group must come to, and what orders no memory."""

_WIDTHS = {"half": 16, "float": 32, "double": 64}


def _moved(builder: ir.IRBuilder, value: ir.Value, move: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """What `move`, which takes and gives integers of 32 or 64 bits, makes of the bits of `value`."""
    type_ = value.type
    if isinstance(type_, (ir.LiteralStructType, ir.ArrayType)):
        result: ir.Value = type_(ir.Undefined)
        for position in range(len(type_.elements)):
            part = _moved(builder, builder.extract_value(value, position), move)
            result = builder.insert_value(result, part, position)
        return result
    width = _WIDTHS.get(str(type_)) or type_.width
    bits = ir.IntType(width)
    as_bits = builder.bitcast(value, bits)
    if width in (32, 64):
        return builder.bitcast(move(as_bits), type_)
    narrow = builder.trunc(move(builder.zext(as_bits, I32)), bits)
    return builder.bitcast(narrow, type_)


def broadcast(builder: ir.IRBuilder, group: Any, value: ir.Value, linear_id: ir.Value) -> ir.Value:
    """The value of the work-item `linear_id` of the group, a 64-bit value that is the same for all."""
    if isinstance(group, SubGroupType):
        place, name = [builder.trunc(linear_id, I32)], "sub_group_broadcast"
    else:
        place, name = _local_place(builder, group, linear_id), "work_group_broadcast"

    def move(bits: ir.Value) -> ir.Value:
        return call_builtin(builder, name, bits.type, [bits, *place], unsigned=True, attributes=CONVERGENT)

    return _moved(builder, value, move)


def _local_place(builder: ir.IRBuilder, group: GroupType, linear_id: ir.Value) -> list[ir.Value]:
    """The local id, OpenCL's first dimension first, of a work-item whose linear id in its group is given."""
    place = []
    for axis in range(group.ndim - 1):
        extent = work_item_query(builder, "get_local_size", I32(axis))
        place.append(builder.urem(linear_id, extent))
        linear_id = builder.udiv(linear_id, extent)
    return [*place, linear_id]


@registry.lower("group_broadcast", types.Any, types.Any, types.Any)
def _group_broadcast(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    place = _existing(context, builder, sig.args[0], args[2])
    result = broadcast(builder, sig.args[0], args[1], place)
    _check_place(context, builder, sig.args[0], ("group_broadcast", "linear_id"), args[2])
    return result


def _size(builder: ir.IRBuilder, group: Any) -> ir.Value:
    """How many work-items a group has, in 64 bits."""
    if isinstance(group, SubGroupType):
        return builder.zext(sub_group_query(builder, "get_sub_group_size"), I64)
    size: ir.Value = I64(1)
    for axis in range(group.ndim):
        size = builder.mul(size, work_item_query(builder, "get_local_size", I32(axis)))
    return size


def _existing(context: Any, builder: ir.IRBuilder, group: Any, place: ir.Value) -> ir.Value:
    """The place, where the kernel's options ask for checks 0 in the stead of one that the group does not have."""
    if not context.options.checks_bounds:
        return place
    return builder.select(builder.icmp_unsigned("<", place, _size(builder, group)), place, I64(0))


def _check_place(context: Any, builder: ir.IRBuilder, group: Any, call: tuple[str, str], place: ir.Value) -> None:
    """End the work-item if it named a member that its group does not have, after all have met."""
    if not context.options.checks_bounds:
        return
    size = _size(builder, group)
    kind = "sub-group" if isinstance(group, SubGroupType) and call[0] != "group_broadcast" else "group"
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", place, size)):
        context.call_conv.return_place_failure(builder, (*call, kind), place, size)


_Partner = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def _register_shuffle(row: str, operation: str, partner: _Partner) -> None:
    """Register a row that is one shuffle in SPIR-V 1.3; `partner` tells from whom, given the own id and the operand."""

    @registry.lower(row, SubGroupType, types.Any, types.Any)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        is_selection = row == "select_from_group"  # a shift beyond the end gives what is unused, and is none
        place = _existing(context, builder, sig.args[0], args[2]) if is_selection else args[2]
        operand = builder.trunc(place, I32)
        if context.spirv_target.version >= "1.3":

            def move(bits: ir.Value) -> ir.Value:
                name = f"__spirv_GroupNonUniform{operation}"
                operands = [IN_SUB_GROUP, bits, operand]
                return call_builtin(builder, name, bits.type, operands, unsigned=True, attributes=CONVERGENT)

            result = _moved(builder, args[1], move)
        else:
            source = partner(builder, sub_group_query(builder, "get_sub_group_local_id"), operand)
            result = _chosen_of_broadcasts(builder, sig.args[0], args[1], source)
        if is_selection:
            _check_place(context, builder, sig.args[0], (row, "remote_local_id"), args[2])
        return result


def _chosen_of_broadcasts(builder: ir.IRBuilder, group: SubGroupType, value: ir.Value, source: ir.Value) -> ir.Value:
    """Each work-item's value is broadcast; the one of `source` is kept."""
    result = cgutils.alloca_once_value(builder, value)
    size = builder.zext(sub_group_query(builder, "get_sub_group_size"), I64)
    with cgutils.for_range(builder, size) as loop:
        given = broadcast(builder, group, value, loop.index)
        is_here = builder.icmp_unsigned("==", builder.zext(source, I64), loop.index)
        builder.store(builder.select(is_here, given, builder.load(result)), result)
    return builder.load(result)


_register_shuffle("shift_group_left", "ShuffleDown", lambda builder, own, delta: builder.add(own, delta))
_register_shuffle("shift_group_right", "ShuffleUp", lambda builder, own, delta: builder.sub(own, delta))
_register_shuffle("permute_group_by_xor", "ShuffleXor", lambda builder, own, mask: builder.xor(own, mask))
_register_shuffle("select_from_group", "Shuffle", lambda builder, own, source: source)
