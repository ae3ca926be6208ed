"""Active items: the work-items of a row that take the guarded control-flow path of a branch, by arithmetic.

A tree of sums has regions in which few work-items are on: the first ones, as in ``if lid < half``, or every so many, as
in ``if lid % (2 * step) == 0``. Where the condition is such a comparison of work-items' numbers with what their group
shares, the first active one, the step to the next one and the end follow from it (index-set splitting).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.cost_model import costs_of
from kapi_cpu.emission.vectorize.divergence import Shape, Shapes, Stride
from kapi_cpu.emission.vectorize.processor import Processor
from kapi_lowering.emission.llvm_ir import (
    I32,
    I64,
    NEGATED,
    SWAPPED,
    Block,
    Builder,
    Function,
    Instruction,
    IntType,
    IRValue,
    constant,
    declare,
    postorder,
)

__all__ = ["ITEMS", "PARTED", "mark_active_items"]

ITEMS = "active.items"
"""A call with the first active work-item, the step (0 if they are not known), the end, and the side that they take; it
says whether the work-item is known to be active."""

PARTED = "active.parted"
"""A call where work-items part otherwise."""

_BOUNDS = {"slt": (True, 0), "sle": (True, 1), "sge": (False, 0), "sgt": (False, 1)}
"""Whether those before a bound are active, and what is added to it."""

_LARGEST = {32: 1 << 30, 64: 1 << 62}
"""Numbers below do not wrap where work-items' numbers are added."""

_LARGEST_FACTOR = 1 << 31

_SHORT = 24
"""Instructions up to which scalar code is always faster: later loads wait for masked stores."""


def mark_active_items(source: Function, shapes: Shapes, of_group: Shapes, lanes: int, processor: Processor) -> bool:
    """Insert the calls into a kernel of one work-item.

    - `shapes`, `lanes`: for its vectors.
    - `of_group`: the shapes for all work-items of a group.

    Returns whether there is one of known active items. Nothing is inserted otherwise.
    """
    everywhere = {*shapes.flow.reverse_postorder}
    found: dict[Block, _Guard] = {}
    for block in shapes.divergent_branches:
        if not of_group.parts_within(block, everywhere):
            guard = _guard_of(block, shapes, of_group, lanes, processor)
            if guard is not None:
                found[block] = guard
    if not found:
        return False
    declare(source, f"i1 @{ITEMS}(i64, i64, i64, i1)")
    declare(source, f"void @{PARTED}()")
    declare(source, f"i64 @{QUERY}local_size(i32)")
    for block in of_group.divergent_branches:
        if block in found:
            found[block].mark(block)
        else:
            Builder.before(block.terminator).emit(f"call void @{PARTED}()")
    return True


@dataclass(frozen=True)
class _Guard:
    """A comparison that says which work-items are active.

    - `condition`: of the branch; the comparison, or that and more.
    - `comparison`: of the work-items' numbers.
    - `is_on_true`: whether the active work-items take the first path of the branch.
    - `write`: inserts the first active work-item, the step and the end.
    """

    condition: IRValue
    comparison: IRValue
    is_on_true: bool
    write: Callable[[Builder], tuple[IRValue, IRValue, IRValue]]

    def mark(self, block: Block) -> None:
        """Insert the call, and let the branch follow it."""
        builder = Builder.before(block.terminator)
        side = "true" if self.is_on_true else "false"
        text = f"call i1 @{ITEMS}(i64 ?, i64 ?, i64 ?, i1 {side})"
        # Where what else must hold does not, arithmetic may have overflowed.
        found = [builder.emit("freeze i64 ?", each) for each in self.write(builder)]
        known: IRValue = builder.emit(text, *found)
        if self.is_on_true:
            answer: IRValue = builder.emit("or i1 ?, ?", known, self.comparison)
            if self.condition is not self.comparison:
                assert isinstance(self.condition, Instruction)
                pair = [answer if each is self.comparison else each for each in self.condition.operands[:2]]
                answer = builder.emit("select i1 ?, i1 ?, i1 false", *pair)
        else:
            answer = builder.emit("and i1 ?, ?", builder.emit("xor i1 ?, true", known), self.comparison)
        block.terminator.set_operand(0, answer)


def _guard_of(block: Block, shapes: Shapes, of_group: Shapes, lanes: int, processor: Processor) -> _Guard | None:
    condition = block.terminator.operands[0]
    join = shapes.flow.post_dominators.parent.get(block)
    targets = block.successors
    if join not in targets or not isinstance(condition, Instruction):
        return None
    is_on_true = join is targets[1]
    others = {*shapes.flow.reverse_postorder} - {join}
    region = postorder({*targets} - {join}, shapes.flow.successors, others)
    is_straight = not any(shapes.loop_of(each) is not shapes.loop_of(block) for each in region)
    costs = costs_of(shapes, lanes, processor, region) if is_straight else None
    least = lanes if costs is None else lanes // 2
    if costs is not None and (costs.prefers_scalar or sum(len(each.instructions) for each in region) <= _SHORT):
        least = 2
    for comparison in _parts_of(condition) if is_on_true else [condition]:
        if comparison.opcode == "icmp":
            predicate = comparison.predicate if is_on_true else NEGATED[comparison.predicate]
            write = _Comparison(comparison, predicate, shapes, of_group).writer(
                least, costs is not None and costs.prefers_scalar
            )
            if write is not None:
                return _Guard(condition, comparison, is_on_true, write)
    return None


def _parts_of(condition: Instruction) -> list[Instruction]:
    """The comparisons that all hold where a condition does."""
    if condition.opcode == "and" or (condition.opcode == "select" and condition.operands[2].ref == "false"):
        return [each for each in condition.operands[:2] if isinstance(each, Instruction)]
    return [condition]


class _Comparison:
    """A comparison of work-items' numbers with what their group shares.

    - `comparison`: the instruction.
    - `predicate`: that holds for active work-items.
    """

    def __init__(self, comparison: Instruction, predicate: str, shapes: Shapes, of_group: Shapes) -> None:
        self.left, self.right = comparison.operands
        self.predicate, self.shapes, self.of_group = predicate, shapes, of_group
        if self.of_group[self.left] == 0:
            self.left, self.right = self.right, self.left
            self.predicate = SWAPPED.get(predicate, predicate)

    def writer(self, least: int, prefers_scalar: bool) -> Callable[[Builder], tuple[IRValue, IRValue, IRValue]] | None:
        """Return what writes the active work-items; None of another comparison, or where vectors are faster.

        - `least`: the step from which on scalar code is faster.
        - `prefers_scalar`: whether it is if all work-items are active.
        """
        type_ = self.left.type
        if not isinstance(type_, IntType) or type_.bits not in _LARGEST or self.of_group[self.right] != 0:
            return None
        if self.predicate == "eq":
            return self._one if self.shapes[self.left] == 1 else self._residue(least)
        signed = self.predicate.replace("u", "s", 1)
        if not prefers_scalar or signed not in _BOUNDS or not self._is_shared(self.shapes[self.left]):
            return None
        is_before, added = _BOUNDS[signed]
        return lambda builder: self._bound(builder, is_before, added)

    def _is_shared(self, stride: Shape) -> bool:
        """Whether a stride is known to the group."""
        if isinstance(stride, Stride):
            return self.of_group[stride.unit] == 0
        return stride is not None and 0 < stride < _LARGEST_FACTOR

    def _wide(self, builder: Builder, value: IRValue) -> IRValue:
        return value if value.type is I64 else builder.emit(f"sext {value.type} ? to i64", value)

    def _size(self, builder: Builder) -> IRValue:
        return builder.emit(f"call i64 @{QUERY}local_size(i32 ?)", constant(I32, 0))

    def _is_small(self, builder: Builder, value: IRValue) -> IRValue:
        assert isinstance(self.left.type, IntType)
        return builder.emit(f"icmp ult i64 ?, {_LARGEST[self.left.type.bits]}", value)

    def _all(self, builder: Builder, *conditions: IRValue) -> IRValue:
        made = conditions[0]
        for each in conditions[1:]:
            made = builder.emit("and i1 ?, ?", made, each)
        return made

    def _one(self, builder: Builder) -> tuple[IRValue, IRValue, IRValue]:
        """One work-item: that whose number is the other one."""
        start, number, size = self._wide(builder, self.left), self._wide(builder, self.right), self._size(builder)
        first = builder.emit("sub i64 ?, ?", number, start)
        is_there = builder.emit("icmp ult i64 ?, ?", first, size)
        is_known = self._all(builder, *(self._is_small(builder, each) for each in (start, number, size)), is_there)
        step = builder.emit("zext i1 ? to i64", is_known)
        return first, step, builder.emit("add i64 ?, 1", first)

    def _residue(self, least: int) -> Callable[[Builder], tuple[IRValue, IRValue, IRValue]] | None:
        """Every so many work-items, at least `least`: those with the same remainder."""
        if not isinstance(self.left, Instruction) or self.left.opcode not in ("srem", "urem", "and"):
            return None
        number, other = self.left.operands
        is_mask = self.left.opcode == "and"
        if is_mask and self.of_group[number] == 0:
            number, other = other, number
        if self.shapes[number] != 1 or self.of_group[other] != 0:
            return None

        def write(builder: Builder) -> tuple[IRValue, IRValue, IRValue]:
            start, size = self._wide(builder, number), self._size(builder)
            divisor, residue = self._wide(builder, other), self._wide(builder, self.right)
            ones = divisor if is_mask else builder.emit("add i64 ?, -1", divisor)
            step = builder.emit("add i64 ?, 1", ones)
            conditions: list[IRValue] = [self._is_small(builder, each) for each in (start, size, ones)]
            conditions.append(builder.emit("icmp ult i64 ?, ?", residue, step))
            conditions.append(builder.emit(f"icmp uge i64 ?, {least}", step))
            if is_mask:
                conditions.append(builder.emit("icmp eq i64 ?, 0", builder.emit("and i64 ?, ?", step, ones)))
            is_known = self._all(builder, *conditions)
            if is_mask:
                first = builder.emit("and i64 ?, ?", builder.emit("sub i64 ?, ?", residue, start), ones)
            else:
                safe = builder.emit("select i1 ?, i64 ?, i64 1", is_known, step)
                rest = builder.emit("urem i64 ?, ?", start, safe)
                ahead = builder.emit("sub i64 ?, ?", residue, rest)
                is_behind = builder.emit("icmp slt i64 ?, 0", ahead)
                first = builder.emit(
                    "select i1 ?, i64 ?, i64 ?", is_behind, builder.emit("add i64 ?, ?", ahead, safe), ahead
                )
            return first, builder.emit("select i1 ?, i64 ?, i64 0", is_known, step), size

        return write

    def _bound(self, builder: Builder, is_before: bool, added: int) -> tuple[IRValue, IRValue, IRValue]:
        """The first work-items, or the last ones."""
        start, limit, size = self._wide(builder, self.left), self._wide(builder, self.right), self._size(builder)
        conditions = [self._is_small(builder, each) for each in (start, limit)]
        stride = self.shapes[self.left]
        factor: IRValue
        if isinstance(stride, Stride):
            factor = builder.emit(f"mul i64 ?, {stride.factor}", stride.unit)
            factor = builder.emit(f"add i64 ?, {stride.fixed}", factor)
        else:
            assert stride is not None
            factor = constant(I64, stride)
        for each in (factor, size):
            less = builder.emit("add i64 ?, -1", each)
            conditions.append(builder.emit(f"icmp ult i64 ?, {_LARGEST_FACTOR - 1}", less))
        conditions.append(self._is_small(builder, builder.emit("mul i64 ?, ?", factor, size)))
        is_known = self._all(builder, *conditions)
        over = builder.emit(f"sub i64 ?, {1 - added}", builder.emit("sub i64 ?, ?", limit, start))
        count: IRValue = over
        if factor.integer != 1:
            safe = builder.emit("select i1 ?, i64 ?, i64 1", is_known, factor)
            is_any = builder.emit("icmp sge i64 ?, 0", over)
            count = builder.emit("udiv i64 ?, ?", builder.emit("select i1 ?, i64 ?, i64 0", is_any, over), safe)
            count = builder.emit("select i1 ?, i64 ?, i64 -1", is_any, count)
        count = builder.emit("add i64 ?, 1", count)
        count = builder.emit("select i1 ?, i64 ?, i64 0", builder.emit("icmp sgt i64 ?, 0", count), count)
        step = builder.emit("zext i1 ? to i64", is_known)
        return (constant(I64, 0), step, count) if is_before else (count, step, size)
