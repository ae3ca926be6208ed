"""Grid-stride loops: a uniform main loop, in which every work-item has an iteration, and a masked remainder."""

from __future__ import annotations

from dataclasses import dataclass

from kapi_lowering.emission.llvm_ir import (
    BINARY,
    I1,
    I64,
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRValue,
    NaturalLoop,
    clone_blocks,
    constant,
    defined,
    is_pure,
)
from kapi_lowering.emission.passes.packed_arrays import field_of, is_kernel
from kapi_lowering.emission.pipeline import function_pass

from ..ir.queries import id_axis, is_convergent, query, size_axis

__all__ = ["split_grid_stride_loops"]

_MOST_INSTRUCTIONS = 100
"""A loop of more has so much to do in an iteration that masks cost little."""
_PREFIX = "kapi.uniform."
_DEPTH = 12
_UNIFORM_QUERIES = ("get_global_size", "get_local_size", "get_group_id", "get_num_groups")
_UNIFORM = (BINARY - {"fadd", "fsub", "fmul", "fdiv", "frem"}) | {"sext", "zext", "trunc", "select", "icmp"}
_SPECULATABLE = (BINARY - {"udiv", "sdiv", "urem", "srem", "fdiv", "frem"}) | {
    *("sext", "zext", "trunc", "select", "icmp", "fcmp", "fneg", "bitcast", "getelementptr")
}
"""Instructions that are safe to speculate, but for reads of the packed argument."""


@function_pass
def split_grid_stride_loops(function: Function) -> None:
    """Do the iterations that all work-items have in a loop of their own, without masks.

    In ``for i in range(first + lane, end, width)`` work-items leave at different iterations, so Intel's compiler for
    CPUs reads by masks in all of them. Where the width or more is left, each work-item has an iteration. So there is a
    loop, without masks, that goes on while the width is left, which is the same for all work-items. What is left then
    is done by the loop as it was: it has one iteration for some work-items, and none for the others.

    Only loops are changed in which the step is the number of ids, by the two queries; that go on as `range` does; and
    in which work-items do not converge.
    """
    if not is_kernel(function) or not any(size_axis(each) for each in function.instructions()):
        return
    touched: set[Block] = set()
    for loop in ControlFlow(function).loops:
        found = None if loop.inner else _grid_stride_loop(function, loop)
        if found and not touched & {found.guard, found.entry, found.header, found.exit}:
            touched |= {found.guard, found.entry, found.header, found.exit}
            _Split(found).write()


@dataclass(frozen=True)
class _GridStrideLoop:
    """A loop that work-items share.

    - `function`, `loop`: what it is.
    - `header`, `guard`, `entry`, `latch`, `exit`: the block by which it is entered, that which decides whether it is,
      that which leads there, that which ends an iteration, and that which follows.
    - `begins`: whether a work-item has an iteration at all.
    - `lane`, `end`, `step`: lanes are from 0 to `step`; each begins at the sum of itself and `others`, and goes to
      `end` by `step`.
    - `others`: what is the same for all lanes.
    """

    function: Function
    loop: NaturalLoop
    header: Block
    guard: Block
    entry: Block
    latch: Block
    exit: Block
    begins: IRValue
    lane: IRValue
    others: list[IRValue]
    end: IRValue
    step: IRValue


def _grid_stride_loop(function: Function, loop: NaturalLoop) -> _GridStrideLoop | None:
    """A loop as such a one, or None."""
    header, latch = loop.header, loop.latch
    instructions = [*loop.instructions()]
    if header is None or latch is None or len(instructions) > _MOST_INSTRUCTIONS:
        return None
    own = {each.name for each in function.module.definitions}  # in which work-items may converge
    if any(is_convergent(each) or each.callee in own for each in instructions):
        return None
    if len(loop.entering) != 1 or loop.exiting != [latch]:
        return None
    (entry,) = loop.entering
    guard = _guard(entry)
    first = header if guard is entry else entry
    begins, goes_on = _branch(guard, first), _branch(latch, header)
    if begins is None or goes_on is None or begins[1] is not goes_on[1]:
        return None
    is_left, is_begun = defined(goes_on[0], "icmp"), defined(begins[0], "icmp")
    rest = defined(is_left.operands[0], "sub") if is_left and is_left.predicate == "ugt" else None
    if not is_left or not rest or rest.type is not I64 or not is_begun:
        return None
    if is_begun.predicate != "slt" and not (is_begun.predicate == "ult" and "samesign" in is_begun.flags):
        return None
    (end, counter), step, start = rest.operands, is_left.operands[1], is_begun.operands[0]
    if is_begun.operands[1] is not end or not _counts(header, entry, latch, counter, start, step):
        return None
    lane = _lane(start, step)
    if lane is None or not _is_uniform(end, _DEPTH):
        return None
    return _GridStrideLoop(function, loop, header, guard, entry, latch, begins[1], begins[0], *lane, end, step)


def _branch(block: Block, first: Block) -> tuple[IRValue, Block] | None:
    """Condition and other target of a block that leads to `first` where the condition is true."""
    operands = block.terminator.operands
    if block.terminator.opcode != "br" or len(operands) != 3 or operands[1] is not first:
        return None
    other = operands[2]
    return (operands[0], other) if isinstance(other, Block) else None


def _guard(entry: Block) -> Block:
    """The block that decides whether a loop is entered: what leads there, or one before what may always be done."""
    before = entry.predecessors
    *body, end = entry.instructions
    is_quiet = len(before) == 1 and end.opcode == "br" and len(end.operands) == 1 and all(map(_may_speculate, body))
    return before[0] if is_quiet else entry


def _may_speculate(each: Instruction) -> bool:
    is_plain_call = each.callee.startswith(("llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.")) or query(each)
    return each.opcode in _SPECULATABLE or bool(is_plain_call) or _is_field(each)


def _is_field(value: IRValue) -> bool:
    """Whether a value is read from the packed argument."""
    load = defined(value, "load")
    return load is not None and load.type.text.startswith("i") and field_of(load.operands[0]) is not None


def _counts(header: Block, entry: Block, latch: Block, counter: IRValue, start: IRValue, step: IRValue) -> bool:
    """Whether a value is the loop's counter, from `start` by `step`."""
    phi = defined(counter, "phi")
    if phi is None or phi.block is not header or phi.type is not I64:
        return False
    following = defined(phi.incoming_from(latch), "add")
    return phi.incoming_from(entry) is start and following is not None and {*following.operands} == {counter, step}


def _lane(start: IRValue, step: IRValue) -> tuple[IRValue, list[IRValue]] | None:
    """The id that a loop starts at, and what is added to it; None unless the step is the number of ids."""
    size, parts = size_axis(step), _parts(start, 6)
    lanes = [each for each in parts if id_axis(each)]
    if not size or len(lanes) != 1 or id_axis(lanes[0]) != size:
        return None
    parts.remove(lanes[0])
    return (lanes[0], parts) if all(_is_uniform(each, _DEPTH) for each in parts) else None


def _parts(value: IRValue, depth: int) -> list[IRValue]:
    """The values of which one is the sum."""
    found = defined(value, "add") if depth and value.type is I64 else None
    return [part for each in found.operands for part in _parts(each, depth - 1)] if found else [value]


def _is_uniform(value: IRValue, depth: int) -> bool:
    """Whether an integer is the same for all work-items of a group, as a compiler sees."""
    if not isinstance(value, Instruction):
        return value.integer is not None
    if _is_field(value):
        return True
    if depth == 0 or not (value.opcode in _UNIFORM or query(value) in _UNIFORM_QUERIES):
        return False
    return all(_is_uniform(each, depth - 1) for each in (value.arguments if value.callee else value.operands))


class _Split:
    """The change of one loop."""

    def __init__(self, found: _GridStrideLoop) -> None:
        self._found = found
        self._function = found.function

    def write(self) -> None:
        """Put the uniform loop in front of the loop as it is."""
        each, function = self._found, self._function
        values: dict[IRValue, IRValue] = {}
        blocks = [block for block in function.blocks if block in each.loop.blocks]
        only_tested = self._only_tested()
        clone_blocks(blocks, values, before=each.header, suffix="uniform")
        over = function.add_block(f"{_PREFIX}end", before=each.header)
        last = function.add_block(f"{_PREFIX}last", before=each.header)
        header, latch = values[each.header], values[each.latch]
        assert isinstance(header, Block)
        assert isinstance(latch, Block)
        some = self._enter(header, last)
        rest = self._count(header, latch, some, over)
        end = Builder(over, prefix=_PREFIX)
        is_lane = end.emit("icmp ult i64 ?, ?", each.lane, rest, name="is.lane")
        end.emit("br label ?", last)
        joined = Builder(last)
        has_more = joined.phi(I1, [(each.begins, each.entry), (is_lane, over)])
        for phi in each.header.phis:
            following = phi.incoming_from(each.latch)
            starts = [(phi.incoming_from(each.entry), each.entry), (values.get(following, following), over)]
            phi.set_incoming(each.entry, joined.phi(phi.type, starts))
            phi.replace_operand(each.entry, last)
        for phi in each.exit.phis:
            result = phi.incoming_from(each.latch)
            ends = [(phi.incoming_from(each.guard), each.entry), (values.get(result, result), over)]
            phi.set_incoming(each.guard, joined.phi(phi.type, ends))
            phi.replace_operand(each.guard, last)
        joined.emit("br i1 ?, label ?, label ?", has_more, each.header, each.exit)
        for original in only_tested:  # the last first
            copy = values[original]
            if isinstance(copy, Instruction):
                copy.erase()

    def _enter(self, header: Block, last: Block) -> IRValue:
        """Enter the uniform loop if all lanes have an iteration; returns how many steps of the range are left."""
        each = self._found
        if each.guard is not each.entry:
            each.guard.terminator.rewrite("br label ?", each.entry)
        builder = Builder.before(each.entry.terminator, prefix=_PREFIX)
        first: IRValue = constant(I64, 0)
        for other in each.others:
            first = builder.emit("add i64 ?, ?", first, other, name="first")
        is_any = builder.emit("icmp sgt i64 ?, ?", each.end, first, name="is.any")
        some = builder.emit("select i1 ?, i64 ?, i64 0", is_any, builder.emit("sub i64 ?, ?", each.end, first))
        is_full = builder.emit("icmp uge i64 ?, ?", some, each.step)
        each.entry.terminator.rewrite("br i1 ?, label ?, label ?", is_full, header, last)
        return some

    def _count(self, header: Block, latch: Block, some: IRValue, over: Block) -> IRValue:
        """Let the uniform loop go on while the width is left; returns what is left."""
        each = self._found
        builder = Builder(header, header.instructions[0])
        left = builder.phi(I64, [(some, each.entry), (some, latch)])
        builder = Builder.before(latch.terminator, prefix=_PREFIX)
        rest = builder.emit("sub i64 ?, ?", left, each.step, name="rest")
        left.set_incoming(latch, rest)
        goes_on = builder.emit("icmp uge i64 ?, ?", rest, each.step, name="goes.on")
        latch.terminator.rewrite("br i1 ?, label ?, label ?", goes_on, header, over)
        return rest

    def _only_tested(self) -> list[Instruction]:
        """The instructions of which nothing is used but whether the loop goes on, the last first."""
        found = [self._found.latch.terminator]
        for each in reversed([*self._found.loop.instructions()]):
            is_computed = is_pure(each) or (each.opcode == "load" and each.form.is_plain)
            if is_computed and each.opcode != "phi" and all(user in found for user in each.users):
                found.append(each)
        return found[1:]
