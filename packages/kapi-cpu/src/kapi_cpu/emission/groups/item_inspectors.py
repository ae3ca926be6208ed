"""Inspectors: functions that find the active work-items of a part before one goes through it.

An inspector follows the path of a work-item that is not active, up to the next barrier. It executes what has no effect.
Where such a work-item has an effect, or work-items part by another condition, the inspector knows nothing (step 0).
"""

from __future__ import annotations

from kapi_cpu.emission.groups.active_items import ITEMS, PARTED
from kapi_lowering.emission.llvm_ir import (
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRValue,
    clone_blocks,
    constant,
    is_pure,
    parse_type,
    postorder,
)
from kapi_lowering.emission.llvm_ir.parser import parse_function_head

__all__ = ["RESULT", "add_inspector", "resolve_marks"]

RESULT = "{ i64, i64, i64 }"
"""The type that an inspector returns: the first active work-item, the step and the end."""

_UNKNOWN = constant(parse_type(RESULT), "zeroinitializer")


def add_inspector(part: Function, name: str) -> bool:
    """Add the inspector of a part of one work-item, unless it would know nothing; return whether there is one."""
    context = part.parameter("context")
    is_of_marks = any(each.callee == ITEMS for each in part.instructions())
    if context is None or context.users or not is_of_marks or any(block.phis for block in part.blocks):
        return False
    module = part.module
    parameters = ", ".join(f"{each.type}{each.attributes} %{each.name}" for each in part.parameters)
    inspector = parse_function_head(module, f"internal {RESULT} @{name}({parameters}) alwaysinline nounwind")
    values: dict[IRValue, IRValue] = dict(zip(part.parameters, inspector.parameters, strict=True))
    clone_blocks(part.blocks, values, into=inspector)
    builder = Builder(inspector.entry, inspector.entry.instructions[0])
    slots = [builder.emit("alloca i64") for _ in range(3)]
    for slot in slots:
        builder.emit("store i64 0, ptr ?", slot)
    allocations = {each for each in inspector.entry.instructions if each.opcode == "alloca"}
    in_loops = {block for loop in ControlFlow(inspector).loops for block in loop.blocks}
    noted = [_inspect(block, slots, allocations, block in in_loops) for block in [*inspector.blocks]]
    edges = {block: block.successors for block in inspector.blocks}
    behind = postorder([block for block in noted if block is not None], edges)
    if not any(block.terminator.opcode == "ret" and block.terminator.operands[0] is not _UNKNOWN for block in behind):
        return False
    reached = {*postorder([inspector.entry], edges)}
    for block in [block for block in inspector.blocks if block not in reached]:
        for each in reversed([*block.instructions]):
            each.erase()
        inspector.blocks.remove(block)
    module.functions[name] = inspector
    return True


def resolve_marks(part: Function) -> None:
    """Let a part's parameter say whether a work-item is known to be active."""
    for each in [*part.instructions()]:
        if each.callee == ITEMS:
            builder = Builder.before(each)
            each.replace_all_uses_with(builder.emit("icmp ne i32 ?, 0", part.parameter("side")))  # type: ignore[arg-type]
            each.erase()
        elif each.callee == PARTED:
            each.erase()


def _inspect(block: Block, slots: list[Instruction], allocations: set[Instruction], is_in_loop: bool) -> Block | None:
    """Let a block end where it has an effect, or at the end of the part, and note the active items that it finds.

    Returns the block that notes them.
    """
    for each in [*block.instructions]:
        if each.callee == ITEMS and not is_in_loop:
            return _note(each, slots)
        if each.opcode == "ret" and not is_in_loop:
            _return(each, slots)
            break
        if is_in_loop or not _is_effectless(each, allocations):
            _return(each, [])
            break
    return None


def _is_effectless(each: Instruction, allocations: set[Instruction]) -> bool:
    if each.opcode == "store":
        return each.operands[-1] in allocations
    if each.opcode == "load":
        return each.form.is_plain
    if each.opcode == "call":
        called = each.block.function.module.functions.get(each.callee) if each.block is not None else None
        return called is not None and "memory(none)" in called.attributes
    return is_pure(each) or each.opcode == "br" or each in allocations


def _note(mark: Instruction, slots: list[Instruction]) -> Block:
    """Keep the active items, unless some have been found, and go on as a work-item that is not active."""
    block = mark.block
    assert block is not None
    active, inactive = block.terminator.operands[1:]
    if mark.arguments[3].ref != "true":
        active, inactive = inactive, active
    function = block.function
    kept, other = function.add_block(), function.add_block()
    builder = Builder.before(mark)
    is_first = builder.emit("icmp eq i64 ?, 0", builder.emit("load i64, ptr ?", slots[1]))
    arguments = mark.arguments[:3]
    builder.emit("br i1 ?, label ?, label ?", is_first, kept, other)
    _erase_from(mark)
    builder = Builder(kept)
    for slot, value in zip(slots, arguments, strict=True):
        builder.emit("store i64 ?, ptr ?", value, slot)
    builder.emit("br label ?", inactive)
    Builder(other).emit(f"ret {RESULT} ?", _UNKNOWN)
    return kept


def _return(at: Instruction, slots: list[Instruction]) -> None:
    """Return what has been found, or that nothing is known, in place of an instruction and all behind it."""
    builder = Builder.before(at)
    if slots:
        made: IRValue = builder.emit(
            f"insertvalue {RESULT} zeroinitializer, i64 ?, 0", builder.emit("load i64, ptr ?", slots[0])
        )
        for number in (1, 2):
            found = builder.emit("load i64, ptr ?", slots[number])
            made = builder.emit(f"insertvalue {RESULT} ?, i64 ?, {number}", made, found)
        builder.emit(f"ret {RESULT} ?", made)
    else:
        builder.emit(f"ret {RESULT} ?", _UNKNOWN)
    _erase_from(at)


def _erase_from(first: Instruction) -> None:
    block = first.block
    assert block is not None
    for each in reversed(block.instructions[block.instructions.index(first) :]):
        each.erase()
