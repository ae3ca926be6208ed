"""Whole-function vectorisation: code of one work-item becomes code of several that go through it together.

Branches on which all lanes agree stay branches. Where lanes may part, both sides are executed one after the other, each
under the mask of the lanes that came there (partial linearisation). A loop that lanes leave in different iterations
goes on while a lane is in it. Values that are used in other blocks go through memory, which LLVM's passes take away
again: they place the phis.

References
----------
S. Moll, S. Hack, "Partial Control-Flow Linearization", 2018.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.block_order import BlockOrder, Level, Node
from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes
from kapi_cpu.emission.vectorize.instructions.bounds import answers_of, are_bounds, bound_of
from kapi_cpu.emission.vectorize.instructions.lane_loops import NotVectorizableError
from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter
from kapi_cpu.emission.vectorize.instructions.prefetching import far_loads
from kapi_cpu.emission.vectorize.instructions.records import record_accesses
from kapi_cpu.emission.vectorize.instructions.separate_records import SeparateRecords, separate_records
from kapi_cpu.emission.vectorize.scalars import recomputed_values
from kapi_cpu.emission.vectorize.uses import is_used_elsewhere, units_of
from kapi_lowering.emission.llvm_ir import I1, Block, Function, Instruction, IRValue, NaturalLoop

__all__ = ["Vectorizer"]

_WORTH_A_CHECK = ("load", "store", "call", "atomicrmw", "cmpxchg", "sdiv", "udiv", "srem", "urem", "fence")
_FEW = 8
"""Instructions that are executed with no lane on rather than branched over."""


class Vectorizer:
    """Writes the lanes' code of a function.

    - `source`: of one work-item, in loop-simplified and loop-closed form, with one return.
    - `target`: gets the blocks. It has an entry, for what is allocated, and a second block, which has been begun; both
      are ended here.
    - `shapes`: of the source.
    - `emitter`: for the target; its `values` has what stands for parameters and for what asks for the work-item.
    - `mask`: the lanes that are on at the beginning, of which there is one at least; None for all.
    - `split`: the blocks of the source whose ends take the side of a bound that a vector is on.
    - `slot_keys`: the memory of values that are used in other blocks: what it is for, and the value of the source.
    """

    def __init__(
        self,
        source: Function,
        target: Function,
        shapes: Shapes,
        emitter: LaneEmitter,
        mask: IRValue | None,
        split: Collection[Block] = (),
    ) -> None:
        self.source, self.target, self.shapes, self.lane = source, target, shapes, emitter
        self.flow, self._entry_mask, self._split = shapes.flow, mask, split
        self._given = dict(emitter.values)
        self._order = BlockOrder(shapes)
        self._position = self._order.position
        self._entries: dict[Node, Block] = {}
        self._deferred: dict[Node, set[Block]] = {}
        self._outer: dict[NaturalLoop, set[Block]] = {}
        self._after: dict[NaturalLoop, Block] = {}
        self._slots: dict[IRValue, IRValue] = {}
        self._phis: dict[Instruction, IRValue] = {}
        self._masks: dict[Block, IRValue] = {}
        self._edges: dict[tuple[Block, Block], IRValue] = {}
        self._edges_of: dict[Level, list[tuple[Block, Block]]] = {}
        self._live: dict[NaturalLoop, IRValue] = {}
        self._bounds: dict[tuple[Block, Block], tuple[IRValue, IRValue]] = {}
        self._recomputed: set[IRValue] = set()
        self._nonempty: set[Block] = set()
        self._modes: dict[Block, tuple[str, Block | None]] = {}
        self.lane.far_loads = far_loads(shapes) if emitter.lanes > 1 else {}
        self._has_barriers = any(each.callee.startswith(BARRIER) for each in source.instructions())
        self._strided_by = units_of(source, shapes, self.lane.far_loads)
        self._find_modes()
        self._make_slots()

    @property
    def slot_keys(self) -> dict[IRValue, tuple[str, IRValue]]:
        found: dict[IRValue, tuple[str, IRValue]] = {slot: ("value", each) for each, slot in self._slots.items()}
        return found | {slot: ("phi", each) for each, slot in self._phis.items()}

    def run(self) -> None:
        """Write all blocks."""
        self._zero_edges(None)
        self.lane.jump(self._entry_of(self.source.entry))
        self._process(None)
        self.lane.allocas.emit("br label ?", self.target.blocks[1])

    # -- masks

    def _is_divergent(self, loop: NaturalLoop) -> bool:
        return loop.header in self.shapes.divergent_loops

    def _find_modes(self) -> None:
        """Decide how each block gets its mask.

        "level": that of its loop or of the function; "same": that of another block; "edges": those of the edges that
        lead to it. The mask of a loop's header is the loop's own; what the loop begins with is kept under the loop.
        """
        dominators, post, everywhere = self.flow.dominators, self.flow.post_dominators, set(self._position)
        for block in self._position:
            loop = self.shapes.loop_of(block)
            inner: set[Block] = set()
            level = loop
            if loop is not None and loop.header is block:
                level, inner = loop.parent, loop.blocks
            region = (level.blocks if level is not None else everywhere) - inner
            if not self.shapes.parts_within(block, region):
                self._modes[block] = ("level", None)
                continue
            above = dominators.parent.get(block)
            while above is not None and self.shapes.loop_of(above) is not level and post.dominates(block, above):
                above = dominators.parent.get(above)
            if above is not None and not post.dominates(block, above):
                above = None  # nor does it post-dominate what dominates that one
            self._modes[block] = ("edges", None) if above is None else ("same", above)

    def _make_slots(self) -> None:
        mask_type = self.lane.mask_type()
        if self._has_barriers:
            self._recomputed = recomputed_values(self._position, self.shapes, self.lane.invariant, self._given)
        for loop in self.flow.loops:
            self._live[loop] = self.lane.alloca(mask_type, "live")
        for block in self._position:
            if self._modes[block][0] == "edges":
                self._masks[block] = self.lane.alloca(mask_type, "mask")
                for source in self.flow.predecessors[block]:
                    if not self._is_back_edge(source, block):
                        self._edges[source, block] = self.lane.alloca(mask_type, "edge")
                        self._edges_of.setdefault(self._level_of(block), []).append((source, block))
                        if self._is_bound(source):
                            slots = self.lane.alloca(I1, "some"), self.lane.alloca(I1, "all")
                            self._bounds[source, block] = slots
            for each in block.instructions:
                if each.opcode == "phi":
                    self._phis[each] = self.lane.alloca(self.lane.stored_type(each), "phi")
                if each not in self._given and not each.form.is_void and self._is_used_elsewhere(each):
                    if each.opcode != "alloca" and each not in self._recomputed:
                        self._slots[each] = self.lane.alloca(self.lane.stored_type(each), "value")

    def _is_bound(self, source: Block) -> bool:
        """Whether lanes that come to a block part there by a bound of their numbers: the first ones take one path."""
        end = source.terminator
        if self.lane.lanes == 1 or len(end.operands) < 2 or self._is_block_masked(source):
            return False
        condition = end.operands[0]
        if not isinstance(condition, Instruction) or condition.block is not source:
            return False  # what it compares may be in no memory
        return bound_of(condition, self.shapes) is not None or are_bounds(condition, self.shapes)

    def _is_used_elsewhere(self, each: Instruction) -> bool:
        return is_used_elsewhere(each, self.shapes, self._strided_by)

    def _is_back_edge(self, source: Block, target: Block) -> bool:
        loop = self.shapes.loop_of(target)
        return loop is not None and loop.header is target and source in loop.blocks

    def _level_of(self, block: Block) -> Level:
        """The level of which a block, or the loop that it is the header of, is a node."""
        loop = self.shapes.loop_of(block)
        return loop.parent if loop is not None and loop.header is block else loop

    def _zero_edges(self, level: Level) -> None:
        for edge in self._edges_of.get(level, ()):
            self.lane.builder.emit(f"store {self.lane.mask_type()} zeroinitializer, ptr ?", self._edges[edge])
            for bound in self._bounds.get(edge, ()):
                self.lane.builder.emit("store i1 false, ptr ?", bound)

    def _forget_edges(self) -> None:
        """Note that no lane is on its way along an edge, so that neither masks nor values of phis are kept."""
        for level in self._edges_of:
            self._zero_edges(level)
        for slot in self._phis.values():
            assert isinstance(slot, Instruction)
            self.lane.builder.emit(f"store {slot.form.element} poison, ptr ?", slot)

    def _level_mask(self, level: Level) -> IRValue | None:
        if level is None:
            return self._entry_mask
        if not self._is_masked(level):
            return None
        return self._loaded(self._live[level])

    def _is_masked(self, level: Level) -> bool:
        """Whether lanes may be off that were on at the beginning, or are off from there."""
        if level is None:
            return self._entry_mask is not None
        if self._is_divergent(level):
            return True
        assert level.header is not None
        mode, same = self._modes[level.header]
        if mode == "level":
            return self._is_masked(level.parent)
        return mode == "edges" or self._is_block_masked(same)

    def _is_block_masked(self, block: Block | None) -> bool:
        assert block is not None
        loop = self.shapes.loop_of(block)
        if loop is not None and loop.header is block:
            return self._is_masked(loop)
        mode, same = self._modes[block]
        if mode == "level":
            return self._is_masked(loop)
        return mode == "edges" or self._is_block_masked(same)

    def _loaded(self, slot: IRValue) -> IRValue:
        return self.lane.builder.emit(f"load {self.lane.mask_type()}, ptr ?", slot)

    def _mask_of(self, block: Block, level: Level) -> tuple[IRValue | None, bool]:
        """The mask of a node of a level, by its block, and whether a lane is on in it."""
        mode, same = self._modes[block]
        if mode == "level":
            return self._level_mask(level), True
        if mode == "same":
            assert same is not None
            loop = self.shapes.loop_of(same)
            if loop is not None and loop.header is same:
                mask = self._level_mask(loop)
            elif self._modes[same][0] == "level":
                mask = self._level_mask(level)
            elif same in self._masks:
                mask = self._loaded(self._masks[same])
            else:
                return self._mask_of(same, level)
            return mask, same in self._nonempty or mask is None
        edges = [(source, block) for source in self.flow.predecessors[block] if (source, block) in self._edges]
        masks = [self._loaded(self._edges[each]) for each in edges]
        mask = masks[0]
        if len(edges) == 1 and edges[0] in self._bounds:
            some, full = (self.lane.builder.emit("load i1, ptr ?", slot) for slot in self._bounds[edges[0]])
            self.lane.know_any(mask, some)
            self.lane.is_full = full
        for other in masks[1:]:
            mask = self.lane.builder.emit(f"or {mask.type} ?, ?", mask, other)
        return mask, False

    # -- blocks of the target

    def _entry_of(self, node: Node) -> Block:
        if node not in self._entries:
            name = (node.header if isinstance(node, NaturalLoop) else node) or self.source.entry
            label = name.quoted("pre" if isinstance(node, NaturalLoop) else "") or "block"
            self._entries[node] = self.lane.block(label)
        return self._entries[node]

    def _resolve(self, level: Level, targets: Iterable[Block]) -> Block:
        """The block to jump to so that all these are come to, those further on later."""
        wanted = set(targets)
        if level is not None:
            wanted.discard(level.header)
        inside = {self._order.node_at(level, target) for target in wanted} - {None}
        if inside:
            following = min(inside, key=lambda node: self._order.first(node))  # type: ignore[arg-type]
            assert following is not None
            rest = {target for target in wanted if self._order.node_at(level, target) is not following}
            self._deferred.setdefault(following, set()).update(rest)
            return self._entry_of(following)
        assert level is not None, wanted
        if self._is_divergent(level):
            return self._after[level]
        return self._resolve(level.parent, wanted | self._outer[level])

    def _process(self, level: Level) -> None:
        for node in self._order.nodes[level]:
            if isinstance(node, NaturalLoop):
                self._loop(level, node)
            else:
                self._block(level, node)

    # -- loops

    def _loop(self, level: Level, loop: NaturalLoop) -> None:
        deferred = self._deferred.pop(loop, set())
        header = loop.header
        assert header is not None
        exits = {*loop.exits}
        self.lane.begin(self._entry_of(loop), None, True)
        mask, is_nonempty = self._mask_of(header, level)
        if mask is not None and not is_nonempty:
            body = self.lane.block("some")
            self.lane.branch(self.lane.any(mask), body, self._resolve(level, deferred | exits))
            self.lane.begin(body, None, True)
        if self._is_masked(loop):
            held = self.lane.all_on() if mask is None else mask
            self.lane.builder.emit(f"store {held.type} ?, ptr ?", held, self._live[loop])
        self._nonempty.add(header)
        self._outer[loop] = deferred
        if self._is_divergent(loop):
            self._after[loop] = self.lane.block("left")
        self.lane.jump(self._entry_of(header))
        self._process(loop)
        if self._is_divergent(loop):
            self.lane.begin(self._after[loop], None, True)
            self.lane.jump(self._resolve(level, deferred | exits))

    # -- blocks

    def _block(self, level: Level, block: Block) -> None:
        deferred = self._deferred.pop(block, set())
        is_header = level is not None and level.header is block
        self.lane.begin(self._entry_of(block), None, True)
        self.lane.values = dict(self._given)
        if self.shapes.is_behind_barrier(block, {*self._position}):
            self._forget_edges()
        if is_header:
            mask, is_nonempty = self._level_mask(level), True
            self._zero_edges(level)
        else:
            mask, is_nonempty = self._mask_of(block, level)
        if block in self._masks:
            assert mask is not None
            self.lane.builder.emit(f"store {mask.type} ?, ptr ?", mask, self._masks[block])
        is_nonempty = is_nonempty or mask is None
        if mask is not None and not is_nonempty and self._is_worth_a_check(block):
            body, is_full = self.lane.block(block.quoted("on") or "on"), self.lane.is_full
            self.lane.branch(self.lane.any(mask), body, self._resolve(level, deferred | self._past(block)))
            self.lane.begin(body, None, True)
            self.lane.is_full = is_full
            is_nonempty = True
        if is_nonempty:
            self._nonempty.add(block)
        self.lane.mask, self.lane.is_nonempty = mask, is_nonempty
        if mask is not None and is_nonempty and self._is_worth_a_copy(level, block):
            full, part, values = self.lane.block("full"), self.lane.block("part"), dict(self.lane.values)
            self.lane.branch(self.lane.is_full or self.lane.all(mask), full, part)
            self.lane.begin(full, None, True)
            self._body(level, block, deferred)
            self.lane.begin(part, mask, True)
            self.lane.values = values
        self._body(level, block, deferred)

    def _body(self, level: Level, block: Block, deferred: set[Block]) -> None:
        """Write the instructions of a block, and its end, under the mask that holds."""
        self.lane.records = {}
        if self.lane.lanes > 1 and self.lane.mask is None:
            found = separate_records(block, self.shapes, self.lane.lanes, self.lane.invariant, self._given)
            if found is not None and found.is_checked:
                self._where_separate(level, block, deferred, found)
                found = None
            self.lane.records = record_accesses(block, self.shapes) if found is None else found.records
        self._instructions(level, block, deferred)

    def _where_separate(self, level: Level, block: Block, deferred: set[Block], found: SeparateRecords) -> None:
        """Write a block for arrays that are apart, and begin what is executed where they are not."""
        separate, other, values = self.lane.block("separate"), self.lane.block("other"), dict(self.lane.values)
        self.lane.branch(found.condition(self.lane, self._fetch), separate, other)
        self.lane.begin(separate, None, True)
        self.lane.values, self.lane.records = dict(values), found.records
        self._instructions(level, block, deferred)
        self.lane.begin(other, None, True)
        self.lane.values = values

    def _instructions(self, level: Level, block: Block, deferred: set[Block]) -> None:
        for each in block.instructions[:-1]:
            self._instruction(each, block)
        self._end(level, block, deferred)

    def _is_worth_a_copy(self, level: Level, block: Block) -> bool:
        """Whether a block has code for all lanes being on: it accesses elements of each, mostly of all."""
        if self.lane.lanes == 1 or self._entry_mask is not None:
            return False
        loop: Level = level
        while loop is not None:
            if self._is_divergent(loop):
                return False
            loop = loop.parent
        if any(each.opcode == "alloca" or each.callee.startswith("kapi.") for each in block.instructions):
            return False
        return any(
            each.opcode in ("load", "store") and self.shapes[each.operands[-1]] != 0 for each in block.instructions
        )

    def _past(self, block: Block) -> set[Block]:
        """The targets of a block in which no lane is on: behind all blocks that only its lanes come to."""
        post = self.flow.post_dominators.parent
        at = post.get(block)
        while at is not None and self._position[at] > self._position[block]:
            mode, same = self._modes[at]
            while mode == "same" and same is not block:
                assert same is not None
                mode, same = self._modes[same]
            if mode != "same" and not self.shapes.is_entered_before(at, block):
                return {at}
            at = post.get(at)
        return set()

    def _is_worth_a_check(self, block: Block) -> bool:
        if len(block.instructions) > _FEW or any(each.opcode in _WORTH_A_CHECK for each in block.instructions):
            return True
        # What is uniform at a join must come from an edge that was taken.
        return (
            any(self.shapes[phi] is not VARYING for target in self.flow.successors[block] for phi in target.phis)
            or len(self.flow.successors[block]) > 1
        )

    def _instruction(self, each: Instruction, block: Block) -> None:
        if each in self._given:
            return
        if each.opcode == "phi":
            type_ = self.lane.stored_type(each)
            self.lane.values[each] = self.lane.builder.emit(f"load {type_}, ptr ?", self._phis[each])
        else:
            self._fetch_operands(each)
            self.lane.emit(each)
            if each.opcode == "alloca":
                self._given[each] = self.lane.values[each]
        if each in self._slots:
            held = self.lane.values[each]
            self.lane.builder.emit(f"store {held.type} ?, ptr ?", held, self._slots[each])

    def _fetch_operands(self, each: Instruction) -> None:
        for operand in each.operands:
            self._fetch(operand)
        if each in self.lane.far_loads:
            self._fetch(self.lane.far_loads[each].step)

    def _fetch(self, value: IRValue) -> None:
        if value in self._recomputed and value not in self.lane.values:
            assert isinstance(value, Instruction)
            self._fetch_operands(value)
            self.lane.emit(value)
        if value in self._slots and value not in self.lane.values:
            type_ = self.lane.stored_type(value)
            self.lane.values[value] = self.lane.builder.emit(f"load {type_}, ptr ?", self._slots[value])
        unit = self.shapes.unit_of(value)
        if unit is not None:
            self._fetch(unit)

    # -- ends of blocks

    def _end(self, level: Level, block: Block, deferred: set[Block]) -> None:
        end = block.terminator
        if end.opcode == "ret":
            self.lane.builder.emit("ret void")
            return
        if end.opcode != "br":
            raise NotVectorizableError(f"the instruction {end.opcode}")
        targets = block.successors
        if len({*targets}) == 1:
            self._edge(block, targets[0], self.lane.mask)
            self._leave(level, {*targets}, deferred, self.lane.mask)
            return
        condition = end.operands[0]
        self._fetch(condition)
        if self.shapes.is_uniform(condition):
            mask, values = self.lane.mask, self.lane.values
            is_nonempty = self.lane.is_nonempty
            blocks = [self.lane.block("edge") for _ in targets]
            self.lane.branch(self.lane.fetch(condition), *blocks)
            for target, edge in zip(targets, blocks, strict=True):
                self.lane.begin(edge, mask, is_nonempty)
                self.lane.values = dict(values)
                self._edge(block, target, mask)
                self._leave(level, {target}, deferred, mask)
        else:
            if any((block, target) in self._bounds for target in targets):
                chosen = self._answer_by_bound(condition, block)
            else:
                chosen = self.lane.vector(condition)
            masks = [self.lane.both(self.lane.mask, chosen), self.lane.both(self.lane.mask, self.lane.negated(chosen))]
            pairs = [*zip(targets, masks, strict=True)]
            # What a loop hands back must not be overwritten before what leaves it is kept.
            pairs.sort(key=lambda pair: self._is_back_edge(block, pair[0]))
            for target, mask in pairs:
                self._edge(block, target, mask, is_part=True)
            back = next((mask for target, mask in pairs if self._is_back_edge(block, target)), None)
            self._leave(level, {*targets}, deferred, back)

    def _answer_by_bound(self, condition: IRValue, block: Block) -> IRValue:
        """The answers of lanes, of which edges keep whether one and whether all lanes take them."""
        assert isinstance(condition, Instruction)
        self._fetch_operands(condition)
        target, other = block.successors
        chosen, some, full = answers_of(self.lane, condition, block in self._split)
        builder = self.lane.builder
        for slot, value in zip(self._bounds.get((block, target), ()), (some, full), strict=False):
            builder.emit("store i1 ?, ptr ?", value, slot)
        for slot, value in zip(self._bounds.get((block, other), ()), (full, some), strict=False):
            builder.emit("store i1 ?, ptr ?", builder.emit("xor i1 ?, true", value), slot)
        return chosen

    def _leave(self, level: Level, targets: set[Block], deferred: set[Block], back: IRValue | None) -> None:
        """Jump to what comes next."""
        if level is not None and level.header in targets:
            header = self._entry_of(level.header)
            if not self._is_divergent(level):
                self.lane.jump(header)
                return
            held = self.lane.all_on() if back is None else back
            self.lane.branch(self.lane.any(held), header, self._after[level])
            return
        self.lane.jump(self._resolve(level, targets | deferred))

    def _edge(self, block: Block, target: Block, mask: IRValue | None, is_part: bool = False) -> None:
        """Hand on along an edge: the mask, and the values of phis."""
        is_back = self._is_back_edge(block, target)
        held = self.lane.all_on() if mask is None else mask
        if is_back:
            loop = self.shapes.loop_of(target)
            assert loop is not None
            if self._is_divergent(loop):
                self.lane.builder.emit(f"store {held.type} ?, ptr ?", held, self._live[loop])
        elif (block, target) in self._edges:
            slot = self._edges[block, target]
            old = self._loaded(slot)
            both = self.lane.builder.emit(f"or {held.type} ?, ?", old, held)
            self.lane.builder.emit(f"store {both.type} ?, ptr ?", both, slot)
        handed = []
        for phi in target.phis:
            value = phi.incoming_from(block)
            self._fetch(value)
            is_varying = self.shapes[phi] is VARYING
            handed.append((phi, self.lane.vector(value) if is_varying else self.lane.scalar(value)))
        for phi, value in handed:
            slot = self._phis[phi]
            if mask is not None and not is_back and self._is_blended(block, target):
                old = self.lane.builder.emit(f"load {value.type}, ptr ?", slot)
                if self.shapes[phi] is VARYING:
                    text = f"select {mask.type} ?, {value.type} ?, {value.type} ?"
                    value = self.lane.builder.emit(text, mask, value, old)
                elif is_part or not self.lane.is_nonempty:
                    text = f"select i1 ?, {value.type} ?, {value.type} ?"
                    value = self.lane.builder.emit(text, self.lane.any(mask), value, old)
            self.lane.builder.emit(f"store {value.type} ?, ptr ?", value, slot)

    def _is_blended(self, block: Block, target: Block) -> bool:
        """Whether other lanes may bring other values there, on another edge or in another iteration."""
        if len([each for each in self.flow.predecessors[target] if not self._is_back_edge(each, target)]) > 1:
            return True
        loop = self.shapes.loop_of(block)
        while loop is not None and target not in loop.blocks:
            if self._is_divergent(loop):
                return True
            loop = loop.parent
        return False
