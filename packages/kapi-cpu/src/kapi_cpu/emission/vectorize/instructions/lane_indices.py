"""Addresses by an index of each lane, as code computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.indexed_addresses import IndexedAddress
from kapi_lowering.emission.llvm_ir import I1, I64, Instruction, IntType, IRValue

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["LaneIndices"]


class LaneIndices:
    """Writes the addresses of lanes by their indices.

    Some processors guess which store a load waits for by the registers that addresses are in. For updates of a few
    elements they guess wrong if each address has a register of its own, so that one is a base and an index. Others let
    loads of indices wait for the updates before them.

    - `lane`: whose block and values they are for.
    - `address`: all parts of which stand for something in the block.
    """

    def __init__(self, lane: LaneEmitter, address: IndexedAddress, *, through_memory: bool = False) -> None:
        self.lane, self.address = lane, address
        self._through_memory = through_memory and lane.processor.guesses_by_registers

    def base(self) -> IRValue:
        """The address that all lanes share."""
        made = self.lane.fetch(self.address.base)
        for each in reversed(self.address.moves):
            indices = [self.lane.fetch(index) for index in each.operands[1:]]
            text = "".join(f", {index.type} ?" for index in indices)
            made = self.lane.builder.emit(f"getelementptr {each.form.element}, ptr ?{text}", made, *indices)
        return made

    def addresses(self, dummy: Callable[[], IRValue]) -> Iterable[IRValue] | None:
        """The address of each lane, of lanes that are off that of a dummy; None if more than one index varies."""
        if len(self.address.terms) > 1:
            return None
        base, step, builder = self.base(), self.address.terms[0][1], self.lane.builder
        if self.lane.mask is None:
            text = f"getelementptr [{step} x i8], ptr ?, i64 ?"
            return (builder.emit(text, base, each) for each in self._extended())
        start = builder.emit("ptrtoint ptr ? to i64", base)
        distance = builder.emit("sub i64 ?, ?", builder.emit("ptrtoint ptr ? to i64", dummy()), start)
        index, mask = self._wide(self.address.terms[0][0]), self.lane.mask
        offsets = builder.emit(f"mul {index.type} ?, splat (i64 {step})", index)
        text = f"select {mask.type} ?, {index.type} ?, {index.type} ?"
        offsets = builder.emit(text, mask, offsets, self.lane.splat(distance))
        return (
            builder.emit("inttoptr i64 ? to ptr", builder.emit("add i64 ?, ?", start, each))
            for each in self._in_registers(offsets)
        )

    def _extended(self) -> Iterator[IRValue]:
        """The index of each lane, with 64 bits."""
        index, builder = self.address.terms[0][0], self.lane.builder
        source: IRValue = index
        opcode = "sext"
        while isinstance(source, Instruction) and source.opcode in ("sext", "zext"):
            narrow = source.operands[0]
            is_there = not isinstance(narrow, Instruction) or narrow in self.lane.values
            if not is_there or (opcode == "zext" and source.opcode == "sext"):
                break
            opcode, source = source.opcode, narrow
        return (
            each if each.type is I64 else builder.emit(f"{opcode} {each.type} ? to i64", each)
            for each in self._in_registers(self.lane.vector(source))
        )

    def _in_registers(self, vector: IRValue) -> Iterator[IRValue]:
        """The lanes of a vector, each as a number, which is read where it is asked for.

        The vector is stored here and now: a number may first be asked for where a lane's own control-flow path begins.
        """
        builder, type_, slot = self.lane.builder, vector.type.scalar, None
        if self._through_memory and type_ is not I1:  # bits of a vector have no addresses
            slot = self.lane.alloca(vector.type, "indices")
            builder.emit(f"store volatile {vector.type} ?, ptr ?", vector, slot)

        def read(lane: int) -> IRValue:
            if slot is None:
                return self._lane_of(vector, lane)
            at = builder.emit(f"getelementptr {type_}, ptr ?, i64 {lane}", slot)
            return builder.emit(f"load volatile {type_}, ptr ?", at)

        return map(read, range(self.lane.lanes))

    def _lane_of(self, vector: IRValue, lane: int) -> IRValue:
        """A lane of a vector, as a part of a word: moves from vectors take longer than shifts."""
        builder, type_ = self.lane.builder, vector.type.scalar
        bits = type_.bits if isinstance(type_, IntType) else 64
        words, rest = divmod(self.lane.lanes * bits, 64)
        if bits in (8, 16, 32) and words and not rest:
            wide = builder.emit(f"bitcast {vector.type} ? to <{words} x i64>", vector)
            word, shift = divmod(lane * bits, 64)
            found = builder.emit(f"extractelement {wide.type} ?, i64 {word}", wide)
            if shift:
                found = builder.emit(f"lshr i64 ?, {shift}", found)
            return builder.emit(f"trunc i64 ? to {type_}", found)
        return builder.emit(f"extractelement {vector.type} ?, i64 {lane}", vector)

    def _wide(self, index: IRValue) -> IRValue:
        """An index of all lanes, with 64 bits."""
        vector = self.lane.vector(index)
        if vector.type.scalar is I64:
            return vector
        return self.lane.builder.emit(f"sext {vector.type} ? to {self.lane.vector_type(I64)}", vector)

    def first(self, size: int) -> IRValue:
        """The address of the first lane, where lanes that are on have neighbouring elements."""
        _, first, unit = self.lane.consecutive[self.address.terms, size]
        return self.lane.builder.emit(f"getelementptr [{unit} x i8], ptr ?, i64 ?", self.base(), first)

    def is_consecutive(self, size: int) -> IRValue | None:
        """Whether lanes that are on have neighbouring elements; None if that is not to be expected."""
        lane, terms = self.lane, self.address.terms
        if not self.address.may_be_consecutive(size, lane.shapes):
            return None
        if (terms, size) not in lane.consecutive:
            lane.consecutive[terms, size] = self._compared(size)
        return lane.consecutive[terms, size][0]

    def _compared(self, size: int) -> tuple[IRValue, IRValue, int]:
        """Whether lanes are a size apart, the first lane's distance from the base, and the unit of that in bytes."""
        lane, builder = self.lane, self.lane.builder
        unit = gcd(size, *(step for _, step in self.address.terms))
        total: IRValue | None = None
        for index, step in self.address.terms:
            part = self._wide(index)
            if step != unit:
                part = builder.emit(f"mul {part.type} ?, splat (i64 {step // unit})", part)
            total = part if total is None else builder.emit(f"add {part.type} ?, ?", total, part)
        assert total is not None
        if lane.mask is not None:  # in a lane that is off, arithmetic may have overflowed
            total = builder.emit(f"freeze {total.type} ?", total)
        first = builder.emit(f"extractelement {total.type} ?, i64 0", total)
        wanted = builder.emit(f"add {total.type} ?, ?", lane.splat(first), lane.steps(I64, size // unit))
        same = builder.emit(f"icmp eq {total.type} ?, ?", total, wanted)
        if lane.mask is not None:
            same = builder.emit(f"or {same.type} ?, ?", same, lane.negated(lane.mask))
        bits = builder.emit(f"bitcast {same.type} ? to i{lane.lanes}", same)
        return builder.emit(f"icmp eq i{lane.lanes} ?, -1", bits), first, unit
