"""A second entry point, whose threads run several work-items each: thread coarsening.

A thread that reads one number and writes one has too little in flight to fill the memory's bandwidth. The second entry
point is for large ranges. A block of it does the work of `BLOCKS` blocks that follow each other along x, so that
neighbours still read neighbours. Where the guard lets all of a thread's work-items in, the loads of all of them are
written before what uses those. Work-items have no order among them, so any order is theirs. Otherwise a loop tests
each by itself: a guard has the kernel's own condition in it, too.

References
----------
V. Volkov, "Better performance at lower occupancy", GPU Technology Conference 2010.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kapi_lowering.emission.llvm_ir import (
    I32,
    Argument,
    Block,
    Builder,
    Function,
    Instruction,
    IRValue,
    Module,
    PointerType,
    clone_instruction,
    copy_head,
    is_pure,
)
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["BLOCKS", "add_coarse_entry"]

BLOCKS = 4
"""Blocks whose work one block of the second entry point does."""

_MOST_INSTRUCTIONS = 128  # of a work-item: more hold registers, and gain nothing where memory is not what they wait for
_MOST_FUNCTIONS = 8  # of libdevice, each of which becomes dozens of instructions; one of float64 counts twice
_BLOCK_ID = "llvm.nvvm.read.ptx.sreg.ctaid.x"
_OTHER_GRIDS = re.compile(r"llvm\.nvvm\.read\.ptx\.sreg\.(?:nctaid|ctaid\.x)")
_NOTE = "llvm.experimental.noalias.scope.decl"
_WIDE = 'asm "mul.wide'


@module_pass
def add_coarse_entry(module: Module) -> None:
    """Add a second entry point that does several work-items a thread (thread coarsening).

    The kernel has no more than a guard and what the guard lets in. Loops, branches, atomics, local and private memory,
    and many functions, whose arithmetic takes longer than memory does, leave a kernel as it is.
    """
    for function in module.definitions:
        kernel = _parted(function)
        if kernel is not None and _is_worth_it(kernel):
            _Coarse(kernel).write()


@dataclass(frozen=True)
class _Kernel:
    """A kernel in its three parts.

    - `guard`: the instructions in front of the branch.
    - `condition`: what is branched on.
    - `goes_in`: what the condition is of work-items in the range.
    - `body`: what those do.
    - `block`: the index of the block along x, a part of the guard.
    """

    function: Function
    guard: list[Instruction]
    condition: IRValue
    goes_in: bool
    body: list[Instruction]
    block: Instruction


def _code(block: Block) -> list[Instruction]:
    return [each for each in block.instructions if each.callee != _NOTE]


def _is_return(code: Iterable[Instruction]) -> bool:
    return [str(each.form.text) for each in code] == ["ret void"]


def _parted(function: Function) -> _Kernel | None:
    """The parts of a kernel that is a guard, a body, and a return."""
    if "ptx_kernel" not in function.words or len(function.blocks) != 3:
        return None
    if any(each.attachment("dbg") for block in function.blocks for each in block.instructions):
        return None  # profilers look for the lines of the source in the kernel's own entry point
    *guard, branch = _code(function.entry)
    block = next((each for each in guard if each.callee == _BLOCK_ID), None)
    targets = function.entry.successors
    if block is None or branch.opcode != "br" or {*targets} != {*function.blocks[1:]}:
        return None
    goes_in = _is_return(_code(targets[1]))
    inside, outside = targets if goes_in else reversed(targets)
    *body, end = _code(inside)
    if not _is_return(_code(outside)) or not (_is_return([end]) or (end.opcode == "br" and end.operands == [outside])):
        return None
    return _Kernel(function, guard, branch.operands[0], goes_in, body, block)


def _is_worth_it(kernel: _Kernel) -> bool:
    """Whether each instruction may be written several times, and what a work-item does is memory's business."""
    if not any(map(_is_of_global_memory, kernel.body)) or len(kernel.body) > _MOST_INSTRUCTIONS:
        return False
    others = [each for each in kernel.guard if each.callee != _BLOCK_ID]
    if len(others) != len(kernel.guard) - 1 or any(_OTHER_GRIDS.match(each.callee) for each in (*others, *kernel.body)):
        return False
    if any(map(_is_of_global_memory, kernel.guard)):
        return False
    functions = list(filter(_is_function, kernel.body))
    if sum(1 + (each.type.text == "double") for each in functions) > _MOST_FUNCTIONS:
        return False
    return all(_may_repeat(each, kernel.function.module) for each in (*others, *kernel.body))


def _is_of_global_memory(each: Instruction) -> bool:
    is_access = each.opcode in ("load", "store") and each.form.is_plain
    return is_access and str(each.operands[-1].type) == "ptr addrspace(1)"


def _is_function(each: Instruction) -> bool:
    """Whether an instruction calls a function of libdevice."""
    return each.callee.startswith("__nv_")


def _may_repeat(each: Instruction, module: Module) -> bool:
    """Whether an instruction only computes, or reads or writes the work-item's own elements."""
    if _is_of_global_memory(each) or (is_pure(each) and each.opcode != "phi"):
        return True
    if each.opcode == "load":  # of the argument
        return each.form.is_plain and str(each.operands[0].type) == "ptr" and isinstance(_base(each), Argument)
    if each.opcode != "call" or each.operands[0].ref.startswith(_WIDE):
        return each.opcode == "call"
    if _is_function(each):
        return not any(isinstance(operand.type, PointerType) for operand in each.arguments)
    return each.callee.startswith("llvm.") and _is_quiet(each, module)


def _base(each: Instruction) -> IRValue:
    value: IRValue = each.operands[0]
    while isinstance(value, Instruction) and value.opcode == "getelementptr":
        value = value.operands[0]
    return value


def _is_quiet(each: Instruction, module: Module) -> bool:
    """Whether an intrinsic touches no memory and tells nobody anything, by its declaration."""
    declared = module.functions.get(each.callee)
    return declared is not None and "memory(none)" in declared.attributes and "convergent" not in declared.attributes


class _Coarse:
    """The second entry point of a kernel."""

    def __init__(self, kernel: _Kernel) -> None:
        self._kernel = kernel
        self._function = copy_head(kernel.function, f"{kernel.function.name}_by_{BLOCKS}")
        self._shared: dict[IRValue, IRValue] = dict(
            zip(kernel.function.parameters, self._function.parameters, strict=True)
        )
        self._varying = self._find_varying()

    def _find_varying(self) -> set[IRValue]:
        """The values that a thread's work-items do not share: those that depend on the block, and elements."""
        varying: set[IRValue] = {self._kernel.block}
        for each in (*self._kernel.guard, *self._kernel.body):
            is_element = _is_of_global_memory(each) and each.attachment("invariant.load") is None
            if not each.form.is_void and (is_element or not varying.isdisjoint(each.operands)):
                varying.add(each)
        return varying

    def write(self) -> None:
        """Write its blocks."""
        entry, inside, edge, one, next_, end = map(
            self._function.add_block,
            ("entry", "coarse.inside", "coarse.edge", "coarse.one", "coarse.next", "coarse.end"),
        )
        builder = Builder(entry)
        block = self._kernel.block
        for each in self._kernel.guard:
            if each is block or each not in self._varying:
                builder.insert(clone_instruction(each, self._shared))
        blocks = builder.emit(
            f"shl nuw nsw i32 ?, {BLOCKS.bit_length() - 1}", self._shared[block], name="coarse.blocks"
        )
        copies = [{**self._shared, block: self._block(builder, blocks, each)} for each in range(BLOCKS)]
        for values in copies:
            self._guard(builder, values)
        conditions: list[IRValue] = [values.get(self._kernel.condition, self._kernel.condition) for values in copies]
        joined: IRValue = conditions.pop()
        for condition in conditions:
            # Everybody is let in: of a condition that lets in, all are true, and of one that keeps out, none.
            joined = builder.emit(f"{'and' if self._kernel.goes_in else 'or'} i1 ?, ?", joined, condition)
        self._branch(builder, joined, inside, edge)
        self._inside(Builder(inside), copies, end)
        self._edge(blocks, edge, one, next_, end)
        Builder(end).emit("ret void")

    def _inside(self, builder: Builder, copies: list[dict[IRValue, IRValue]], end: Block) -> None:
        """Write the work of all of a thread's work-items: the loads of all, and then what uses them."""
        early = self._loaded_early()
        self._interleave(builder, early, copies)
        rest = [each for each in self._kernel.body if each not in early]
        if any(map(_is_function, rest)):
            # Functions have branches, across which the registers of all work-items would be held.
            shared = [each for each in rest if not (each in self._varying or each.form.is_void)]
            self._interleave(builder, shared, copies)
            for values in copies:
                self._interleave(builder, [each for each in rest if each not in shared], [values])
        else:
            self._interleave(builder, rest, copies)
        builder.emit("br label ?", end)

    def _interleave(
        self, builder: Builder, code: Iterable[Instruction], copies: Sequence[dict[IRValue, IRValue]]
    ) -> None:
        """Write each instruction for all of these work-items before the next one."""
        for each in code:
            if each in self._varying or each.form.is_void:
                for values in copies:
                    builder.insert(clone_instruction(each, values))
            else:
                shared = clone_instruction(each, {**copies[0]})
                builder.insert(shared)
                for values in copies:
                    values[each] = shared

    def _loaded_early(self) -> list[Instruction]:
        """The loads before the first store, with what their addresses are made of."""
        body = self._kernel.body
        first = next((number for number, each in enumerate(body) if each.opcode == "store"), len(body))
        needed: set[IRValue] = set()
        for each in reversed(body[:first]):
            if each.opcode == "load" or each in needed:
                needed.update((each, *each.operands))
        return [each for each in body[:first] if each in needed]

    def _edge(self, blocks: IRValue, edge: Block, one: Block, next_: Block, end: Block) -> None:
        """A loop over a thread's work-items, where the guard does not let all of them in."""
        builder = Builder(edge)
        iteration = builder.phi(I32, [(0, self._function.entry), (0, next_)], name="coarse.iteration")
        values = {**self._shared, self._kernel.block: self._block(builder, blocks, iteration)}
        self._guard(builder, values)
        self._branch(builder, values.get(self._kernel.condition, self._kernel.condition), one, next_)
        builder = Builder(one)
        for each in self._kernel.body:
            builder.insert(clone_instruction(each, values))
        builder.emit("br label ?", next_)
        builder = Builder(next_)
        following = builder.emit("add nuw nsw i32 ?, 1", iteration, name="coarse.following")
        iteration.set_incoming(next_, following)
        more = builder.emit(f"icmp ult i32 ?, {BLOCKS}", following)
        # The loop at the edge is for few blocks, and is not worth being unrolled.
        module = self._function.module
        disable = module.add_metadata('!{!"llvm.loop.unroll.disable"}')
        loop = module.add_metadata(f"distinct !{{{{}}, {disable}}}")
        builder.emit("br i1 ?, label ?, label ?", more, edge, end, metadata=f", !llvm.loop {loop}")

    def _guard(self, builder: Builder, values: dict[IRValue, IRValue]) -> None:
        for each in self._kernel.guard:
            if each in self._varying and each is not self._kernel.block:
                builder.insert(clone_instruction(each, values))

    @staticmethod
    def _block(builder: Builder, blocks: IRValue, offset: IRValue | int) -> IRValue:
        return builder.emit("add nuw nsw i32 ?, ?", blocks, offset)

    def _branch(self, builder: Builder, condition: IRValue, inside: Block, outside: Block) -> None:
        targets = (inside, outside) if self._kernel.goes_in else (outside, inside)
        builder.emit("br i1 ?, label ?, label ?", condition, *targets)
