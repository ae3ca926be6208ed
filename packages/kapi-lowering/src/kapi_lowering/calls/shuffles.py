"""Values that the work-items of a group hand to each other: broadcasts, shifts, permutations, selections.

Bits are moved, whatever they mean, in integers of 32 or 64 bits: drivers lack, or crash on, some other types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, cgutils, types
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import GroupKind, ShuffleKind
from kapi_types import SubGroupType

__all__ = ["LOWERED", "broadcast", "kind_of", "registry"]

registry = LoweringRegistry("kapi exchange")

LOWERED = {"group_broadcast", "shift_group_left", "shift_group_right", "permute_group_by_xor", "select_from_group"}

_WIDTHS = {"half": 16, "float": 32, "double": 64}


def _moved(builder: ir.IRBuilder, value: ir.Value, move: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """Apply `move`, which takes and gives integers of 32 or 64 bits, to the bits of `value`."""
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


def broadcast(context: Any, builder: ir.IRBuilder, group: Any, value: ir.Value, linear_id: ir.Value) -> ir.Value:
    """The value of the work-item `linear_id` of the group, a 64-bit value that is the same for all."""
    ndim = 1 if isinstance(group, SubGroupType) else group.ndim

    def move(bits: ir.Value) -> ir.Value:
        return context.kernel_target.broadcast(builder, kind_of(group), ndim, bits, linear_id)

    return _moved(builder, value, move)


def kind_of(group: Any) -> GroupKind:
    """Return the kind of group that a type stands for."""
    return "sub_group" if isinstance(group, SubGroupType) else "work_group"


@registry.lower("group_broadcast", types.Any, types.Any, types.Any)
def _group_broadcast(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    member = _existing(context, builder, sig.args[0], args[2])
    result = broadcast(context, builder, sig.args[0], args[1], member)
    _check_member(context, builder, sig.args[0], ("group_broadcast", "linear_id"), args[2])
    return result


def _size(context: Any, builder: ir.IRBuilder, group: Any) -> ir.Value:
    """The number of work-items in a group, in 64 bits."""
    target = context.kernel_target
    if isinstance(group, SubGroupType):
        return builder.zext(target.sub_group_query(builder, "size"), I64)
    size: ir.Value = I64(1)
    for axis in range(group.ndim):
        size = builder.mul(size, target.work_item_query(builder, "local_size", I32(axis)))
    return size


def _existing(context: Any, builder: ir.IRBuilder, group: Any, member: ir.Value) -> ir.Value:
    """The member's number; 0 instead of one that the group does not have, if the kernel's options ask for checks."""
    if not context.options.checks_bounds:
        return member
    return builder.select(builder.icmp_unsigned("<", member, _size(context, builder, group)), member, I64(0))


def _check_member(context: Any, builder: ir.IRBuilder, group: Any, call: tuple[str, str], member: ir.Value) -> None:
    """End the work-item if it named a member that its group does not have, after all have converged."""
    if not context.options.checks_bounds:
        return
    size = _size(context, builder, group)
    kind = "sub-group" if isinstance(group, SubGroupType) and call[0] != "group_broadcast" else "group"
    with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", member, size)):
        context.call_conv.return_member_failure(builder, (*call, kind), member, size)


_Partner = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def _register_shuffle(row: str, kind: ShuffleKind, partner: _Partner) -> None:
    """Register a row that is one shuffle where the target has them; `partner` gives whose value it is otherwise."""

    @registry.lower(row, SubGroupType, types.Any, types.Any)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        is_selection = row == "select_from_group"  # a shift beyond the end gives what is unused, and is none
        member = _existing(context, builder, sig.args[0], args[2]) if is_selection else args[2]
        operand = builder.trunc(member, I32)
        target = context.kernel_target
        if target.has_shuffles:
            result = _moved(builder, args[1], lambda bits: target.shuffle(builder, kind, bits, operand))
        else:
            source = partner(builder, target.sub_group_query(builder, "local_id"), operand)
            result = _chosen_of_broadcasts(context, builder, sig.args[0], args[1], source)
        if is_selection:
            _check_member(context, builder, sig.args[0], (row, "remote_local_id"), args[2])
        return result


def _chosen_of_broadcasts(
    context: Any, builder: ir.IRBuilder, group: SubGroupType, value: ir.Value, source: ir.Value
) -> ir.Value:
    """Each work-item's value is broadcast; the one of `source` is kept."""
    result = cgutils.alloca_once_value(builder, value)
    size = _size(context, builder, group)
    with cgutils.for_range(builder, size) as loop:
        given = broadcast(context, builder, group, value, loop.index)
        is_here = builder.icmp_unsigned("==", builder.zext(source, I64), loop.index)
        builder.store(builder.select(is_here, given, builder.load(result)), result)
    return builder.load(result)


_register_shuffle("shift_group_left", "down", lambda builder, own, delta: builder.add(own, delta))
_register_shuffle("shift_group_right", "up", lambda builder, own, delta: builder.sub(own, delta))
_register_shuffle("permute_group_by_xor", "xor", lambda builder, own, mask: builder.xor(own, mask))
_register_shuffle("select_from_group", "from", lambda builder, own, source: source)
