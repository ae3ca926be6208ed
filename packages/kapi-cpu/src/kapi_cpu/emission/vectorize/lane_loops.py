"""Loops over lanes, for what no vector instruction does: the instruction as it is, once for each lane that is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.shapes import VARYING
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
    parse_type,
)

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.lanes import LaneEmitter

__all__ = ["NotVectorizableError", "lane_loop", "rolled_loop"]


def rolled_loop(module: Module) -> str:
    """The metadata of a loop that is not unrolled."""
    option = module.add_metadata('!{!"llvm.loop.unroll.disable"}')
    return module.add_metadata(f"distinct !{{{{}}, {option}}}")


class NotVectorizableError(Exception):
    """An instruction has no form for several lanes."""


def lane_loop(emitter: LaneEmitter, each: Instruction) -> IRValue | None:
    """The instruction as it is, once for each lane that is on, in their order."""
    mask = emitter.mask_value()
    operands = [
        emitter.vector(operand) if emitter.shapes[operand] is VARYING else emitter.fetch(operand)
        for operand in each.operands
    ]
    parts: tuple[IRType, ...] = () if each.type is VOID or not each.users else (each.type,)
    if parts and isinstance(each.type, StructType):
        parts = each.type.elements
    slots: list[IRValue] = []
    for part in parts:
        wide = parse_type(f"<{emitter.lanes} x {_in_memory(part)}>")
        slot = emitter.alloca(wide, "lanes")
        emitter.builder.emit(f"store {wide} zeroinitializer, ptr ?", slot)
        slots.append(slot)
    before = emitter.builder.block
    head, body, after, end = (emitter.block(f"lane.{name}") for name in ("head", "body", "next", "end"))
    emitter.jump(head)
    emitter.move(head)
    lane = emitter.builder.emit("phi i64 [ 0, ? ], [ 0, ? ]", before, before, name="lane")
    is_on = emitter.builder.emit(f"extractelement {mask.type} ?, i64 ?", mask, lane)
    emitter.branch(is_on, body, after)
    emitter.move(body)
    taken = []
    for operand, held in zip(each.operands, operands, strict=True):
        shape = emitter.shapes[operand]
        if shape is VARYING:
            if isinstance(operand.type, StructType):
                raise NotVectorizableError("an argument that is a structure")
            held = emitter.builder.emit(f"extractelement {held.type} ?, i64 ?", held, lane)
        elif shape:
            step = emitter.builder.emit(f"mul i64 ?, {shape}", lane)
            if isinstance(operand.type, PointerType):
                held = emitter.builder.emit("getelementptr i8, ptr ?, i64 ?", held, step)
            else:
                if operand.type is not I64:
                    step = emitter.builder.emit(f"trunc i64 ? to {operand.type}", step)
                held = emitter.builder.emit(f"add {operand.type} ?, ?", held, step)
        taken.append(held)
    copy = emitter.copied(each, taken)
    for number, (slot, part) in enumerate(zip(slots, parts, strict=True)):
        one: IRValue = copy
        if isinstance(each.type, StructType):
            one = emitter.builder.emit(f"extractvalue {each.type} ?, {number}", copy)
        kind = _in_memory(part)
        if kind is not part:
            one = emitter.builder.emit(f"zext {part} ? to {kind}", one)
        at = emitter.builder.emit(f"getelementptr {kind}, ptr ?, i64 ?", slot, lane)
        emitter.builder.emit(f"store {kind} ?, ptr ?", one, at)
    emitter.jump(after)
    emitter.move(after)
    following = emitter.builder.emit("add i64 ?, 1", lane)
    lane.rewrite("phi i64 [ 0, ? ], [ ?, ? ]", before, following, after)
    is_left = emitter.builder.emit(f"icmp ult i64 ?, {emitter.lanes}", following)
    kept = f", !llvm.loop {rolled_loop(emitter.function.module)}" if each.opcode == "call" else ""
    emitter.builder.emit("br i1 ?, label ?, label ?", is_left, head, end, metadata=kept)
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


def _in_memory(type_: IRType) -> IRType:
    return parse_type("i8") if type_ is I1 else type_
