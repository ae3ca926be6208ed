"""Records of two to four elements of one type, such as pixels: whole ones are loaded and stored, and taken apart.

The accesses of all elements of a record stand in one block, with no other access between them that could be of the same
memory. Where the distance of records is known at run time only, as of the rows of an array, the code asks for it.
Records that are anywhere are loaded and stored whole, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.divergence import VARYING, Shape, Shapes, Stride
from kapi_cpu.emission.vectorize.type_sizes import element_steps, size_of
from kapi_lowering.emission.llvm_ir import (
    I64,
    Block,
    FloatType,
    Instruction,
    IntType,
    IRType,
    IRValue,
    VectorType,
    constant,
    parse_type,
)

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.accesses import Accesses
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["FREE_OF_MEMORY", "RecordAccess", "Root", "record_accesses", "root_of"]

_LONGEST = 4
_WIDEST = 16
"""Bytes of a record that one instruction accesses."""

_OF_MEMORY = ("load", "store", "atomicrmw", "cmpxchg", "fence")
FREE_OF_MEMORY = tuple(
    f"llvm.{name}."
    for name in (
        "abs", "ceil", "copysign", "fabs", "floor", "fma", "fmuladd", "fptosi", "fptoui", "maxnum", "minnum", "rint",
        "smax", "smin", "sqrt", "umax", "umin",
    )
)  # fmt: skip

Emission = Callable[[], list[IRValue]]

Root = tuple[IRValue, IRValue | None, int]
"""An address by its base, an index and the bytes of that; the base alone without an index."""


@dataclass(frozen=True, slots=True)
class RecordAccess:
    """Loads or stores of all elements of a record.

    - `members`: in the order of the elements.
    - `first`, `last`: in the order of the block: where loads and stores are written.
    - `offset`: bytes from the address of `first` to that of the first element.
    - `stride`: bytes from one lane's record to the next one's; None if that varies. Only elements that are loaded may
      be fewer than these bytes.
    """

    members: tuple[Instruction, ...]
    first: Instruction
    last: Instruction
    offset: int
    stride: Shape

    @property
    def type(self) -> IRType:
        """The type of an element."""
        return _accessed_type(self.first)

    def load(self, lane: LaneEmitter, accesses: Accesses) -> list[IRValue]:
        """Load all lanes' records; an element of all is a vector."""
        count, lanes = len(self.members), lane.lanes
        kind = parse_type(f"<{count * lanes} x {self.type}>")
        if isinstance(self.stride, int) and self.stride > count * size_of(self.type):
            return self._load_parts(lane, self.stride // size_of(self.type))

        def picked(records: IRValue) -> list[IRValue]:
            return [_picked(lane, records, records, range(number, count * lanes, count)) for number in range(count)]

        def contiguous(first: IRValue) -> list[IRValue]:
            return picked(lane.builder.emit(f"load {kind}, ptr ?, align {self._align}", first))

        def one_by_one() -> list[IRValue]:
            type_ = self._record_type
            if type_ is None:
                assert isinstance(self.stride, Stride)
                return [
                    accesses.load_stepped(self.type, self._address(lane, number), self.stride, self._align)
                    for number in range(count)
                ]
            addresses = self._addresses(lane, accesses)
            if not isinstance(type_, VectorType):
                records = accesses.loaded(type_, addresses, self._align)
                return picked(lane.builder.emit(f"bitcast {records.type} ? to {kind}", records))
            parts: list[IRValue] = [
                lane.builder.emit(f"load {type_}, ptr ?, align {self._align}", at) for at in addresses
            ]
            width = count
            while len(parts) > 1:
                width *= 2
                pairs = zip(parts[::2], parts[1::2], strict=True)
                parts = [_picked(lane, one, other, range(width)) for one, other in pairs]
            return picked(parts[0])

        def of_quadruples() -> list[IRValue]:
            assert isinstance(self.stride, Stride)
            is_quadruple = lane.builder.emit(f"icmp eq i64 ?, {4 * size_of(self.type)}", lane.stride(self.stride))
            return lane.either(is_quadruple, lambda: self._load_parts(lane, 4), one_by_one)

        is_short = isinstance(self.stride, Stride) and count == 3
        return self._where_adjacent(lane, accesses, contiguous, of_quadruples if is_short else one_by_one)

    def _load_parts(self, lane: LaneEmitter, distance: int) -> list[IRValue]:
        """Load the first elements of records that are so many elements apart: nothing behind the last one is read."""
        count, half = len(self.members), distance * lane.lanes // 2
        kind, start = parse_type(f"<{half} x {self.type}>"), half - distance + count
        first = self._address(lane, 0)
        last = lane.builder.emit(f"getelementptr {self.type}, ptr ?, i64 {start}", first)
        near, far = [lane.builder.emit(f"load {kind}, ptr ?, align {self._align}", at) for at in (first, last)]
        numbers = [lane_ * distance for lane_ in range(lane.lanes)]
        return [
            _picked(lane, near, far, (each if each < half else each - start + half for each in at))
            for at in ([number + element for number in numbers] for element in range(count))
        ]

    def store(self, lane: LaneEmitter, accesses: Accesses) -> None:
        """Store all lanes' records."""
        count, lanes = len(self.members), lane.lanes
        vectors = [lane.vector(each.operands[0]) for each in self.members]

        def records() -> IRValue:
            padded = [*vectors, *[constant(vectors[0].type, "poison")] * (-count % 2)]
            pairs = [
                _picked(lane, one, other, range(2 * lanes))
                for one, other in zip(padded[::2], padded[1::2], strict=True)
            ]
            order = [number * lanes + each for each in range(lanes) for number in range(count)]
            return _picked(lane, pairs[0], pairs[-1] if count > 2 else constant(pairs[0].type, "poison"), order)

        def contiguous(first: IRValue) -> list[IRValue]:
            made = records()
            lane.builder.emit(f"store {made.type} ?, ptr ?, align {self._align}", made, first)
            return []

        def one_by_one() -> list[IRValue]:
            type_ = self._record_type
            if type_ is None:
                assert isinstance(self.stride, Stride)
                for number, vector in enumerate(vectors):
                    accesses.store_stepped(vector, self._address(lane, number), self.stride, self._align)
                return []
            made, addresses = records(), self._addresses(lane, accesses)
            if not isinstance(type_, VectorType):
                accesses.scatter(
                    lane.builder.emit(f"bitcast {made.type} ? to {lane.vector_type(type_)}", made),
                    addresses,
                    self._align,
                )
                return []
            for number, at in enumerate(addresses):
                one = _picked(lane, made, made, range(number * count, (number + 1) * count))
                lane.builder.emit(f"store {one.type} ?, ptr ?, align {self._align}", one, at)
            return []

        self._where_adjacent(lane, accesses, contiguous, one_by_one)

    @property
    def _align(self) -> int:
        return min(each.form.alignment or size_of(self.type) for each in self.members)

    def _address(self, lane: LaneEmitter, number: int) -> IRValue:
        """The address of an element of the first lane's record."""
        offset = self.offset + number * size_of(self.type)
        return lane.builder.emit(f"getelementptr i8, ptr ?, i64 {offset}", lane.scalar(self.first.operands[-1]))

    @property
    def _record_type(self) -> IRType | None:
        """The type of one access of all elements of a record; None if processors have none."""
        nbytes = len(self.members) * size_of(self.type)
        if nbytes == _WIDEST:
            return parse_type(f"<{len(self.members)} x {self.type}>")
        return parse_type(f"i{8 * nbytes}") if nbytes in (2, 4, 8) else None

    def _addresses(self, lane: LaneEmitter, accesses: Accesses) -> Iterable[IRValue]:
        """The address of each lane's record."""
        if isinstance(self.stride, Stride):
            return accesses.stepped(self._address(lane, 0), self.stride)
        found = accesses.addresses(self.first.operands[-1], self.type)
        return [lane.builder.emit(f"getelementptr i8, ptr ?, i64 {self.offset}", each) for each in found]

    def _where_adjacent(
        self,
        lane: LaneEmitter,
        accesses: Accesses,
        contiguous: Callable[[IRValue], list[IRValue]],
        one_by_one: Emission,
    ) -> list[IRValue]:
        """Access the records of all lanes at once if nothing is between them, and else one after the other."""
        size = len(self.members) * size_of(self.type)
        if isinstance(self.stride, int):
            return contiguous(self._address(lane, 0))
        if isinstance(self.stride, Stride):
            is_adjacent = lane.builder.emit(f"icmp eq i64 ?, {size}", lane.stride(self.stride))
            return lane.either(is_adjacent, lambda: contiguous(self._address(lane, 0)), one_by_one)
        indexed = accesses.indexed(self.first.operands[-1])
        consecutive = None if indexed is None else indexed.is_consecutive(size)
        if indexed is None or consecutive is None:
            return one_by_one()
        text = f"getelementptr i8, ptr ?, i64 {self.offset}"
        return lane.either(consecutive, lambda: contiguous(lane.builder.emit(text, indexed.first(size))), one_by_one)


def _picked(lane: LaneEmitter, left: IRValue, right: IRValue, numbers: Iterable[int]) -> IRValue:
    picked = [f"i32 {number}" for number in numbers]
    text = f"shufflevector {left.type} ?, {left.type} ?, <{len(picked)} x i32> <{', '.join(picked)}>"
    return lane.builder.emit(text, left, right)


def record_accesses(block: Block, shapes: Shapes) -> dict[Instruction, RecordAccess]:
    """Find the accesses of whole records in a block, by each member."""
    found: dict[Instruction, RecordAccess] = {}
    pending: dict[tuple[str, Root, IRType, Shape], list[tuple[int, Instruction]]] = {}

    def close(opcode: str, but: object = None) -> None:
        for key in [key for key in pending if key[0] == opcode and key != but]:
            record = _record(pending.pop(key), key[3])
            if record is not None:
                found.update(dict.fromkeys(record.members, record))

    for each in block.instructions:
        if each.opcode not in ("load", "store") or not each.form.is_plain:
            if each.opcode in _OF_MEMORY or (each.opcode == "call" and not each.callee.startswith(FREE_OF_MEMORY)):
                close("load")
                close("store")
            continue
        root, offset = root_of(each.operands[-1])
        key = each.opcode, root, _accessed_type(each), shapes[each.operands[-1]]
        is_of_record = key[3] != 0 and isinstance(key[2], (IntType, FloatType))
        if each.opcode == "store":
            close("load")
        close("store", key)
        if is_of_record:
            if any(offset == other for other, _ in pending.get(key, ())):
                close(each.opcode)
            pending.setdefault(key, []).append((offset, each))
    close("load")
    close("store")
    return found


def _record(accesses: Sequence[tuple[int, Instruction]], stride: Shape) -> RecordAccess | None:
    """The accesses as one of records, if they are of adjacent elements and of all."""
    ordered = sorted(accesses, key=lambda pair: pair[0])
    count, size = len(ordered), size_of(_accessed_type(ordered[0][1]))
    is_complete = all(offset == ordered[0][0] + number * size for number, (offset, _) in enumerate(ordered))
    if not 2 <= count <= _LONGEST or not is_complete or (isinstance(stride, int) and stride != count * size):
        return None
    if stride is VARYING and (count == 3 or count * size > _WIDEST):
        return None
    first, last = accesses[0], accesses[-1]
    return RecordAccess(tuple(each for _, each in ordered), first[1], last[1], ordered[0][0] - first[0], stride)


def _accessed_type(access: Instruction) -> IRType:
    return access.type if access.opcode == "load" else access.operands[0].type


def root_of(pointer: IRValue) -> tuple[Root, int]:
    """An address without the constants that are added to it or to its index, and their sum in bytes."""
    total = 0
    while isinstance(pointer, Instruction) and pointer.opcode == "getelementptr":
        steps = element_steps(pointer)
        numbers = [index.integer for index in pointer.operands[1:]]
        if steps is None or "{" in str(pointer.form.element):
            break
        if any(number is None for number in numbers):
            if len(steps) == 1:
                index, number = _index(pointer.operands[1])
                return (pointer.operands[0], index, steps[0]), total + number * steps[0]
            break
        total += sum(number * step for number, step in zip(numbers, steps, strict=True) if number is not None)
        pointer = pointer.operands[0]
    return (pointer, None, 0), total


def _index(index: IRValue) -> tuple[IRValue, int]:
    """An index of 64 bits without the constant that is added to it, and that."""
    if isinstance(index, Instruction) and index.type is I64 and (number := index.operands[-1].integer) is not None:
        if index.opcode == "add" or (index.opcode == "or" and "disjoint" in index.flags):
            return index.operands[0], number
    return index, 0
