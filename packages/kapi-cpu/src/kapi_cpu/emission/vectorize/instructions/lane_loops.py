"""Loops over lanes, for what no vector instruction does: the instruction as it is, once for each lane that is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.divergence import VARYING, Stride
from kapi_lowering.emission.llvm_ir import (
    I1,
    I64,
    VOID,
    Instruction,
    IRType,
    IRValue,
    Module,
    PointerType,
    StructType,
    constant,
    declare,
    parse_type,
)

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["NotVectorizableError", "lane_loop", "rolled_loop"]


def rolled_loop(module: Module) -> str:
    """The metadata of a loop that is not unrolled."""
    option = module.add_metadata('!{!"llvm.loop.unroll.disable"}')
    return module.add_metadata(f"distinct !{{{{}}, {option}}}")


class NotVectorizableError(Exception):
    """An instruction has no form for several lanes."""


def lane_loop(emitter: LaneEmitter, each: Instruction) -> IRValue | None:
    """The instruction as it is, once for each lane that is on, in their order."""
    builder, mask = emitter.builder, emitter.mask_value()
    held = [_in_lanes(emitter, operand) for operand in each.operands]
    parts: tuple[IRType, ...] = () if each.type is VOID or not each.users else (each.type,)
    if parts and isinstance(each.type, StructType):
        parts = each.type.elements
    slots: list[IRValue] = []
    for part in parts:
        wide = parse_type(f"<{emitter.lanes} x {_in_memory(part)}>")
        slot = emitter.alloca(wide, "lanes")
        builder.emit(f"store {wide} zeroinitializer, ptr ?", slot)
        slots.append(slot)
    bits = builder.emit(f"bitcast {mask.type} ? to i{emitter.lanes}", mask)
    if emitter.lanes < 64:
        bits = builder.emit(f"zext i{emitter.lanes} ? to i64", bits)
    before, body, end = builder.block, emitter.block("lane.body"), emitter.block("lane.end")
    if emitter.mask is None or emitter.is_nonempty:
        emitter.jump(body)
    else:
        emitter.branch(emitter.any(mask), body, end)
    emitter.move(body)
    builder = emitter.builder
    left = builder.emit("phi i64 [ ?, ? ], [ 0, ? ]", bits, before, body, name="left")
    declare(emitter.function, "i64 @llvm.cttz.i64(i64, i1)")
    lane = builder.emit("call i64 @llvm.cttz.i64(i64 ?, i1 true)", left)
    copy = emitter.copied(each, [_of_lane(emitter, *pair, lane) for pair in zip(each.operands, held, strict=True)])
    for number, (slot, part) in enumerate(zip(slots, parts, strict=True)):
        one: IRValue = copy
        if isinstance(each.type, StructType):
            one = builder.emit(f"extractvalue {each.type} ?, {number}", copy)
        kind = _in_memory(part)
        if kind is not part:
            one = builder.emit(f"zext {part} ? to {kind}", one)
        at = builder.emit(f"getelementptr {kind}, ptr ?, i64 ?", slot, lane)
        builder.emit(f"store {kind} ?, ptr ?", one, at)
    others = builder.emit("and i64 ?, ?", left, builder.emit("add i64 ?, -1", left))
    left.rewrite("phi i64 [ ?, ? ], [ ?, ? ]", bits, before, others, body)
    is_left = builder.emit("icmp ne i64 ?, 0", others)
    kept = f", !llvm.loop {rolled_loop(emitter.function.module)}" if each.opcode == "call" else ""
    builder.emit("br i1 ?, label ?, label ?", is_left, body, end, metadata=kept)
    emitter.move(end)
    if not parts:
        return None
    results: list[IRValue] = []
    for slot, part in zip(slots, parts, strict=True):
        kind = _in_memory(part)
        wide = parse_type(f"<{emitter.lanes} x {kind}>")
        one = emitter.builder.emit(f"load {wide}, ptr ?", slot)
        results.append(
            one if kind is part else emitter.builder.emit(f"trunc {wide} ? to {emitter.vector_type(part)}", one)
        )
    if not isinstance(each.type, StructType):
        return results[0]
    made: IRValue = constant(emitter.vector_type(each.type), "poison")
    for number, one in enumerate(results):
        made = emitter.builder.emit(f"insertvalue {made.type} ?, {one.type} ?, {number}", made, one)
    return made


def _in_lanes(emitter: LaneEmitter, operand: IRValue) -> IRValue:
    """An operand as the loop finds it: that of the first lane, or the address of those of all."""
    if emitter.shapes[operand] is not VARYING:
        return emitter.fetch(operand)
    if isinstance(operand.type, StructType):
        raise NotVectorizableError("an argument that is a structure")
    vector, kind = emitter.vector(operand), _in_memory(operand.type)
    if kind is not operand.type:
        vector = emitter.builder.emit(f"zext {vector.type} ? to <{emitter.lanes} x {kind}>", vector)
    slot = emitter.alloca(vector.type, "operands")
    emitter.builder.emit(f"store {vector.type} ?, ptr ?", vector, slot)
    return slot


def _of_lane(emitter: LaneEmitter, operand: IRValue, held: IRValue, lane: IRValue) -> IRValue:
    """An operand in the loop."""
    builder, shape, type_ = emitter.builder, emitter.shapes[operand], operand.type
    if shape == 0:
        return held
    if shape is VARYING:
        kind = _in_memory(type_)
        at = builder.emit(f"getelementptr {kind}, ptr ?, i64 ?", held, lane)
        one = builder.emit(f"load {kind}, ptr ?", at)
        return one if kind is type_ else builder.emit(f"trunc {kind} ? to {type_}", one)
    if isinstance(shape, Stride):
        step = builder.emit("mul i64 ?, ?", lane, emitter.stride(shape))
    else:
        step = builder.emit(f"mul i64 ?, {shape}", lane)
    if isinstance(type_, PointerType):
        return builder.emit("getelementptr i8, ptr ?, i64 ?", held, step)
    if type_ is not I64:
        step = builder.emit(f"trunc i64 ? to {type_}", step)
    return builder.emit(f"add {type_} ?, ?", held, step)


def _in_memory(type_: IRType) -> IRType:
    return parse_type("i8") if type_ is I1 else type_
