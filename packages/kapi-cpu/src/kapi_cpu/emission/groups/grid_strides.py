"""Loops over a grid's stride, as in ``for i in range(item.get_global_id(0), n, item.get_global_range(0))``.

Work-items that go through such a loop one vector after the other read memory far apart: each iteration of a vector is
on another page. Where nothing but its number goes from iteration to iteration, all work-items of a launch may go
through the first iteration, then through the second one (loop interchange): memory is read and written in order. So
one iteration becomes a kernel of its own, which asks for its number.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeGuard

from kapi_cpu.emission.launch_record import LONGEST_BYTES, RECORD_BYTES, word
from kapi_cpu.emission.legalize.queries import QUERY, query
from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_cpu.emission.vectorize.query_shapes import lane_shapes
from kapi_cpu.emission.vectorize.scalars import CHEAP
from kapi_lowering.emission.llvm_ir import (
    I64,
    NEGATED,
    SWAPPED,
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRValue,
    NaturalLoop,
    clone_function,
    clone_instruction,
    constant,
    is_pure,
)

__all__ = ["BOUNDS", "ITERATIONS_OUTSIDE", "GridStride", "find_grid_stride", "interchanged_text"]

BOUNDS = "{ i64, i64, i64 }"
"""The type of a loop's bounds: the least start of any work-item, the end, and the step."""

ITERATIONS_OUTSIDE = "where there are many work-items, all go through an iteration before any goes through the next"
"""The reason in an explanation."""

_LONGEST = 64
"""Instructions of a loop up to which the order of memory matters more than they do."""

_FEWEST = 64
"""Work-items from which on the code between iterations takes less time than memory out of order."""

_LARGEST = 1 << 62
"""Numbers below do not wrap where a step is added."""

_LARGEST_FACTOR = 1 << 16


@dataclass(frozen=True)
class GridStride:
    """A loop whose iterations are independent but for their number.

    - `source`: the kernel. It has no other loop, and no effect out of this one.
    - `guard`: the block that asks whether there is a first iteration.
    - `preheader`, `header`, `latch`: of the loop. It is left from the latch alone.
    - `number`: the phi that is compared.
    - `steps`: what each phi grows by.
    - `bound`: the end of the numbers.
    - `is_of_group`: whether each work-group has a loop of its own, as over the elements of a row.
    - `is_flat`: whether work-items know nothing of their groups: all groups of a launch of one axis are one row.
    """

    source: Function
    guard: Block
    preheader: Block
    header: Block
    latch: Block
    number: Instruction
    steps: dict[Instruction, IRValue]
    bound: IRValue
    is_of_group: bool
    is_flat: bool

    @property
    def start(self) -> IRValue:
        """The first number of a work-item."""
        return self.number.incoming_from(self.preheader)

    def iteration(self, name: str) -> Function:
        """Add a kernel of one iteration."""
        copy = clone_function(self.source, name)
        of = dict(zip(self.source.blocks, copy.blocks, strict=True))
        values: dict[IRValue, IRValue] = dict(zip(self.source.parameters, copy.parameters, strict=True))
        for block, other in of.items():
            values.update(zip(block.instructions, other.instructions, strict=True))
        builder = Builder.before(of[self.guard].terminator)
        times = query(builder, "iteration", 0)
        for phi, step in self.steps.items():
            start = _copied(builder, phi.incoming_from(self.preheader), values, self.guard)
            distance = builder.emit("mul i64 ?, ?", times, _copied(builder, step, values, self.guard))
            number = builder.emit("add i64 ?, ?", start, distance)
            mine = values[phi]
            assert isinstance(mine, Instruction)
            mine.replace_all_uses_with(number)
            values[phi] = number
        bound = _copied(builder, self.bound, values, self.guard)
        is_there = builder.emit("icmp slt i64 ?, ?", values[self.number], bound)
        targets = [of[each] for each in self.guard.successors]
        if self.guard.successors[0] is not self.preheader:
            is_there = builder.emit("xor i1 ?, true", is_there)
        of[self.guard].terminator.erase()
        Builder(of[self.guard]).emit("br i1 ?, label ?, label ?", is_there, *targets)
        (after,) = (of[each] for each in self.latch.successors if each is not self.header)
        of[self.latch].terminator.erase()
        Builder(of[self.latch]).emit("br label ?", after)
        for phi in [*of[self.header].phis]:
            phi.erase()
        if self.is_flat:
            for each in [*copy.instructions()]:
                if each.callee == f"{QUERY}global_id":
                    ids = Builder.before(each)
                    first, local = query(ids, "first_item", 0), query(ids, "local_id", 0)
                    each.replace_all_uses_with(ids.emit("add i64 ?, ?", first, local))
                    each.erase()
        return copy

    def write_bounds(self, builder: Builder, values: dict[IRValue, IRValue]) -> None:
        """Return the bounds of a launch.

        - `builder`: at the end of a function whose ids are all 0.
        - `values`: what stands for the kernel's parameter and its queries.
        """
        made: IRValue = constant(I64, 0)
        made = builder.emit(f"insertvalue {BOUNDS} poison, i64 ?, 0", _copied(builder, self.start, values))
        for position, each in enumerate((self.bound, self.steps[self.number]), 1):
            made = builder.emit(f"insertvalue {BOUNDS} ?, i64 ?, {position}", made, _copied(builder, each, values))
        builder.emit(f"ret {BOUNDS} ?", made)


def _copied(builder: Builder, value: IRValue, values: dict[IRValue, IRValue], at: Block | None = None) -> IRValue:
    """Compute a value again."""
    if not isinstance(value, Instruction):
        return values.get(value, value)
    if value in values and (at is None or _is_there(value, at)):
        return values[value]
    mine = {each: _copied(builder, each, values, at) for each in value.operands}
    copy = clone_instruction(value, mine)
    builder.insert(copy)
    if at is None:
        values[value] = copy
    return copy


def _is_there(value: Instruction, at: Block) -> bool:
    block: Block | None = value.block
    return block is at or block is at.function.entry


def find_grid_stride(source: Function, flow: ControlFlow, lanes: int, packed: Collection[IRValue]) -> GridStride | None:
    """Find the loop of a kernel that has nothing else, and reads or writes neighbouring elements.

    - `source`, `flow`: the kernel of one work-item.
    - `lanes`: those of its vectors.
    - `packed`: loads of packed arguments.
    """
    if len(flow.loops) != 1 or lanes == 1:
        return None
    (loop,) = flow.loops
    if loop.exiting != [loop.latch] or loop.preheader is None or not _is_alone(source, loop, packed):
        return None
    found = _GridStrides(source, flow, loop, packed).found()
    if found is None:
        return None
    shapes = Shapes(source, flow, lane_shapes(source, lanes, {}))
    accesses = [each for each in loop.instructions() if each.opcode in ("load", "store")]
    is_contiguous = any(isinstance(shapes[each.operands[-1]], int) and shapes[each.operands[-1]] for each in accesses)
    return found if is_contiguous and shapes[found.number] is not None else None


def _is_alone(source: Function, loop: NaturalLoop, packed: Collection[IRValue]) -> bool:
    """Whether the loop's stores are all that a kernel does: it has no other effect, and no private memory."""
    count = 0
    for block in source.blocks:
        for each in block.instructions:
            if block in loop.blocks:
                count += 1
                is_fine = each.opcode in ("load", "store") and each.form.is_plain
            else:
                is_fine = each in packed or each.opcode == "ret"
            if each.opcode == "call":
                is_fine = each.callee.startswith(QUERY) or _is_function(each)
            if not (is_fine or is_pure(each) or each.opcode == "br"):
                return False
    return count <= _LONGEST


def _is_function(call: Instruction) -> bool:
    """Whether a call computes a number from others, and asks neither for the work-item nor for its group's memory."""
    assert call.block is not None
    called = call.block.function.module.functions.get(call.callee)
    return called is not None and "memory(none)" in called.attributes and not call.callee.startswith("kapi.")


class _GridStrides:
    """The parts of a loop that numbers go through by a step of run time.

    - `source`, `flow`, `loop`, `packed`: as for `find_grid_stride`.
    """

    def __init__(self, source: Function, flow: ControlFlow, loop: NaturalLoop, packed: Collection[IRValue]) -> None:
        self.source, self.flow, self.loop, self.packed = source, flow, loop, packed
        self.ids: set[str] = set()

    def found(self) -> GridStride | None:
        """Return the loop; None if it is none of these."""
        preheader, header, latch = self.loop.preheader, self.loop.header, self.loop.latch
        assert preheader is not None
        assert header is not None
        assert latch is not None
        entering = self.flow.predecessors[preheader]
        if len(entering) != 1 or latch.terminator.opcode != "br":
            return None
        guard = entering[0]
        steps = {phi: step for phi in header.phis if (step := self._step(phi)) is not None}
        if len(steps) != len(header.phis):
            return None
        for number, step in steps.items():
            start = number.incoming_from(preheader)
            bound = self._bound(number, step, guard)
            if bound is None or not self._is_start(start) or not self._is_shared(step) or not self._is_shared(bound):
                continue
            if all(self._is_computable(phi.incoming_from(preheader)) for phi in steps):
                is_of_group = "global_id" not in self.ids and "group_id" not in self.ids
                is_flat = all(map(_is_flat, self.source.instructions()))
                return GridStride(
                    self.source, guard, preheader, header, latch, number, steps, bound, is_of_group, is_flat
                )
        return None

    def _step(self, phi: Instruction) -> IRValue | None:
        """The growth of a number in each iteration, if all work-items have that, and it is known at run time only."""
        assert self.loop.latch is not None
        following = phi.incoming_from(self.loop.latch)
        if phi.type is not I64 or not isinstance(following, Instruction) or following.opcode != "add":
            return None
        if phi not in following.operands:
            return None
        step = following.operands[following.operands[0] is phi]
        return step if step.integer is None and self._is_shared(step) else None

    def _bound(self, number: Instruction, step: IRValue, guard: Block) -> IRValue | None:
        """The end of the numbers, where the guard and the latch compare with the same."""
        preheader, header, latch = self.loop.preheader, self.loop.header, self.loop.latch
        assert preheader is not None
        assert header is not None
        assert latch is not None
        start, following = number.incoming_from(preheader), number.incoming_from(latch)
        first = _less(guard, preheader)
        if first is None or _of_positive(first[0], step) is not start or first[2]:
            return None
        bound, again = _of_positive(first[1], step), _less(latch, header)
        if again is None or again[2]:
            return None
        less, more, _ = again
        is_next = less is following and more is bound
        parts = [_of_positive(each, step) for each in more.operands] if _is_difference(more) else []
        is_left = _of_positive(less, step) is step and parts == [bound, number]
        if not is_next and not is_left:
            return None
        if isinstance(bound, Instruction) and bound.opcode == "select":  # no end of a step of 0
            condition, chosen, other = bound.operands
            if _is_zero(condition, step) and chosen is start:
                return other
        return bound

    def _is_shared(self, value: IRValue) -> bool:
        """Whether a value is uniform over a launch, and may be hoisted out of the loop."""
        if not isinstance(value, Instruction):
            return True
        if value.callee.startswith(QUERY):
            return not value.callee.endswith("_id")
        return value in self.packed or (
            value.opcode in (*CHEAP, "select") and all(map(self._is_shared, value.operands))
        )

    def _is_computable(self, value: IRValue) -> bool:
        """Whether a value may be computed again in each iteration: it depends on ids and arguments alone."""
        if not isinstance(value, Instruction) or value in self.packed or value.callee.startswith(QUERY):
            return True
        return value.opcode in (*CHEAP, "urem", "udiv") and all(map(self._is_computable, value.operands))

    def _is_start(self, value: IRValue) -> bool:
        """Whether a value is the sum of ids and uniform values, so that it is least where all ids are 0."""
        if isinstance(value, Instruction) and value.opcode == "add":
            left, right = value.operands
            if self._is_shared(left):
                return self._is_start(right)
            if self._is_shared(right):
                return self._is_start(left)
        return self._is_id(value)

    def _is_id(self, value: IRValue) -> bool:
        """Whether a value is computed from ids alone: 0 where they are 0, and never negative."""
        if not isinstance(value, Instruction):
            return False
        if value.callee.startswith(QUERY):
            name = value.callee[len(QUERY) :]
            if name.endswith("_id"):
                self.ids.add(name)
            return name.endswith("_id")
        if value.opcode == "add":
            return all(map(self._is_id, value.operands))
        if value.opcode in ("mul", "shl"):
            left, right = value.operands
            number = right.integer
            if value.opcode == "shl":
                return number is not None and number <= 16 and self._is_id(left)
            if self._is_id(right):
                left, right = right, left
            is_size = isinstance(right, Instruction) and right.callee.startswith(QUERY) and self._is_shared(right)
            return (is_size or (number is not None and 0 <= number <= _LARGEST_FACTOR)) and self._is_id(left)
        return False


def _less(block: Block, target: Block) -> tuple[IRValue, IRValue, bool] | None:
    """The numbers of which the first is less where a block goes on to another one, and whether they may be equal."""
    condition = block.terminator.operands[0] if len(block.successors) == 2 else None
    if not isinstance(condition, Instruction) or condition.opcode != "icmp" or condition.operands[0].type is not I64:
        return None
    predicate, (left, right) = condition.predicate, condition.operands
    if block.successors[0] is not target:
        predicate = NEGATED[predicate]
    if predicate[1:] in ("gt", "ge"):
        predicate, left, right = SWAPPED[predicate], right, left
    return (left, right, predicate.endswith("le")) if predicate[1:] in ("lt", "le") else None


def _is_flat(each: Instruction) -> bool:
    """Whether an instruction asks for no id or size, but those of a launch of one axis."""
    name = each.callee
    if name == f"{QUERY}global_id":
        return each.arguments[0].integer == 0
    return not name.startswith(QUERY) or name == f"{QUERY}global_size"


def _is_difference(value: IRValue) -> TypeGuard[Instruction]:
    return isinstance(value, Instruction) and value.opcode == "sub"


def _of_positive(value: IRValue, step: IRValue) -> IRValue:
    """The same value for a step above 0: a range's numbers are negated bit by bit for others."""
    if isinstance(value, Instruction):
        if value.callee.startswith("llvm.abs.") and value.arguments[0] is step:
            return step
        if value.opcode == "xor":
            for sign, other in (value.operands, value.operands[::-1]):
                if isinstance(sign, Instruction) and sign.opcode == "ashr" and sign.operands[0] is step:
                    return other if sign.operands[1].integer == 63 else value
    return value


def _is_zero(condition: IRValue, value: IRValue) -> bool:
    return (
        isinstance(condition, Instruction)
        and condition.opcode == "icmp"
        and condition.predicate == "eq"
        and condition.operands[0] is value
        and condition.operands[1].integer == 0
    )


def interchanged_text(stride: GridStride, plain: str, iteration: str, bounds: str, node: str) -> str:
    """The text of the function that a launch calls, which chooses one of the loops.

    - `plain`: the function whose work-items go through the loop one vector after the other.
    - `iteration`: the function whose work-items go through one iteration.
    - `bounds`: the function that returns the loop's bounds.
    - `node`: the metadata of a loop that is not to be unrolled.
    """
    name, is_flat = stride.source.name, stride.is_flat
    lines = [
        f"define void @{name}(ptr noalias readonly align 8 %packed, ptr noalias readonly align 8 %launch) nounwind {{",
        "entry:",
        f"  %record = alloca [{LONGEST_BYTES} x i8], align 64",
    ]
    axes = [f"local_size.{axis}" for axis in range(3)] + [f"group_count.{axis}" for axis in (1, 2)]
    for label in ("first_group", "end_group", "global_size.0", *axes):
        lines += [
            f"  %{label}.at = getelementptr i8, ptr %launch, i64 {word(label)}",
            f"  %{label} = load i64, ptr %{label}.at, align 8",
        ]
    lines += [
        f"  %bounds = call {BOUNDS} @{bounds}(ptr %packed, ptr %launch, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, "
        "i64 0, i32 0, ptr null)",
        *(f"  %{each} = extractvalue {BOUNDS} %bounds, {number}" for number, each in enumerate(("low", "end", "step"))),
        "  %rows = mul i64 %local_size.1, %local_size.2",
        "  %of_group = mul i64 %rows, %local_size.0",
        "  %groups = sub i64 %end_group, %first_group",
        "  %of_all = mul i64 %of_group, %groups",
        f"  %is_wide = icmp uge i64 {'%of_group' if stride.is_of_group else '%of_all'}, {_FEWEST}",
        f"  %low.fits = icmp ult i64 %low, {_LARGEST}",
        f"  %end.fits = icmp ult i64 %end, {_LARGEST}",
        "  %step.less = add i64 %step, -1",
        f"  %step.fits = icmp ult i64 %step.less, {_LARGEST - 1}",
        "  %span = sub i64 %end, %low",
        "  %is_long = icmp sgt i64 %span, %step",
        "  %fit = and i1 %low.fits, %end.fits",
        "  %all.fit = and i1 %fit, %step.fits",
        "  %group_rows = mul i64 %group_count.1, %group_count.2",
        "  %all_rows = mul i64 %rows, %group_rows",
        "  %is_row = icmp eq i64 %all_rows, 1",
        f"  %is_possible = and i1 %all.fit, {'%is_row' if is_flat else 'true'}",
        "  %is_worth = and i1 %is_wide, %is_long",
        "  %is_interchanged = and i1 %is_possible, %is_worth",
        "  br i1 %is_interchanged, label %interchanged, label %plain",
        "plain:",
        f"  call void @{plain}(ptr %packed, ptr %launch)",
        "  ret void",
        "interchanged:",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %record, ptr align 8 %launch, i64 {RECORD_BYTES}, i1 false)",
        "  %above = add i64 %span, %step.less",
        "  %count = udiv i64 %above, %step",
    ]
    if is_flat:
        lines += [
            "  %item = mul i64 %first_group, %local_size.0",
            "  %item.given = mul i64 %end_group, %local_size.0",
            "  %item.end = call i64 @llvm.smin.i64(i64 %item.given, i64 %global_size.0)",
            "  %items = sub i64 %item.end, %item",
            *_stored("first_item.0", "%item"),
            *_stored("local_size.0", "%items"),
            *_stored("group_count.0", "1"),
        ]
        first, end, size = "0", "1", "1"
    else:
        first, end, size = "%first_group", "%end_group", "1" if stride.is_of_group else "%groups"
    lines += [
        "  br label %groups.some",
        "groups.some:",
        f"  %first = phi i64 [ {first}, %interchanged ], [ %following, %groups.done ]",
        f"  %following = add i64 %first, {size}",
        *_stored("first_group", "%first"),
        *_stored("end_group", "%following"),
        "  br label %again",
        "again:",
        "  %number = phi i64 [ 0, %groups.some ], [ %number.next, %again ]",
        *_stored("iteration.0", "%number"),
        f"  call void @{iteration}(ptr %packed, ptr %record)",
        "  %number.next = add nuw i64 %number, 1",
        "  %more = icmp ult i64 %number.next, %count",
        f"  br i1 %more, label %again, label %groups.done, !llvm.loop {node}",
        "groups.done:",
        f"  %groups.more = icmp ult i64 %following, {end}",
        f"  br i1 %groups.more, label %groups.some, label %done, !llvm.loop {node}",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _stored(label: str, value: str) -> list[str]:
    """Write a word of the copied record."""
    return [
        f"  %{label}.copy = getelementptr i8, ptr %record, i64 {word(label)}",
        f"  store i64 {value}, ptr %{label}.copy, align 8",
    ]
