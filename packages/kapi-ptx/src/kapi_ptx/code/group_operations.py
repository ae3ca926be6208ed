"""Values that the work-items of a group hand to each other: shuffles in sub-groups, shared memory between them.

An operation over a work-group is one pass: each sub-group writes its part, all converge, each work-item reads what it
needs, and all converge again where another operation may come, so that the memory is free for it.

References
----------
PTX ISA, sections "shfl.sync", "redux.sync", "vote.sync" and "barrier.red".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, I64, call_declared, call_intrinsic
from kapi_lowering.target import Combination, CombineMode, GroupKind, ShuffleKind
from kapi_ptx.code.memory_model import synchronize
from kapi_ptx.code.shared_memory import free_scratch, scratch
from kapi_ptx.code.work_items import EVERY_LANE, lane, linear_id, sub_group_query, sub_group_size

__all__ = ["broadcast", "combine", "shuffle", "vote"]

_I1 = ir.IntType(1)
_SHUFFLES = {"down": "down", "up": "up", "xor": "bfly", "from": "idx"}
_LAST_LANE = {"down": 31, "up": 0, "xor": 31, "from": 31}
"""The operand that bounds a shuffle: the last lane, or for one from below the first."""

_DISTANCES = (1, 2, 4, 8, 16)

_REDUX: dict[Combination, str] = {
    "add": "add", "min": "min", "umin": "umin", "max": "max", "umax": "umax", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip

_SLOTS_PER_ITERATION = 8
"""Slots that are read together: of 4 bytes each, by two instructions. There is memory for a multiple of it."""

_Operation = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


def _instruction(name: str) -> _Operation:
    return lambda builder, left, right: getattr(builder, name)(left, right)


def _nearer(sign: str, is_signed: bool) -> _Operation:
    def chosen(builder: ir.IRBuilder, left: ir.Value, right: ir.Value) -> ir.Value:
        compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
        return builder.select(compare(sign, left, right), left, right)

    return chosen


def _intrinsic(name: str) -> _Operation:
    return lambda builder, left, right: call_intrinsic(builder, name, [left, right])


_OPERATIONS: dict[Combination, _Operation] = {
    "add": _instruction("add"),
    "fadd": _instruction("fadd"),
    "mul": _instruction("mul"),
    "fmul": _instruction("fmul"),
    "and": _instruction("and_"),
    "or": _instruction("or_"),
    "xor": _instruction("xor"),
    "min": _nearer("<", True),
    "umin": _nearer("<", False),
    "max": _nearer(">", True),
    "umax": _nearer(">", False),
    "fmin": _intrinsic("minnum"),
    "fmax": _intrinsic("maxnum"),
}


def _identity(combination: Combination, type_: ir.Type) -> ir.Constant:
    """The identity of a combination."""
    if combination in ("fadd", "fmul", "fmin", "fmax"):
        return type_({"fadd": 0.0, "fmul": 1.0, "fmin": float("inf"), "fmax": float("-inf")}[combination])
    highest = 1 << (type_.width - 1)
    values = {"add": 0, "mul": 1, "and": -1, "or": 0, "xor": 0, "umin": -1, "umax": 0, "min": highest - 1}
    return type_(values.get(combination, -highest))


def shuffle(builder: ir.IRBuilder, kind: ShuffleKind, value: ir.Value, operand: ir.Value) -> ir.Value:
    """The value of another work-item of the sub-group."""
    type_ = value.type
    if str(type_) in ("float", "double"):
        bits = ir.IntType(32 if str(type_) == "float" else 64)
        return builder.bitcast(shuffle(builder, kind, builder.bitcast(value, bits), operand), type_)

    def moved(part: ir.Value) -> ir.Value:
        given = [EVERY_LANE, part, operand, I32(_LAST_LANE[kind])]
        return call_declared(builder, f"llvm.nvvm.shfl.sync.{_SHUFFLES[kind]}.i32", I32, given)

    if type_.width == 32:
        return moved(value)
    low, high = builder.trunc(value, I32), builder.trunc(builder.lshr(value, I64(32)), I32)
    low, high = (builder.zext(moved(part), I64) for part in (low, high))
    return builder.or_(low, builder.shl(high, I64(32)))


def broadcast(builder: ir.IRBuilder, group: GroupKind, ndim: int, value: ir.Value, member: ir.Value) -> ir.Value:
    """The value of the work-item with that linear id."""
    member = builder.trunc(member, I32)
    if group == "sub_group":
        return shuffle(builder, "from", value, member)
    slot = scratch(builder, value.type)
    with builder.if_then(builder.icmp_unsigned("==", linear_id(builder), member)):
        builder.store(value, slot)
    synchronize(builder, "work_group")
    result = builder.load(slot)
    free_scratch(builder)
    return result


def vote(builder: ir.IRBuilder, group: GroupKind, kind: Literal["any", "all"], value: ir.Value) -> ir.Value:
    """Whether a bit is set for any or for all work-items."""
    if group == "sub_group":
        return call_declared(builder, f"llvm.nvvm.vote.{kind}.sync", _I1, [EVERY_LANE, value])
    name = {"any": "or", "all": "and"}[kind]
    return call_declared(builder, f"llvm.nvvm.barrier.cta.red.{name}.aligned.all", _I1, [I32(0), value])


def combine(
    builder: ir.IRBuilder,
    group: GroupKind,
    mode: CombineMode,
    combination: Combination,
    value: ir.Value,
    has_redux: bool,
) -> ir.Value:
    """Reduce or scan one value of each work-item."""
    if mode == "reduce":
        total = _reduced(builder, combination, value, has_redux)
        if group == "sub_group":
            return total
        is_first = builder.icmp_unsigned("==", lane(builder), I32(0))
        return _over_slots(builder, combination, total, is_first, None)
    inclusive = _scanned(builder, combination, value)
    own = inclusive if mode == "inclusive_scan" else _shifted(builder, combination, inclusive)
    if group == "sub_group":
        return own
    # The last work-item of a sub-group has the total of it; what comes after the last sub-group is asked by nobody.
    is_last = builder.icmp_unsigned("==", lane(builder), I32(31))
    before = _over_slots(builder, combination, inclusive, is_last, sub_group_query(builder, "sub_group_id"))
    return _OPERATIONS[combination](builder, before, own)


def _reduced(builder: ir.IRBuilder, combination: Combination, value: ir.Value, has_redux: bool) -> ir.Value:
    """The total of the sub-group, for each work-item of it."""
    if has_redux and combination in _REDUX and str(value.type) == "i32":
        name = f"llvm.nvvm.redux.sync.{_REDUX[combination]}"
        return call_declared(builder, name, I32, [value, EVERY_LANE])
    position, size = lane(builder), sub_group_size(builder)
    for distance in reversed(_DISTANCES):
        other = shuffle(builder, "down", value, I32(distance))
        has_other = builder.icmp_unsigned("<", builder.add(position, I32(distance)), size)
        value = builder.select(has_other, _OPERATIONS[combination](builder, value, other), value)
    return shuffle(builder, "from", value, I32(0))


def _scanned(builder: ir.IRBuilder, combination: Combination, value: ir.Value) -> ir.Value:
    """The total of the sub-group's work-items up to this one."""
    position = lane(builder)
    for distance in _DISTANCES:
        other = shuffle(builder, "up", value, I32(distance))
        has_other = builder.icmp_unsigned(">=", position, I32(distance))
        value = builder.select(has_other, _OPERATIONS[combination](builder, other, value), value)
    return value


def _shifted(builder: ir.IRBuilder, combination: Combination, value: ir.Value) -> ir.Value:
    """The value of the work-item before, and for the first one what changes nothing."""
    other = shuffle(builder, "up", value, I32(1))
    is_first = builder.icmp_unsigned("==", lane(builder), I32(0))
    return builder.select(is_first, _identity(combination, value.type), other)


def _over_slots(
    builder: ir.IRBuilder, combination: Combination, value: ir.Value, is_teller: ir.Value, count: ir.Value | None
) -> ir.Value:
    """The total of the first `count` sub-groups, or of all; one work-item of each sub-group tells the value of it.

    Each work-item goes over several slots in an iteration: the last sub-group may have fewer work-items than there are
    slots. Those from the end on are read and left out.
    """
    slots = scratch(builder, value.type)
    own = sub_group_query(builder, "sub_group_id")
    with builder.if_then(is_teller):
        builder.store(value, builder.gep(slots, [own], inbounds=True))
    synchronize(builder, "work_group")
    if count is None:
        first, total = 1, builder.load(slots)
        count = sub_group_query(builder, "sub_group_count")
    else:
        first, total = 0, _identity(combination, value.type)
    before = builder.basic_block
    head, body, after = (builder.append_basic_block(f"slots.{name}") for name in ("head", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    index, result = builder.phi(I32), builder.phi(value.type)
    builder.cbranch(builder.icmp_unsigned("<", index, count), body, after)
    builder.position_at_end(body)
    following: ir.Value = result
    for position in range(_SLOTS_PER_ITERATION):
        at = builder.add(index, I32(position))
        slot = builder.load(builder.gep(slots, [at], inbounds=True))
        # Slot 0 of a reduction is in the total already.
        is_in = builder.icmp_unsigned("<", builder.sub(at, I32(first)), builder.sub(count, I32(first)))
        following = builder.select(is_in, _OPERATIONS[combination](builder, following, slot), following)
    for phi, initial, later in (
        (index, I32(0), builder.add(index, I32(_SLOTS_PER_ITERATION))),
        (result, total, following),
    ):
        phi.add_incoming(initial, before)
        phi.add_incoming(later, body)
    builder.branch(head)
    builder.position_at_end(after)
    free_scratch(builder)
    return result
