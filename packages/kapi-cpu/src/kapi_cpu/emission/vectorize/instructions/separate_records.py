"""Records whose accesses alternate with other arrays', such as pixels that are read and written element by element.

A load may read what a store before it wrote, if their arrays overlap. Where the memory that all lanes of a vector
access does not, whole records are loaded first and stored last: the code asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.divergence import VARYING, Shape, Shapes, Stride
from kapi_cpu.emission.vectorize.instructions.records import (
    FREE_OF_MEMORY,
    RecordAccess,
    Root,
    record_accesses,
    root_of,
)
from kapi_cpu.emission.vectorize.scalars import CHEAP
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import Block, FloatType, Instruction, IntType, IRType, IRValue

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["SeparateRecords", "separate_records"]

_LONGEST, _MOST = 4, 8
"""Elements of a record; pairs of arrays whose memory is compared."""


@dataclass(frozen=True)
class _Array:
    """The accesses of one kind of an array in a block.

    - `members`: by their offsets from a root, in the order of the block.
    - `shape`: the shape of the addresses.
    - `size`: bytes of an element.
    """

    opcode: str
    root: Root
    members: list[tuple[int, Instruction]]
    shape: Shape
    size: int

    @property
    def first(self) -> int:
        """The offset of the first element."""
        return min(offset for offset, _ in self.members)

    @property
    def span(self) -> int:
        """Bytes from the first element to the end of the last one, if each is accessed once and none is left out."""
        offsets = sorted(offset for offset, _ in self.members)
        is_dense = offsets == [offsets[0] + number * self.size for number in range(len(offsets))]
        return len(offsets) * self.size if is_dense else 0


@dataclass(frozen=True)
class SeparateRecords:
    """Accesses of whole records in a block, where arrays do not overlap.

    - `block`: which it is.
    - `records`: by each member.
    - `distances`: strides of run time, and the bytes that they are to be.
    - `pairs`: addresses of arrays that are not to overlap, each with an offset and the bytes that all lanes access.
    """

    block: Block
    records: dict[Instruction, RecordAccess]
    distances: dict[Stride, int]
    pairs: list[tuple[tuple[Instruction, int], tuple[Instruction, int]]]

    @property
    def is_checked(self) -> bool:
        """Whether the code must ask."""
        return bool(self.distances or self.pairs)

    def condition(self, lane: LaneEmitter, fetch: Callable[[IRValue], None]) -> IRValue:
        """Write whether the arrays are apart and the records adjacent, where the code must ask."""
        conditions: list[IRValue] = []
        for stride, nbytes in self.distances.items():
            _compute(stride.unit, self.block, lane, fetch)
            conditions.append(lane.builder.emit(f"icmp eq i64 ?, {nbytes}", lane.stride(stride)))
        for (one, size), (other, other_size) in self.pairs:
            ends = []
            for each in (one, other):
                _compute(each.operands[-1], self.block, lane, fetch)
                ends.append(lane.builder.emit("ptrtoint ptr ? to i64", lane.scalar(each.operands[-1])))
            between = lane.builder.emit("sub i64 ?, ?", *ends)
            moved = lane.builder.emit(f"add i64 ?, {size - 1}", between)
            conditions.append(lane.builder.emit(f"icmp uge i64 ?, {size + other_size - 1}", moved))
        made = conditions[0]
        for condition in conditions[1:]:
            made = lane.builder.emit("and i1 ?, ?", made, condition)
        return made


def _compute(value: IRValue, block: Block, lane: LaneEmitter, fetch: Callable[[IRValue], None]) -> None:
    """Write what an address of a block is computed from."""
    if isinstance(value, Instruction) and value.block is block and value not in lane.values:
        for operand in value.operands:
            _compute(operand, block, lane, fetch)
        lane.emit(value)
    else:
        fetch(value)


def separate_records(
    block: Block, shapes: Shapes, lanes: int, invariant: Collection[IRValue], given: Collection[IRValue]
) -> SeparateRecords | None:
    """Find the accesses of whole records in a block whose arrays may overlap; None if there are no further ones.

    - `lanes`: of a vector.
    - `invariant`: loads of what no kernel writes.
    - `given`: what is there at the start.
    """
    if sum(each.opcode == "store" for each in block.instructions) < 2:
        return None
    arrays = _arrays(block, shapes, invariant, given)
    if arrays is None:
        return None
    longest = max((each.span for each in arrays), default=0)
    records: dict[Instruction, RecordAccess] = {}
    distances: dict[Stride, int] = {}
    for each in arrays:
        if each.shape == 0:
            continue
        distance = each.shape if isinstance(each.shape, int) else longest
        is_short = 0 < each.span < distance and each.opcode == "load" and len(each.members) > 1
        count = distance // each.size
        if distance % each.size or not 2 <= count <= _LONGEST or not (each.span == distance or is_short):
            return None
        if isinstance(each.shape, Stride) and distances.setdefault(each.shape, distance) != distance:
            return None
        ordered = tuple(member for _, member in sorted(each.members, key=lambda pair: pair[0]))
        first, last = each.members[0], each.members[-1]
        record = RecordAccess(ordered, first[1], last[1], each.first - first[0], distance)
        records.update(dict.fromkeys(ordered, record))
    if len(records) <= len(record_accesses(block, shapes)):
        return None
    pairs = _pairs(arrays, lanes, records)
    return None if pairs is None else SeparateRecords(block, records, distances, pairs)


def _arrays(
    block: Block, shapes: Shapes, invariant: Collection[IRValue], given: Collection[IRValue]
) -> list[_Array] | None:
    """The accesses of a block, of each array; None if some are of another kind, or addresses wait for loads."""
    found: dict[tuple[str, Root, IRType, Shape], _Array] = {}
    early: set[IRValue] = set()
    for each in block.instructions[:-1]:
        if each in invariant or each in given or (each.opcode in CHEAP and _are_early(each, block, early, given)):
            early.add(each)
        if each in invariant or each in given:
            continue
        if each.opcode not in ("load", "store"):
            if each.opcode in ("atomicrmw", "cmpxchg", "fence", "alloca"):
                return None
            if each.opcode == "call" and not each.callee.startswith(FREE_OF_MEMORY):
                return None
            continue
        pointer, type_ = each.operands[-1], each.type if each.opcode == "load" else each.operands[0].type
        shape, is_there = shapes[pointer], not isinstance(pointer, Instruction) or pointer.block is not block
        if not each.form.is_plain or shape is VARYING or not isinstance(type_, (IntType, FloatType)):
            return None
        if isinstance(shape, int) and (shape < 0 or (shape == 0 and each.opcode == "store")):
            return None
        if not (is_there or pointer in early):
            return None
        root, offset = root_of(pointer)
        size = size_of(type_)
        array = found.setdefault((each.opcode, root, type_, shape), _Array(each.opcode, root, [], shape, size))
        array.members.append((offset, each))
    return [*found.values()]


def _are_early(each: Instruction, block: Block, early: Collection[IRValue], given: Collection[IRValue]) -> bool:
    """Whether the operands of an instruction are there at the start of a block, or computed of such without a load."""
    return all(
        not isinstance(operand, Instruction) or operand.block is not block or operand in early or operand in given
        for operand in each.operands
    )


def _pairs(
    arrays: list[_Array], lanes: int, records: dict[Instruction, RecordAccess]
) -> list[tuple[tuple[Instruction, int], tuple[Instruction, int]]] | None:
    """The stores and the other accesses that are not to be of the same memory; None if some are, or there are many."""
    pairs = []
    for number, one in enumerate(arrays):
        for other in arrays[:number]:
            if one.opcode == other.opcode == "load":
                continue
            if one.root == other.root:
                if _is_read_back(one, other):
                    return None
                continue
            if _is_local(one) is not _is_local(other):
                continue
            ends = []
            for each in (one, other):
                start = min(each.members, key=lambda pair: pair[0])[1]
                record = records.get(start)
                stride = 0 if record is None else record.stride
                span = max(offset for offset, _ in each.members) - each.first + each.size
                assert isinstance(stride, int)
                ends.append((start, (lanes - 1) * stride + span))
            pairs.append((ends[0], ends[1]))
    return pairs if len(pairs) <= _MOST else None


def _is_read_back(one: _Array, other: _Array) -> bool:
    """Whether accesses of the same records are of different elements, or may read what others of them have written."""
    loads, stores = (one, other) if one.opcode == "load" else (other, one)
    if stores.opcode == loads.opcode or one.shape != other.shape or one.size != other.size:
        return True
    assert stores.members[0][1].block is not None
    position = {each: number for number, each in enumerate(stores.members[0][1].block.instructions)}
    written = dict(stores.members)
    return any(offset in written and position[written[offset]] < position[each] for offset, each in loads.members)


def _is_local(array: _Array) -> bool:
    """Whether an array is of the local memory of a work-group, which is no part of others."""
    pointer: IRValue = array.root[0]
    while isinstance(pointer, Instruction) and pointer.opcode == "getelementptr":
        pointer = pointer.operands[0]
    return isinstance(pointer, Instruction) and pointer.callee == "kapi.local_memory"
