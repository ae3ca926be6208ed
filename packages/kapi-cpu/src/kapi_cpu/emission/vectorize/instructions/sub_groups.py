"""Operations of a sub-group, which is the lanes of a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.combinations import PARTIALS, combined, identity_of
from kapi_lowering.emission.llvm_ir import I32, Instruction, IRType, IRValue, constant, declare, parse_type

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["sub_group_operation"]


def sub_group_operation(emitter: LaneEmitter, each: Instruction) -> IRValue:
    """Write the operation that a call ``kapi.<kind>...`` stands for; returns what stands for its result."""
    _, kind, *details = each.callee.split(".")
    value = emitter.vector(each.arguments[0])
    if kind == "vote":
        return _vote(emitter, details[1], value)
    if kind == "combine":
        return _combine(emitter, details[1], details[2], each, value)
    if kind == "broadcast":
        lane = each.arguments[1]
        if emitter.shapes.is_uniform(lane):
            return _lane_of(emitter, value, emitter.scalar(lane))
        # All give the same one, which the first lane has: it is on wherever one is.
        lanes = emitter.vector(lane)
        return _lane_of(emitter, value, emitter.builder.emit(f"extractelement {lanes.type} ?, i64 0", lanes))
    return _shuffle(emitter, details[0], value, emitter.vector(each.arguments[1]))


def _lane_of(emitter: LaneEmitter, value: IRValue, lane: IRValue) -> IRValue:
    if emitter.lanes == 1:
        return value
    within = emitter.builder.emit(f"and {lane.type} ?, {emitter.lanes - 1}", lane)
    return emitter.builder.emit(f"extractelement {value.type} ?, {lane.type} ?", value, within)


def _vote(emitter: LaneEmitter, kind: str, value: IRValue) -> IRValue:
    if emitter.lanes == 1:
        return value
    if kind == "any":
        return emitter.any(emitter.both(emitter.mask, value))
    if emitter.mask is not None:
        value = emitter.builder.emit(f"or {value.type} ?, ?", value, emitter.negated(emitter.mask))
    bits = emitter.builder.emit(f"bitcast {value.type} ? to i{emitter.lanes}", value)
    return emitter.builder.emit(f"icmp eq i{emitter.lanes} ?, -1", bits)


def _combine(emitter: LaneEmitter, mode: str, combination: str, each: Instruction, value: IRValue) -> IRValue:
    """Lane after lane, in the order in which work-items are combined everywhere."""
    type_ = each.type
    builder, identity = emitter.builder, constant(type_, identity_of(combination, str(type_)))
    if emitter.lanes == 1:
        return identity if mode == "exclusive_scan" else value
    mask = emitter.mask
    if mask is not None and mode == "reduce":
        # The first lane is on wherever one is: those that are off are the last ones.
        neutral = "-0.0" if combination == "fadd" else identity.ref
        splat = constant(value.type, f"splat ({type_} {neutral})")
        value = builder.emit(f"select {mask.type} ?, {value.type} ?, {value.type} ?", mask, value, splat)
    if mode == "reduce" and emitter.lanes > PARTIALS:
        value = _partial_results(emitter, combination, type_, value)
    total: IRValue = builder.emit(f"extractelement {value.type} ?, i64 0", value)
    made: IRValue = constant(value.type, "poison")
    first = identity if mode == "exclusive_scan" else total
    made = builder.emit(f"insertelement {value.type} ?, {type_} ?, i64 0", made, first)
    for lane in range(1, min(emitter.lanes, PARTIALS) if mode == "reduce" else emitter.lanes):
        one = builder.emit(f"extractelement {value.type} ?, i64 {lane}", value)
        if mode == "exclusive_scan":
            made = builder.emit(f"insertelement {value.type} ?, {type_} ?, i64 {lane}", made, total)
        text, declared = combined(combination, str(type_), "?", "?")
        if declared:
            declare(emitter.function, declared.removeprefix("declare "))
        total = builder.emit(text, total, one)
        if mode == "inclusive_scan":
            made = builder.emit(f"insertelement {value.type} ?, {type_} ?, i64 {lane}", made, total)
    return total if mode == "reduce" else made


def _partial_results(emitter: LaneEmitter, combination: str, type_: IRType, value: IRValue) -> IRValue:
    """Combine lanes that are a multiple of `PARTIALS` apart, as in work-groups."""
    builder = emitter.builder
    parts = []
    for first in range(0, emitter.lanes, PARTIALS):
        numbers = ", ".join(f"i32 {lane}" for lane in range(first, first + PARTIALS))
        text = f"shufflevector {value.type} ?, {value.type} poison, <{PARTIALS} x i32> <{numbers}>"
        parts.append(builder.emit(text, value))
    total = parts[0]
    for part in parts[1:]:
        text, declared = combined(combination, str(type_), "?", "?", PARTIALS)
        if declared:
            declare(emitter.function, declared.removeprefix("declare "))
        total = builder.emit(text, total, part)
    return total


def _shuffle(emitter: LaneEmitter, kind: str, value: IRValue, operand: IRValue) -> IRValue:
    """The value of another lane, by its number; one that there is not gives some value."""
    lanes, builder = emitter.lanes, emitter.builder
    if lanes == 1:
        return value
    vector = parse_type(f"<{lanes} x i32>")
    own = emitter.steps(I32)
    if kind == "from":
        source = operand
    else:
        operation = {"down": "add", "up": "sub", "xor": "xor"}[kind]
        source = builder.emit(f"{operation} {vector} ?, ?", own, operand)
    source = builder.emit(f"and {vector} ?, splat (i32 {lanes - 1})", source)
    made: IRValue = constant(value.type, "poison")
    for lane in range(lanes):
        number = builder.emit(f"extractelement {vector} ?, i64 {lane}", source)
        one = builder.emit(f"extractelement {value.type} ?, {I32} ?", value, number)
        made = builder.emit(f"insertelement {value.type} ?, {one.type} ?, i64 {lane}", made, one)
    return made
