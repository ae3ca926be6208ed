"""Barriers by fission: one function for what lies between barriers, for the start and for each barrier.

Each goes on behind its barrier until the next one, keeps what is needed there, and returns which it is, from 1 on; 0 is
the end. So any control flow may lie between barriers. Values that live across one are kept in the work-item's context.

References
----------
R. Karrenberg, S. Hack, "Improving Performance of OpenCL on CPUs", 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

from kapi_cpu.emission.launch_record import aligned
from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.sizes import size_of
from kapi_lowering.emission.llvm_ir import (
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRType,
    IRValue,
    clone_blocks,
)
from kapi_lowering.emission.llvm_ir.parser import parse_function_head

__all__ = ["Steps", "barriers_of", "split_at_barriers"]

STATE_BYTES = 64
"""Bytes at the start of a context: the barrier that the work-item waits at."""


@dataclass(frozen=True)
class Steps:
    """Functions from barrier to barrier.

    Attributes
    ----------
    names : list of str
        That of the start, and those behind each barrier.
    context_bytes : int
        Bytes of a context; 0 without barriers.
    """

    names: list[str]
    context_bytes: int


def barriers_of(function: Function) -> list[Instruction]:
    """The barriers of a function, in its order."""
    return [each for each in function.instructions() if each.callee.startswith(BARRIER)]


def split_at_barriers(function: Function, order: list[str], private: set[IRValue]) -> Steps:
    """Add a function for each part of one; the whole one is erased.

    Parameters
    ----------
    function : Function
        Returns nothing. Its last parameter is the context. All values that live across a barrier are in memory that its
        entry allocates.
    order : list of str
        The names that barriers call, in the order of their numbers.
    private : set of IRValue
        Allocations that programs use by address.
    """
    barriers = {each.callee: each for each in barriers_of(function)}
    kept = _Context(function, [*barriers.values()], private)
    names = []
    for number, mark in enumerate(["", *order]):
        if number and mark not in barriers:
            names.append("")
            continue
        names.append(_step(function, number, barriers, order, kept, mark))
    module = function.module
    del module.functions[function.name]
    return Steps(names, kept.size if barriers else 0)


class _Context:
    """The context of a work-item: an offset for each value that lives across a barrier.

    Attributes
    ----------
    offsets : dict of IRValue to int
        By the allocation.
    live : dict of Instruction to list of IRValue
        The allocations whose values are needed behind a barrier.
    """

    def __init__(self, function: Function, barriers: list[Instruction], private: set[IRValue]) -> None:
        self.offsets: dict[IRValue, int] = {}
        self.live: dict[Instruction, list[IRValue]] = {}
        self.size = STATE_BYTES
        if not barriers:
            return
        allocations = [each for each in function.entry.instructions if each.opcode == "alloca"]
        slots = [each for each in allocations if each not in private and _is_slot(each)]
        live = _live_at(function, barriers, slots)
        for each in allocations:
            if each in private or any(each in found for found in live.values()):
                assert each.form.element is not None
                self.offsets[each] = self.size
                self.size += aligned(size_of(each.form.element))
        self.live = {barrier: [each for each in slots if each in found] for barrier, found in live.items()}


def _is_slot(allocation: Instruction) -> bool:
    return all(
        user.opcode == "load"
        or (user.opcode == "store" and user.operands[-1] is allocation and user.operands[0] is not allocation)
        for user in allocation.users
    )


def _live_at(
    function: Function, barriers: list[Instruction], slots: list[Instruction]
) -> dict[Instruction, set[IRValue]]:
    """The slots that are read behind each barrier before they are written."""
    known: set[IRValue] = {*slots}
    used: dict[Block, set[IRValue]] = {}
    written: dict[Block, set[IRValue]] = {}
    for block in function.blocks:
        used[block], written[block] = _accessed(block.instructions, known)
    flow = ControlFlow(function)
    live: dict[Block, set[IRValue]] = {block: set() for block in function.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(function.blocks):
            out = set().union(*(live[each] for each in flow.successors[block]))
            new = used[block] | (out - written[block])
            if new != live[block]:
                live[block], changed = new, True
    found = {}
    for barrier in barriers:
        at = barrier.block
        assert at is not None
        reads, writes = _accessed(at.instructions[at.instructions.index(barrier) + 1 :], known)
        out = set().union(*(live[each] for each in flow.successors[at]))
        found[barrier] = reads | (out - writes)
    return found


def _accessed(instructions: list[Instruction], known: set[IRValue]) -> tuple[set[IRValue], set[IRValue]]:
    """The slots that instructions read before they write them, and those that they write."""
    reads: set[IRValue] = set()
    writes: set[IRValue] = set()
    for each in instructions:
        if each.opcode == "load" and each.operands[0] in known and each.operands[0] not in writes:
            reads.add(each.operands[0])
        elif each.opcode == "store" and each.operands[-1] in known:
            writes.add(each.operands[-1])
    return reads, writes


def _step(
    function: Function, number: int, barriers: dict[str, Instruction], order: list[str], kept: _Context, mark: str
) -> str:
    module = function.module
    name = f"{function.name}.{number}"
    parameters = ", ".join(f"{each.type}{each.attributes} %{each.name}" for each in function.parameters)
    head = f"internal i32 @{name}({parameters}) alwaysinline nounwind"
    step = parse_function_head(module, head)
    module.functions[name] = step
    values: dict[IRValue, IRValue] = dict(zip(function.parameters, step.parameters, strict=True))
    clone_blocks(function.blocks, values, into=step)
    context = step.parameters[-1]
    slots = {slot for found in kept.live.values() for slot in found}
    for each in kept.offsets:
        if each in slots:
            continue
        allocation = values[each]
        assert isinstance(allocation, Instruction)
        builder = Builder.before(allocation)
        address = builder.emit(f"getelementptr i8, ptr ?, i64 {kept.offsets[each]}", context)
        allocation.replace_all_uses_with(address)
        allocation.erase()
    if mark:
        original = barriers[mark]
        copy = values[original]
        assert isinstance(copy, Instruction)
        block = copy.block
        assert block is not None
        following = block.instructions[block.instructions.index(copy) + 1]
        resume = step.add_block("resume")
        builder = Builder(resume)
        for slot in kept.live[original]:
            type_ = _element(slot)
            address = builder.emit(f"getelementptr i8, ptr ?, i64 {kept.offsets[slot]}", context)
            value = builder.emit(f"load {type_}, ptr ?, align {_alignment(type_)}", address)
            builder.emit(f"store {type_} ?, ptr ?", value, values[slot])
        # What follows a barrier in its block is the jump to what comes next.
        rest = following.operands[-1]
        if following.opcode == "br" and len(following.operands) == 1:
            builder.emit("br label ?", rest)
        else:
            raise AssertionError("a barrier must end its block")
        (begin,) = step.entry.successors
        begin.terminator.erase()
        Builder(begin).emit("br label ?", resume)
    for each in barriers.values():
        copy = values[each]
        assert isinstance(copy, Instruction)
        block = copy.block
        assert block is not None
        at = block.instructions.index(copy)
        for other in [*block.instructions[at + 1 :]]:
            other.erase()
        builder = Builder(block)
        for slot in kept.live[each]:
            type_ = _element(slot)
            value = builder.emit(f"load {type_}, ptr ?", values[slot])
            address = builder.emit(f"getelementptr i8, ptr ?, i64 {kept.offsets[slot]}", context)
            builder.emit(f"store {type_} ?, ptr ?, align {_alignment(type_)}", value, address)
        builder.emit(f"ret i32 {order.index(each.callee) + 1}")
        copy.erase()
    for instruction in [*step.instructions()]:
        if instruction.opcode == "ret" and instruction.form.text == "ret void":
            block = instruction.block
            assert block is not None
            instruction.erase()
            Builder(block).emit("ret i32 0")
    return name


def _element(slot: IRValue) -> IRType:
    assert isinstance(slot, Instruction)
    assert slot.form.element is not None
    return slot.form.element


def _alignment(type_: IRType) -> int:
    size = size_of(type_)
    return max(1, min(64, size & -size))
