"""Operations over a work-group: each work-item leaves its value in memory of the group, and all wait.

What is done with the values is done once, when all have come to the barrier: `groups.actions` has it by the name of the
barrier. After it each work-item reads the result, or its own part of it.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    Builder,
    FloatType,
    Instruction,
    IntType,
    IRValue,
    Module,
    declare,
    split_before,
)
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["BARRIER", "RESULT_OFFSET", "SEES_LANES", "SLOTS_OFFSET", "expand_group_operations"]

BARRIER = "kapi.barrier."
RESULT_OFFSET, OPERAND_OFFSET, SLOTS_OFFSET = 0, 16, 64
"""Bytes in the group's memory: where results, the operand of a broadcast, and the values of work-items are."""


SEES_LANES = "!kapi.sees_lanes"
"""The metadata of kernels that had barriers of sub-groups."""


@module_pass
def expand_group_operations(module: Module) -> None:
    """Exchange values of a work-group through memory, and give barriers blocks of their own."""
    count = 0
    operations = [each for function in module.definitions for each in function.instructions() if _is_exchange(each)]
    have_one_width = len(set(map(_slot_bits, operations))) <= 1
    for function in module.definitions:
        for each in function.instructions():
            if each.callee == "kapi.barrier.sub_group":
                each.erase()  # lanes are where they are together, as long as they are lanes
                module.named_metadata[SEES_LANES] = "!{}"
            elif _is_exchange(each):
                _expand(each, have_one_width=have_one_width)
        for each in function.instructions():
            if each.callee.startswith(BARRIER):
                numbered = f"void @{BARRIER}{count}.{each.callee[len(BARRIER) :]}()"
                declare(function, numbered)
                each.rewrite(f"call {numbered}")
                _give_block(each)
                count += 1


def _is_exchange(each: Instruction) -> bool:
    return each.callee.startswith(("kapi.broadcast.work_group", "kapi.combine.work_group", "kapi.vote.work_group"))


def _slot_bits(each: Instruction) -> int:
    """Bits of what each work-item leaves."""
    type_ = each.arguments[0].type
    assert isinstance(type_, (IntType, FloatType)), "numbers alone are exchanged"
    return 32 if each.callee.startswith("kapi.vote") else type_.bits


def _expand(each: Instruction, *, have_one_width: bool) -> None:
    builder = Builder.before(each)
    function = builder.block.function
    _, kind, _, *details = each.callee.split(".")
    value = each.arguments[0]
    if kind == "vote":
        value = builder.emit("zext i1 ? to i32", value)
        action = f"combine.reduce.{'or' if details[0] == 'any' else 'and'}.i32"
    elif kind == "combine":
        action = f"combine.{details[0]}.{details[1]}.{value.type}"
    else:
        action = f"broadcast.{value.type}"
    declare(function, "ptr @kapi.scratch() memory(none)")
    declare(function, "i64 @kapi.linear_id() memory(none)")
    scratch = builder.emit("call ptr @kapi.scratch()")
    own = builder.emit("call i64 @kapi.linear_id()")
    slots = builder.emit(f"getelementptr i8, ptr ?, i64 {SLOTS_OFFSET}", scratch)
    slot = builder.emit(f"getelementptr {value.type}, ptr ?, i64 ?", slots, own)
    builder.emit(f"store {value.type} ?, ptr ?", value, slot)
    if kind == "broadcast":
        operand = builder.emit(f"getelementptr i8, ptr ?, i64 {OPERAND_OFFSET}", scratch)
        builder.emit("store i64 ?, ptr ?", each.arguments[1], operand)
    declare(function, f"void @{BARRIER}{action}()")
    builder.emit(f"call void @{BARRIER}{action}()")
    is_own = kind == "combine" and details[0] != "reduce"
    result: IRValue = builder.emit(f"load {value.type}, ptr ?", slot if is_own else scratch)
    if is_own and not have_one_width:
        # Of another width, a work-item's next value would lie in slots that others have still to read. Work-items are
        # done in any order: the ends of rows after all of the vectors.
        declare(function, f"void @{BARRIER}work_group()")
        builder.emit(f"call void @{BARRIER}work_group()")
    if kind == "vote":
        result = builder.emit("trunc i32 ? to i1", result)
    each.replace_all_uses_with(result)
    each.erase()


def _give_block(barrier: Instruction) -> None:
    first = barrier.block
    assert first is not None
    own = split_before(barrier, "barrier")
    Builder(first).emit("br label ?", own)
    rest = split_before(own.instructions[1], "resume")
    Builder(own).emit("br label ?", rest)
