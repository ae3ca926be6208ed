"""Wrong numbers of Intel's OpenCL CPU compiler, avoided: conditions in loops, and divergent paths."""

from __future__ import annotations

from collections.abc import Iterator

from kapi_lowering.emission.llvm_ir import (
    I1,
    Block,
    Builder,
    ConstantValue,
    ControlFlow,
    DominatorTree,
    Function,
    Instruction,
    IntType,
    IRValue,
    LocalValue,
    NaturalLoop,
    postorder,
)
from kapi_lowering.emission.pipeline import function_pass

from ..ir.divergence import different_values
from ..ir.opaque_zero import integer_of, obscured, opaque_zero
from ..ir.queries import is_convergent, query

__all__ = ["prevent_loop_unswitching"]

_DEPTH = 12
_UNIFORM_QUERIES = ("get_global_size", "get_local_size", "get_group_id", "get_num_groups", "get_work_dim")


@function_pass
def prevent_loop_unswitching(function: Function) -> None:
    """Keep conditions in loops, and values of work-items apart where divergent loops join.

    A condition in a loop may be the same in each iteration and differ between work-items. Intel's OpenCL CPU compiler
    (2026.2) takes it out of the loop, a loop for each outcome, and then lets all work-items of a vector take the path
    of one of them, from OpenCL C as well (`while(k < 6) {k += n; if (c) x++;}`). It is wrong where the loop has a value
    that is the same for all work-items and has no closed form, a sum of floats for one, counted loops included. The
    condition is combined with a zero that the compiler cannot know to be one, of a value that changes in the loop.

    It does the same where the author wrote the two loops, each in an arm of an `if` or in an `if` of its own: a value
    that is the same for all work-items on either path is then taken to be the same after both, and is one work-item's.
    Where paths with such loops join, one of the values is combined with a zero that might, for all the compiler knows,
    differ between work-items. Paths without loops are right as they are, and so is what joins a value that is made of
    what differs, such as a sum of elements that each work-item reads at its own index. `test_driver_limits` records
    which drivers have the faults.
    """
    flow = ControlFlow(function)
    loops = [loop for loop in flow.loops if loop.header is not None]
    if not loops:
        return
    paths = _Paths(flow)
    divergent = paths.divergent(loops)  # as the conditions are now
    for loop in loops:
        for block in [each for each in function.blocks if each in loop.own_blocks]:
            for each in [*block.instructions]:
                for index in _deciding(each):
                    if _is_fixed(each.operands[index], loop, _DEPTH) and not _is_uniform(each.operands[index], _DEPTH):
                        _vary(each, index, loop)
    if divergent:
        _vary_joined_values(paths, divergent)


def _deciding(each: Instruction) -> Iterator[int]:
    """The positions of operands that decide a path or a choice, or a part of what does.

    The last one is first, as the parts of a condition are combined after the condition.
    """
    if each.opcode == "switch":
        yield 0
        return
    is_logic = each.type is I1 and each.opcode in ("and", "or", "xor", "select")
    if is_logic:
        yield from (
            index for index in range(len(each.operands) - 1, -1, -1) if isinstance(each.operands[index], LocalValue)
        )
    elif (
        each.opcode in ("select", "br")
        and each.form.operand_types[0] is I1
        and isinstance(each.operands[0], LocalValue)
    ):
        yield 0


def _vary(each: Instruction, index: int, loop: NaturalLoop) -> None:
    """Mix an operand with a value that changes in the loop, so that it is itself still."""
    assert loop.header is not None
    phi = next((each for each in loop.header.phis if integer_of(each.type)), None)
    if phi is None:
        return
    condition, bits = each.operands[index], integer_of(phi.type)
    assert bits is not None
    assert isinstance(condition.type, IntType)
    builder = Builder.before(each)
    value = phi if bits is phi.type else builder.emit(f"bitcast {phi.type} ? to {bits}", phi)
    none = builder.emit(f"and {bits} ?, ?", value, opaque_zero(loop.header.function, bits))
    never = builder.emit(f"icmp ne {bits} ?, 0", none)
    if condition.type is not I1:
        never = builder.emit(f"sext i1 ? to {condition.type}", never)
    each.set_operand(index, builder.emit(f"xor {condition.type} ?, ?", condition, never, name="kapi.kept"))


def _is_fixed(value: IRValue, loop: NaturalLoop, depth: int) -> bool:
    """Whether a value is the same in each iteration, for all that a compiler sees."""
    if loop.is_invariant(value):
        return True
    assert isinstance(value, Instruction)
    if depth == 0 or value.opcode in ("phi", "call"):
        return False
    return all(_is_fixed(each, loop, depth - 1) for each in value.operands)


def _is_uniform(value: IRValue, depth: int) -> bool:
    """Whether a value is the same for all work-items, for all that a compiler sees."""
    if not isinstance(value, Instruction):
        return True
    if depth == 0 or value.opcode == "phi" or (value.opcode == "call" and query(value) not in _UNIFORM_QUERIES):
        return False
    return all(_is_uniform(each, depth - 1) for each in value.operands)


class _Paths:
    """The paths of a function without the edges by which a block is come to again."""

    def __init__(self, flow: ControlFlow) -> None:
        self.function = flow.function
        order = postorder([flow.function.entry], flow.successors)
        number = {block: index for index, block in enumerate(order)}  # a block after those that it leads to
        self._next: dict[Block, list[Block]] = {block: [] for block in flow.successors}
        self._before: dict[Block, list[Block]] = {block: [] for block in flow.successors}
        for block, targets in flow.successors.items():
            for target in targets:
                if block in number and number[target] < number[block]:
                    self._next[block].append(target)
                    self._before[target].append(block)

    def divergent(self, loops: list[NaturalLoop]) -> list[NaturalLoop]:
        """Loops to which work-items come apart: some may come to one, and others to another."""
        found = [loop for loop in loops if not any(map(is_convergent, loop.instructions()))]
        decisions = [self._decisions(loop.header) for loop in found if loop.header]
        return found if any(each != decisions[0] for each in decisions) else []

    def _decisions(self, header: Block) -> set[tuple[Block, Block]]:
        """The branches on what may differ between work-items that lead to a block on one of their sides alone."""
        leading = {*postorder([header], self._before)}
        found: set[tuple[Block, Block]] = set()
        for block in leading - {header}:
            taken = [each for each in self._next[block] if each in leading]
            if len(taken) != len(self._next[block]):
                end = block.terminator
                is_branch = end.opcode == "br" and len(end.operands) == 3
                if not is_branch or not _is_uniform(end.operands[0], _DEPTH):
                    found |= {(block, each) for each in taken}
        return found

    def joins(self) -> Iterator[Block]:
        """The blocks in which paths join."""
        return (block for block in self.function.blocks if len(self._before[block]) > 1)

    def between(self, block: Block, dominators: DominatorTree) -> set[Block]:
        """The blocks on the paths that join in a block, from that on in which they part."""
        fork = dominators.parent.get(block) or block
        leaving = {*postorder([fork], self._next)}
        return {*postorder([block], self._before, leaving)}

    def dominators(self) -> DominatorTree:
        """Dominators of the graph without these edges."""
        return DominatorTree([self.function.entry], self._next, self._before)

    def is_only(self, before: Block, block: Block) -> bool:
        """Whether a block leads to another forwards, by one edge: by two, a phi must have one value for both."""
        return before in self._before[block] and before.successors.count(block) == 1


def _vary_joined_values(paths: _Paths, loops: list[NaturalLoop]) -> None:
    """Let one of the values that join behind loops be, for all that a compiler knows, of each work-item's own."""
    different = different_values(paths.function)
    dominators = paths.dominators()
    for block in paths.joins():
        between = paths.between(block, dominators)
        if not any(loop.header in between and block not in loop.blocks for loop in loops):
            continue
        for phi in block.phis:
            incoming = [each for each in phi.incoming if paths.is_only(each[1], block)]
            if not incoming or any(value in different for value, _ in phi.incoming):
                continue
            # A constant rather than a value, which may be known to differ already.
            value, before = min(incoming, key=lambda each: not isinstance(each[0], ConstantValue))
            builder = Builder.before(before.terminator)
            phi.set_incoming(before, obscured(builder, value, is_varying=True, name="kapi.kept"))
