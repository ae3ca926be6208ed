"""Divergence analysis: how the values of a kernel differ between the lanes of a vector.

A shape is the difference between one lane and the next: 0 of a uniform value, a constant of a strided one (in bytes of
a pointer) or a `Stride` that is known at run time, None of a varying one. A phi varies where control-flow paths join on
which lanes have parted, and values vary that leave a loop which lanes leave in different iterations.

References
----------
R. Karrenberg, S. Hack, "Whole-Function Vectorization", 2011; J. Rosemann, S. Moll, S. Hack, "An Abstract Interpretation
for SPMD Divergence on Reducible Control Flow Graphs", 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.type_sizes import element_steps, private_step
from kapi_lowering.emission.llvm_ir import (
    Argument,
    Block,
    ControlFlow,
    Function,
    Instruction,
    IntType,
    IRValue,
    NaturalLoop,
    PointerType,
)

__all__ = ["VARYING", "Shape", "Shapes", "Stride"]


@dataclass(frozen=True, slots=True)
class Stride:
    """A difference of 64 bits that is known at run time: ``unit * factor + fixed``.

    - `unit`: a uniform value, such as the extent of an axis. It dominates all values of the shape.
    - `factor`, `fixed`: constants; `factor` is not 0.
    """

    unit: IRValue
    factor: int
    fixed: int = 0

    def times(self, number: int) -> Shape:
        """The stride of the values times a constant."""
        return Stride(self.unit, self.factor * number, self.fixed * number) if number else 0

    def plus(self, other: int | Stride) -> Shape:
        """The stride of sums with values of another one."""
        if isinstance(other, int):
            return Stride(self.unit, self.factor, self.fixed + other)
        if self.unit is not other.unit:
            return None
        factor, fixed = self.factor + other.factor, self.fixed + other.fixed
        return Stride(self.unit, factor, fixed) if factor else fixed


Shape = int | Stride | None
VARYING: Shape = None


class Shapes:
    """The shapes of all values of a function, and where lanes part.

    - `function`: with one return, in loop-simplified and loop-closed form.
    - `flow`: of the function.
    - `seeds`: the shapes of calls that ask for the work-item, and of whatever else is known.
    - `divergent_branches`: blocks at whose ends lanes part.
    - `divergent_loops`: headers of loops that lanes leave in different iterations.
    """

    def __init__(self, function: Function, flow: ControlFlow, seeds: Mapping[IRValue, Shape]) -> None:
        self.function, self.flow = function, flow
        self._shapes: dict[IRValue, Shape] = dict(seeds)
        self._seeds = seeds
        self.divergent_branches: set[Block] = set()
        self.divergent_loops: set[Block] = set()
        self._joins: set[Block] = set()
        self._parted_by: dict[Block, list[Block]] = {}
        self._loop_of: dict[Block, NaturalLoop] = {}
        for loop in flow.loops:  # an outer one before those within it
            for block in loop.blocks:
                self._loop_of[block] = loop
        self._order = flow.reverse_postorder
        self._position = {block: number for number, block in enumerate(self._order)}
        self._run_to_fixpoint()

    def __getitem__(self, value: IRValue) -> Shape:
        """The shape of a value; constants and parameters are uniform."""
        if isinstance(value, (Instruction, Argument)):
            return self._shapes.get(value, 0)
        return 0

    def loop_of(self, block: Block) -> NaturalLoop | None:
        """The innermost loop of a block."""
        return self._loop_of.get(block)

    def is_entered_before(self, block: Block, other: Block) -> bool:
        """Whether a block is in a loop that another one is not in, whose header decides which lanes come to it."""
        loop = self.loop_of(block)
        while loop is not None and other not in loop.blocks:
            if loop.header is not block:
                return True
            loop = loop.parent
        return False

    def unit_of(self, value: IRValue) -> IRValue | None:
        """The value that a stride of run time is a multiple of."""
        shape = self[value]
        return shape.unit if isinstance(shape, Stride) else None

    def is_uniform(self, value: IRValue) -> bool:
        """Whether all lanes have the same."""
        return self[value] == 0

    def parts_within(self, block: Block, region: set[Block]) -> bool:
        """Whether lanes may be off in a block that were on where the region was entered."""
        return any(each in region for each in self._parted_by.get(block, ()))

    def is_behind_barrier(self, block: Block, region: set[Block]) -> bool:
        """Whether a block begins where all lanes that entered the region have been at a barrier."""
        barriers = [each for each in self.flow.predecessors[block] if each.instructions[0].callee.startswith(BARRIER)]
        return bool(barriers) and not self.parts_within(barriers[0], region)

    # -- the fixpoint

    def _run_to_fixpoint(self) -> None:
        changed = True
        while changed:
            changed = False
            for block in self._order:
                for each in block.instructions:
                    if not each.form.is_void and self._update(each, block):
                        changed = True
            changed |= self._part_lanes()

    def _update(self, each: Instruction, block: Block) -> bool:
        if each in self._seeds:
            return False
        known = each in self._shapes
        if known and self._shapes[each] is VARYING:
            return False
        new, is_known = self._transfer(each, block)
        if not is_known or (known and new == self._shapes[each]):
            return False
        # A second value of a stride, as of a phi, is none.
        self._shapes[each] = VARYING if known else new
        return True

    def _part_lanes(self) -> bool:
        """Note the branches that are divergent by now, and what follows of them."""
        changed = False
        for block in self._order:
            if block in self.divergent_branches:
                continue
            end = block.terminator
            if end.opcode == "br" and len(block.successors) > 1 and not self.is_uniform(end.operands[0]):
                self.divergent_branches.add(block)
                for each in self._influence(block):
                    self._parted_by.setdefault(each, []).append(block)
                self._join(self.flow.successors[block])
                changed = True
        for loop in self.flow.loops:
            if loop.header is None or loop.header in self.divergent_loops:
                continue
            exiting = loop.exiting
            if any(block in self.divergent_branches or self.parts_within(block, loop.blocks) for block in exiting):
                self.divergent_loops.add(loop.header)
                self._follow_loop(loop)
                changed = True
        return changed

    def _influence(self, branch: Block) -> set[Block]:
        """The blocks between a branch and its immediate post-dominator."""
        end = self.flow.post_dominators.parent.get(branch)
        found: set[Block] = set()
        pending = [*self.flow.successors[branch]]
        while pending:
            block = pending.pop()
            if block is end or block in found:
                continue
            found.add(block)
            pending += self.flow.successors[block]
        return found

    def _follow_loop(self, loop: NaturalLoop) -> None:
        """Values that leave the loop vary, and so do joins of its exits."""
        exits = loop.exits
        for target in exits:
            for phi in target.phis:
                inside = [value for value, source in phi.incoming if source in loop.blocks]
                if any(isinstance(value, Instruction) and value.block in loop.blocks for value in inside):
                    self._shapes[phi] = VARYING
        if len(exits) > 1:
            self._join(exits)

    def _join(self, targets: list[Block]) -> None:
        """Mark the blocks that paths from different targets come to first together.

        Labels are handed along edges, but not back to a loop's header: lanes that come there again are all those that
        stayed.
        """
        labels: dict[Block, Block] = {}
        joins: set[Block] = set()
        pending: set[Block] = set()
        position = self._position
        for target in targets:
            self._label(target, target, labels, joins, pending)
        while len(pending) > 1:  # paths that all come to one block part no more
            block = min(pending, key=position.__getitem__)
            pending.remove(block)
            for target in self.flow.successors[block]:
                if position[target] <= position[block]:
                    continue  # a back edge
                self._label(target, labels[block], labels, joins, pending)
        self._joins |= joins
        for block in joins:
            for phi in block.phis:
                self._shapes[phi] = VARYING

    def _label(
        self, block: Block, label: Block, labels: dict[Block, Block], joins: set[Block], pending: set[Block]
    ) -> None:
        known = labels.get(block)
        if known is None:
            labels[block] = label
            pending.add(block)
        elif known is not label and block not in joins:
            joins.add(block)
            labels[block] = block  # what follows comes from here
            pending.add(block)

    # -- transfer

    def _transfer(self, each: Instruction, block: Block) -> tuple[Shape, bool]:
        """The shape of a result, and whether it is known yet."""
        if each.opcode == "phi":
            if block in self._joins:
                return VARYING, True
            incoming = [value for value, _ in each.incoming]
            known = [value for value in incoming if self._is_known(value)]
            found = {self[value] for value in known}
            if not known:
                return VARYING, False
            return (found.pop(), True) if len(found) == 1 else (VARYING, True)
        operands = [value for value in each.operands if not isinstance(value, Block)]
        if not all(map(self._is_known, operands)):
            return VARYING, False
        shapes = [self[value] for value in operands]
        if each.opcode == "alloca":
            return private_step(each), True
        if each.opcode in ("atomicrmw", "cmpxchg"):
            return VARYING, True
        if all(shape == 0 for shape in shapes):
            return (0 if self._keeps_uniform(each) else VARYING), True
        return self._of_operands(each, operands, shapes), True

    def _is_known(self, value: IRValue) -> bool:
        return not isinstance(value, Instruction) or value in self._shapes

    def _keeps_uniform(self, each: Instruction) -> bool:
        if each.opcode == "call":
            name = each.callee
            return name.startswith("llvm.") or "memory(none)" in _attributes_of(self.function, name)
        return each.opcode != "load" or each.form.is_plain

    def _of_operands(self, each: Instruction, operands: list[IRValue], shapes: list[Shape]) -> Shape:
        if each.opcode == "freeze":
            return shapes[0]
        if VARYING in shapes or not isinstance(each.type, (IntType, PointerType)):
            return VARYING
        if each.opcode == "getelementptr":
            return self._of_address(each, operands, shapes)
        if each.opcode in ("add", "sub"):
            return _wrapped(_sum(shapes[0], shapes[1] if each.opcode == "add" else _product(shapes[1], -1)), each)
        if each.opcode == "or" and "disjoint" in each.flags:
            return _wrapped(_sum(shapes[0], shapes[1]), each)
        if each.opcode == "mul":
            for one, other in ((0, 1), (1, 0)):
                shape, number = shapes[other], operands[one].integer
                if number is not None:
                    return _wrapped(_product(shape, number), each)
                if shapes[one] == 0 and isinstance(shape, int):
                    return _wrapped(Stride(operands[one], shape), each)
        if each.opcode == "shl" and (number := operands[1].integer) is not None:
            return _wrapped(_product(shapes[0], 1 << number), each)
        if each.opcode == "trunc":
            return _wrapped(shapes[0], each)
        return VARYING

    def _of_address(self, each: Instruction, operands: list[IRValue], shapes: list[Shape]) -> Shape:
        steps = element_steps(each)
        if steps is None:
            return VARYING
        # A stride of an index of fewer bits may wrap on its way.
        total = shapes[0]
        for operand, shape, step in zip(operands[1:], shapes[1:], steps, strict=True):
            if shape != 0 and not (isinstance(operand.type, IntType) and operand.type.bits == 64):
                return VARYING
            total = _sum(total, _product(shape, step))
        return total


def _sum(one: Shape, other: Shape) -> Shape:
    if one is None or other is None:
        return VARYING
    if isinstance(other, Stride):
        return other.plus(one)
    return one.plus(other) if isinstance(one, Stride) else one + other


def _product(shape: Shape, number: int) -> Shape:
    return shape.times(number) if isinstance(shape, Stride) else None if shape is None else shape * number


def _wrapped(stride: Shape, each: Instruction) -> Shape:
    """A stride as a signed number of the result's bits; one of run time has 64."""
    assert isinstance(each.type, IntType)
    if not isinstance(stride, int):
        return stride if each.type.bits == 64 else VARYING
    half = 1 << (each.type.bits - 1)
    return (stride + half) % (2 * half) - half


def _attributes_of(function: Function, name: str) -> str:
    called = function.module.functions.get(name)
    return "" if called is None else called.attributes
