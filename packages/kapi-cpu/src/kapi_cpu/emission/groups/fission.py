"""Barriers by fission: one function for what lies between barriers, for the start and for each barrier.

Each goes on behind its barrier until the next one, keeps what is needed there, and returns which it is, from 1 on; 0 is
the end. So any control flow may lie between barriers. Values that live across one are kept in the context of the vector
of work-items. Where all work-items of a group come to the same barriers, values that all of them have are arguments and
results instead, and stay in registers.

A function in which work-items compare their numbers with one bound returns its split point, too: where along a row the
answer changes. It takes the side of that point that its vector is on.

References
----------
R. Karrenberg, S. Hack, "Improving Performance of OpenCL on CPUs", 2012.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from kapi_cpu.emission.launch_record import aligned
from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.instructions.bounds import SIDE
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import (
    I32,
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRType,
    IRValue,
    clone_blocks,
    constant,
    parse_type,
)
from kapi_lowering.emission.llvm_ir.cfg import postorder
from kapi_lowering.emission.llvm_ir.parser import parse_function_head

__all__ = ["Fission", "barriers_of"]

STATE_BYTES = 64
"""Bytes at the start of a context, where work-items may wait at different barriers: the barrier that they wait at."""


def barriers_of(function: Function) -> list[Instruction]:
    """The barriers of a function, in its order."""
    return [each for each in function.instructions() if each.callee.startswith(BARRIER)]


class Fission:
    """The values that a function keeps at its barriers, and its division into functions from barrier to barrier.

    - `function`: returns nothing. Its last parameter is the context. All values that live across a barrier are in
      memory that its entry allocates.
    - `private`: allocations that programs use by address.
    - `shared`: allocations of values that all work-items of the group have, with what identifies each of them in all
      variants of the kernel.
    - `keeps_state`: whether work-items may wait at different barriers.
    - `context_bytes`: bytes of a context; 0 without barriers.
    - `shared`: what all work-items have and need behind a barrier, and its type.
    - `split_parts`: the numbers of the functions that return a split point.
    """

    def __init__(
        self, function: Function, private: set[IRValue], shared: Mapping[IRValue, Hashable], keeps_state: bool
    ) -> None:
        self.function = function
        self.barriers = {each.callee: each for each in barriers_of(function)}
        self.shared: dict[Hashable, IRType] = {}
        self.split_parts: set[int] = set()
        self._offsets: dict[IRValue, int] = {}
        self._live: dict[Instruction, list[IRValue]] = {}
        self._keys = shared
        self.context_bytes = 0
        if not self.barriers:
            return
        size = STATE_BYTES * keeps_state
        allocations = [each for each in function.entry.instructions if each.opcode == "alloca"]
        slots = [each for each in allocations if each not in private and _is_slot(each)]
        live = _live_at(function, [*self.barriers.values()], slots)
        needed = set().union(*live.values())
        for each in allocations:
            if each in private or each in needed:
                type_ = _element(each)
                if each in shared:
                    self.shared[shared[each]] = type_
                    continue
                step = max(_alignment(type_), each.form.alignment or 1)
                self._offsets[each] = -(-size // step) * step
                size = self._offsets[each] + size_of(type_)
        self.context_bytes = aligned(max(size, 1))
        self._live = {barrier: [each for each in slots if each in found] for barrier, found in live.items()}

    def split(self, order: list[str], shared: Mapping[Hashable, IRType]) -> list[str]:
        """Add a function for the start and for each barrier, and erase the original.

        - `order`: the names that barriers call, in the order of their numbers.
        - `shared`: what functions take behind the parameters of the original, and return behind the number of a
          barrier.

        Returns the names of the functions, empty for a barrier that is not there.
        """
        names = []
        for number, mark in enumerate(["", *order]):
            is_there = not number or mark in self.barriers
            names.append(self._step(number, order, mark, shared) if is_there else "")
        del self.function.module.functions[self.function.name]
        return names

    def _step(self, number: int, order: list[str], mark: str, shared: Mapping[Hashable, IRType]) -> str:
        function, module = self.function, self.function.module
        name = f"{function.name}.{number}"
        parameters = [f"{each.type}{each.attributes} %{each.name}" for each in function.parameters]
        parameters += [f"{type_} %shared.{position}" for position, type_ in enumerate(shared.values())]
        result = parse_type("{ " + ", ".join(["i32", "i64", *map(str, shared.values())]) + " }")
        head = f"internal {result} @{name}({', '.join(parameters)}) alwaysinline nounwind"
        step = parse_function_head(module, head)
        module.functions[name] = step
        count = len(function.parameters)
        values: dict[IRValue, IRValue] = dict(zip(function.parameters, step.parameters[:count], strict=True))
        given = dict(zip(shared, step.parameters[count:], strict=True))
        original = self.barriers[mark] if mark else None
        blocks = self._blocks_from(original)
        clone_blocks(blocks, values, into=step)
        split_point = self._add_split_point(blocks, values, step)
        if split_point is not None:
            self.split_parts.add(number)
        context = step.parameters[count - 1]
        in_slots = {slot for found in self._live.values() for slot in found}
        for each, offset in self._offsets.items():
            if each not in in_slots:
                allocation = values[each]
                assert isinstance(allocation, Instruction)
                address = Builder.before(allocation).emit(f"getelementptr i8, ptr ?, i64 {offset}", context)
                allocation.replace_all_uses_with(address)
                allocation.erase()
        if original is not None:
            resume = step.add_block("resume")
            builder = Builder(resume)
            for slot in self._live[original]:
                value: IRValue
                if slot in self._keys:
                    value = given[self._keys[slot]]
                else:
                    type_ = _element(slot)
                    address = builder.emit(f"getelementptr i8, ptr ?, i64 {self._offsets[slot]}", context)
                    value = builder.emit(f"load {type_}, ptr ?, align {_alignment(type_)}", address)
                builder.emit(f"store {value.type} ?, ptr ?", value, values[slot])
            builder.emit("br label ?", values[_following(original)])
            begin = values[function.entry.successors[0]]
            assert isinstance(begin, Block)
            begin.terminator.erase()
            Builder(begin).emit("br label ?", resume)
        for each in self.barriers.values():
            copy = values.get(each)
            if isinstance(copy, Instruction):
                self._leave(each, copy, order.index(each.callee) + 1, values, context, shared, result)
        for instruction in [*step.instructions()]:
            if instruction.opcode == "ret" and instruction.form.text == "ret void":
                block = instruction.block
                assert block is not None
                instruction.erase()
                builder = Builder(block)
                end = builder.emit(f"insertvalue {result} poison, i32 0, 0")
                builder.emit(f"ret {result} ?", end)
        for instruction in [*step.instructions()]:
            if split_point is not None and instruction.opcode == "ret":
                builder = Builder.before(instruction)
                known = builder.emit("load i64, ptr ?", split_point)
                both = builder.emit(f"insertvalue {result} ?, i64 ?, 1", instruction.operands[0], known)
                instruction.set_operand(0, both)
        return name

    def _add_split_point(
        self, blocks: list[Block], values: Mapping[IRValue, IRValue], step: Function
    ) -> IRValue | None:
        """Let a function's parameter say on which side of the first bound a vector is, and keep its split point.

        Returns where that is kept; None without a bound that is asked once.
        """
        ends = {each.block for each in self.barriers.values()}
        edges = {block: [] if block in ends else block.successors for block in blocks}
        split_point = None
        for block in blocks:
            for each in block.instructions:
                if each.callee != SIDE:
                    continue
                copy, side = values[each], step.parameter("side")
                assert isinstance(copy, Instruction)
                assert side is not None
                if split_point is not None or block in postorder(edges[block], edges):
                    copy.replace_all_uses_with(constant(I32, 0))
                else:
                    builder = Builder.before(step.entry.terminator)
                    split_point = builder.emit("alloca i64")
                    builder.emit("store i64 0, ptr ?", split_point)
                    Builder.before(copy).emit("store i64 ?, ptr ?", copy.arguments[0], split_point)
                    copy.replace_all_uses_with(side)
                copy.erase()
        return split_point

    def _blocks_from(self, barrier: Instruction | None) -> list[Block]:
        """The blocks that are reached from the start or behind a barrier before another one, in their order."""
        function = self.function
        ends = {each.block for each in self.barriers.values()}
        edges = {block: [] if block in ends else block.successors for block in function.blocks}
        begin = function.entry.successors[0]
        first = begin
        if barrier is not None:
            edges[begin], first = [], _following(barrier)
        reached = {function.entry, begin, *postorder([first], edges)}
        return [block for block in function.blocks if block in reached]

    def _leave(
        self,
        barrier: Instruction,
        copy: Instruction,
        number: int,
        values: Mapping[IRValue, IRValue],
        context: IRValue,
        shared: Mapping[Hashable, IRType],
        result: IRType,
    ) -> None:
        """Return at a barrier, with what is needed behind it."""
        block = copy.block
        assert block is not None
        for other in [*block.instructions[block.instructions.index(copy) :]]:
            other.erase()
        builder = Builder(block)
        held: IRValue = builder.emit(f"insertvalue {result} poison, i32 {number}, 0")
        numbers = {key: position for position, key in enumerate(shared, 2)}
        for slot in self._live[barrier]:
            type_ = _element(slot)
            value = builder.emit(f"load {type_}, ptr ?", values[slot])
            if slot in self._keys:
                text = f"insertvalue {result} ?, {type_} ?, {numbers[self._keys[slot]]}"
                held = builder.emit(text, held, value)
            else:
                address = builder.emit(f"getelementptr i8, ptr ?, i64 {self._offsets[slot]}", context)
                builder.emit(f"store {type_} ?, ptr ?, align {_alignment(type_)}", value, address)
        builder.emit(f"ret {result} ?", held)


def _following(barrier: Instruction) -> Block:
    """The block that a barrier's block jumps to."""
    assert barrier.block is not None
    (target,) = barrier.block.successors
    return target


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


def _element(slot: IRValue) -> IRType:
    assert isinstance(slot, Instruction)
    assert slot.form.element is not None
    return slot.form.element


def _alignment(type_: IRType) -> int:
    size = size_of(type_)
    return max(1, min(64, size & -size))
