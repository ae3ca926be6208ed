"""Accesses of memory by several lanes: as one vector, as a part of several, or as one access for each lane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kapi_cpu.emission.vectorize.divergence import VARYING, Stride
from kapi_cpu.emission.vectorize.indexed_addresses import indexed_address
from kapi_cpu.emission.vectorize.instructions.lane_indices import LaneIndices
from kapi_cpu.emission.vectorize.instructions.lane_loops import NotVectorizableError, lane_loop
from kapi_cpu.emission.vectorize.private_arrays import allocation_of
from kapi_cpu.emission.vectorize.type_sizes import private_step, size_of
from kapi_lowering.emission.llvm_ir import I1, Instruction, IRType, IRValue, StructType, constant, declare

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["Accesses"]

_MAX_DISTANCE = 4
"""Elements from one lane's to the next one's, of which all are loaded and most thrown away."""

_REGISTER_BYTES = 64
_GATHERED_BYTES = (4, 8)
"""Bytes of the elements that processors gather."""


class Accesses:
    """Writes loads and stores of a lane for all.

    - `lane`: whose block, mask and values they are for.
    """

    def __init__(self, lane: LaneEmitter) -> None:
        self.lane = lane
        self._dummies: dict[IRType, IRValue] = {}

    def alloca(self, each: Instruction) -> IRValue:
        """Memory of one lane after the other, or of the elements of all lanes."""
        step, alignment = private_step(each), each.form.alignment
        if step is None:
            raise NotVectorizableError("private memory whose size is not known")
        if self.lane.lanes > 1 and self.lane.shapes[each] is VARYING:
            raise NotVectorizableError("private memory that varies")
        is_interleaved = self.lane.lanes > 1 and self.lane.shapes[each] != step
        size = step if is_interleaved else step * self.lane.lanes
        aligned = max(alignment, 64 if self.lane.lanes > 1 else 8)
        made = self.lane.allocas.emit(f"alloca [{size} x i8], align {aligned}")
        self.lane.private.add(made)
        return made

    def _align(self, each: Instruction, type_: IRType) -> int:
        return each.form.alignment or size_of(type_)

    def load(self, each: Instruction) -> IRValue | None:
        """Read what all lanes read, as one or each of its own."""
        pointer, type_ = each.operands[0], each.type
        shape, align = self.lane.shapes[pointer], self._align(each, each.type)
        if shape == 0:
            address = self.lane.scalar(pointer)
            if not self.lane.is_nonempty and each not in self.lane.invariant:
                address = self._address_or_dummy(self.lane.any(self.lane.mask_value()), address, type_)
            return self.lane.builder.emit(f"load {type_}, ptr ?, align {align}", address)
        vector = self.lane.vector_type(type_)
        if isinstance(type_, StructType):
            return lane_loop(self.lane, each)
        if type_ is I1:
            raise NotVectorizableError("a load of a bit")
        step = size_of(type_)
        if shape == step:
            if self._is_private(pointer):
                return self.lane.builder.emit(f"load {vector}, ptr ?, align {align}", self.lane.scalar(pointer))
            if each in self.lane.far_loads:
                self.lane.far_loads[each].prefetch(self.lane, self.lane.scalar(pointer), step * self.lane.lanes)
            return self._contiguous_load(vector, self.lane.scalar(pointer), align)
        if shape == -step:
            return self._reversed(self._contiguous_load(vector, self._last(pointer), align, is_reversed=True))
        factor, rest = divmod(shape, step) if isinstance(shape, int) else (0, 0)
        if (
            not rest
            and 2 <= factor <= _MAX_DISTANCE
            and self.lane.mask is None
            and step * self.lane.lanes <= _REGISTER_BYTES
        ):
            return self._interleaved_load(vector, self.lane.scalar(pointer), factor, align)
        if self.lane.mask is None and isinstance(shape, Stride):
            return self.load_stepped(type_, self.lane.scalar(pointer), shape, align)
        indexed = self.indexed(pointer)
        consecutive = None if indexed is None else indexed.is_consecutive(step)
        if indexed is None or consecutive is None:
            return self.load_each(type_, pointer, align)
        (made,) = self.lane.either(
            consecutive,
            lambda: [self._contiguous_load(vector, indexed.first(step), align)],
            lambda: [self.load_each(type_, pointer, align)],
        )
        return made

    def indexed(self, pointer: IRValue, *, through_memory: bool = False) -> LaneIndices | None:
        """A varying address by an index of each lane, if what it is computed from is at hand."""
        found = indexed_address(pointer, self.lane.shapes) if self.lane.shapes[pointer] is VARYING else None
        if found is None or any(isinstance(each, Instruction) and each not in self.lane.values for each in found.parts):
            return None
        return LaneIndices(self.lane, found, through_memory=through_memory)

    def load_each(self, type_: IRType, pointer: IRValue, align: int) -> IRValue:
        """Read elements that are anywhere."""
        if self._is_gathered(type_):
            return self._gather(type_, self.lane.vector(pointer), align)
        return self.loaded(type_, self.addresses(pointer, type_), align)

    def load_stepped(self, type_: IRType, first: IRValue, stride: Stride, align: int) -> IRValue:
        """Read elements whose distance is known at run time, all lanes being on."""
        if self._is_gathered(type_):
            return self._gather(type_, self.lane.strided(first, stride), align)
        return self.loaded(type_, self.stepped(first, stride), align)

    def store_stepped(self, vector: IRValue, first: IRValue, stride: Stride, align: int) -> None:
        """Write elements whose distance is known at run time, all lanes being on."""
        if self._is_scattered(vector.type.scalar):
            self._scatter(vector, self.lane.strided(first, stride), align)
        else:
            self.scatter(vector, self.stepped(first, stride), align)

    def store_each(self, vector: IRValue, pointer: IRValue, align: int) -> None:
        """Scatter elements to addresses of no known distance."""
        type_ = vector.type.scalar
        if self._is_scattered(type_):
            self._scatter(vector, self.lane.vector(pointer), align)
        else:
            self.scatter(vector, self.addresses(pointer, type_), align)

    def _is_gathered(self, type_: IRType) -> bool:
        return self.lane.processor.has_fast_gathers and size_of(type_) in _GATHERED_BYTES

    def _is_scattered(self, type_: IRType) -> bool:
        return self.lane.processor.has_fast_scatters and size_of(type_) in _GATHERED_BYTES

    def _last(self, pointer: IRValue) -> IRValue:
        """The address of the last lane."""
        stride = self.lane.shapes[pointer]
        assert isinstance(stride, int)
        offset = stride * (self.lane.lanes - 1)
        return self.lane.builder.emit(f"getelementptr i8, ptr ?, i64 {offset}", self.lane.scalar(pointer))

    def _reversed(self, vector: IRValue) -> IRValue:
        """The lanes of a vector in the other order."""
        return self._shuffled(vector, vector, range(self.lane.lanes - 1, -1, -1))

    def _shuffled(self, left: IRValue, right: IRValue, numbers: Iterable[int]) -> IRValue:
        picked = ", ".join(f"i32 {number}" for number in numbers)
        text = f"shufflevector {left.type} ?, {left.type} ?, <{self.lane.lanes} x i32> <{picked}>"
        return self.lane.builder.emit(text, left, right)

    def _interleaved_load(self, vector: IRType, address: IRValue, factor: int, align: int) -> IRValue:
        """Load all from the first element to the last one, and pick every second, third or fourth."""
        lanes = self.lane.lanes
        starts = [*range(0, (factor - 1) * lanes, lanes), factor * (lanes - 1) + 1 - lanes]
        made: IRValue | None = None
        for number, start in enumerate(starts):
            at = self.lane.builder.emit(f"getelementptr {vector.scalar}, ptr ?, i64 {start}", address)
            chunk = self.lane.builder.emit(f"load {vector}, ptr ?, align {align}", at)
            is_own = [min(factor * lane // lanes, factor - 1) == number for lane in range(lanes)]
            own = [factor * lane - start for lane in range(lanes)]
            if made is None:
                made = self._shuffled(chunk, chunk, (own[lane] if is_own[lane] else 0 for lane in range(lanes)))
            else:
                picked = (lanes + own[lane] if is_own[lane] else lane for lane in range(lanes))
                made = self._shuffled(made, chunk, picked)
        assert made is not None
        return made

    def _contiguous_load(self, vector: IRType, address: IRValue, align: int, *, is_reversed: bool = False) -> IRValue:
        if self.lane.mask is None:
            return self.lane.builder.emit(f"load {vector}, ptr ?, align {align}", address)
        name = f"llvm.masked.load.{self._suffix(vector)}.p0"
        declare(self.lane.function, f"{vector} @{name}(ptr, {self.lane.mask.type}, {vector})")
        text = f"call {vector} @{name}(ptr align {align} ?, {self.lane.mask.type} ?, {vector} zeroinitializer)"
        return self.lane.builder.emit(text, address, self._reversed(self.lane.mask) if is_reversed else self.lane.mask)

    def _gather(self, type_: IRType, addresses: IRValue, align: int) -> IRValue:
        """One instruction that loads what the lanes that are on read."""
        vector, mask = self.lane.vector_type(type_), self.lane.mask_value()
        name = f"llvm.masked.gather.{self._suffix(vector)}.v{self.lane.lanes}p0"
        declare(self.lane.function, f"{vector} @{name}({addresses.type}, {mask.type}, {vector})")
        text = f"call {vector} @{name}({addresses.type} align {align} ?, {mask.type} ?, {vector} zeroinitializer)"
        return self.lane.builder.emit(text, addresses, mask)

    def _scatter(self, vector: IRValue, addresses: IRValue, align: int) -> None:
        """One scatter instruction, for the lanes that are on, in their order."""
        mask, kind = self.lane.mask_value(), vector.type
        name = f"llvm.masked.scatter.{self._suffix(kind)}.v{self.lane.lanes}p0"
        declare(self.lane.function, f"void @{name}({kind}, {addresses.type}, {mask.type})")
        text = f"call void @{name}({kind} ?, {addresses.type} align {align} ?, {mask.type} ?)"
        self.lane.builder.emit(text, vector, addresses, mask)

    def addresses(self, pointer: IRValue, type_: IRType, *, are_written: bool = False) -> Iterable[IRValue]:
        """The address of each lane; of those that are off, memory that is of no other use."""
        stride = self.lane.shapes[pointer]
        if self.lane.mask is None and isinstance(stride, int):
            first, text = self.lane.scalar(pointer), "getelementptr i8, ptr ?, i64 {}"
            return [self.lane.builder.emit(text.format(lane * stride), first) for lane in range(self.lane.lanes)]
        indexed = self.indexed(pointer, through_memory=are_written)
        addresses = None if indexed is None else indexed.addresses(lambda: self._dummy(type_))
        if addresses is not None:
            return addresses
        vector = self._addresses_or_dummy(self.lane.vector(pointer), type_)
        lanes = range(self.lane.lanes)
        return [self.lane.builder.emit(f"extractelement {vector.type} ?, i64 {lane}", vector) for lane in lanes]

    def stepped(self, first: IRValue, stride: Stride) -> list[IRValue]:
        """The address of each lane, one after the other."""
        step, found = self.lane.stride(stride), [first]
        for _ in range(1, self.lane.lanes):
            found.append(self.lane.builder.emit("getelementptr i8, ptr ?, i64 ?", found[-1], step))
        return found

    def loaded(self, type_: IRType, addresses: Iterable[IRValue], align: int) -> IRValue:
        """One scalar load for each lane."""
        made: IRValue = constant(self.lane.vector_type(type_), "poison")
        for lane, address in enumerate(addresses):
            one = self.lane.builder.emit(f"load {type_}, ptr ?, align {align}", address)
            made = self.lane.builder.emit(f"insertelement {made.type} ?, {type_} ?, i64 {lane}", made, one)
        return made

    def _addresses_or_dummy(self, addresses: IRValue, type_: IRType) -> IRValue:
        """The addresses of lanes that are on, and memory that is of no other use for those that are off."""
        if self.lane.mask is None:
            return addresses
        dummy = self.lane.splat(self._dummy(type_))
        kind = addresses.type
        return self.lane.builder.emit(
            f"select {self.lane.mask.type} ?, {kind} ?, {kind} ?", self.lane.mask, addresses, dummy
        )

    def _address_or_dummy(self, is_on: IRValue, address: IRValue, type_: IRType) -> IRValue:
        return self.lane.builder.emit("select i1 ?, ptr ?, ptr ?", is_on, address, self._dummy(type_))

    def _dummy(self, type_: IRType) -> IRValue:
        if type_ not in self._dummies:
            dummy = self._dummies[type_] = self.lane.allocas.emit(f"alloca {type_}, align 16", name="off")
            self.lane.allocas.emit(f"store {type_} zeroinitializer, ptr ?", dummy)
        return self._dummies[type_]

    def store(self, each: Instruction) -> None:
        """Write what the lanes that are on write."""
        value, pointer = each.operands
        shape, type_ = self.lane.shapes[pointer], value.type
        align = self._align(each, type_)
        if isinstance(type_, StructType):
            lane_loop(self.lane, each)
            return
        if type_ is I1:
            raise NotVectorizableError("a store of a bit")
        if shape == 0:
            self._store_of_last(value, self.lane.scalar(pointer), align)
        elif shape == size_of(type_):
            write = self._blended_store if self._is_private(pointer) else self._contiguous_store
            write(self.lane.vector(value), self.lane.scalar(pointer), align)
        elif shape == -size_of(type_):
            last = self._last(pointer)
            self._contiguous_store(self._reversed(self.lane.vector(value)), last, align, is_reversed=True)
        elif self.lane.mask is None and isinstance(shape, Stride):
            self.store_stepped(self.lane.vector(value), self.lane.scalar(pointer), shape, align)
        else:
            vector, indexed = self.lane.vector(value), self.indexed(pointer)
            consecutive = None if indexed is None else indexed.is_consecutive(size_of(type_))
            if indexed is None or consecutive is None:
                self.store_each(vector, pointer, align)
            else:
                self.lane.either(
                    consecutive,
                    lambda: self._contiguous_store(vector, indexed.first(size_of(type_)), align),
                    lambda: self.store_each(vector, pointer, align),
                )

    def _store_of_last(self, value: IRValue, address: IRValue, align: int) -> None:
        """All lanes store to one address: what the last one that is on stores remains."""
        type_ = value.type
        if not self.lane.is_nonempty:
            address = self._address_or_dummy(self.lane.any(self.lane.mask_value()), address, type_)
        if self.lane.shapes[value] == 0:
            held = self.lane.fetch(value)
        else:
            vector = self.lane.vector(value)
            if self.lane.mask is None:
                held = self.lane.builder.emit(f"extractelement {vector.type} ?, i64 {self.lane.lanes - 1}", vector)
            else:
                name = f"llvm.ctlz.i{self.lane.lanes}"
                declare(self.lane.function, f"i{self.lane.lanes} @{name}(i{self.lane.lanes}, i1)")
                bits = self.lane.builder.emit(f"bitcast {self.lane.mask.type} ? to i{self.lane.lanes}", self.lane.mask)
                above = self.lane.builder.emit(f"call i{self.lane.lanes} @{name}(i{self.lane.lanes} ?, i1 false)", bits)
                last = self.lane.builder.emit(f"sub i{self.lane.lanes} {self.lane.lanes - 1}, ?", above)
                # With no lane on, this index is none; what is stored goes nowhere then.
                last = self.lane.builder.emit(f"and i{self.lane.lanes} ?, {self.lane.lanes - 1}", last)
                held = self.lane.builder.emit(f"extractelement {vector.type} ?, i{self.lane.lanes} ?", vector, last)
        self.lane.builder.emit(f"store {type_} ?, ptr ?, align {align}", held, address)

    def _contiguous_store(self, vector: IRValue, address: IRValue, align: int, *, is_reversed: bool = False) -> None:
        if self.lane.mask is None:
            self.lane.builder.emit(f"store {vector.type} ?, ptr ?, align {align}", vector, address)
            return
        after = None
        if self.lane.is_full is not None:
            # A load of the next part of a kernel waits for a store under a mask, but not for a plain one.
            plain, masked, after = (self.lane.block(f"store.{name}") for name in ("all", "some", "end"))
            self.lane.branch(self.lane.is_full, plain, masked)
            self.lane.move(plain)
            self.lane.builder.emit(f"store {vector.type} ?, ptr ?, align {align}", vector, address)
            self.lane.jump(after)
            self.lane.move(masked)
        name = f"llvm.masked.store.{self._suffix(vector.type)}.p0"
        declare(self.lane.function, f"void @{name}({vector.type}, ptr, {self.lane.mask.type})")
        text = f"call void @{name}({vector.type} ?, ptr align {align} ?, {self.lane.mask.type} ?)"
        self.lane.builder.emit(text, vector, address, self._reversed(self.lane.mask) if is_reversed else self.lane.mask)
        if after is not None:
            self.lane.jump(after)
            self.lane.move(after)

    def _is_private(self, pointer: IRValue) -> bool:
        """Whether memory is there for all lanes, whichever are on, and no other vector has a part of it."""
        return self.lane.is_nonempty and allocation_of(pointer) is not None

    def _blended_store(self, vector: IRValue, address: IRValue, align: int) -> None:
        """Store what is there for lanes that are off: unlike masked stores, LLVM keeps such memory in registers."""
        if self.lane.mask is not None:
            mask, kind = self.lane.mask, vector.type
            old = self.lane.builder.emit(f"load {kind}, ptr ?, align {align}", address)
            vector = self.lane.builder.emit(f"select {mask.type} ?, {kind} ?, {kind} ?", mask, vector, old)
        self.lane.builder.emit(f"store {vector.type} ?, ptr ?, align {align}", vector, address)

    def scatter(self, vector: IRValue, addresses: Iterable[IRValue], align: int) -> None:
        """Write an element of each lane, one after the other."""
        type_ = vector.type.scalar
        for lane, address in enumerate(addresses):
            one = self.lane.builder.emit(f"extractelement {vector.type} ?, i64 {lane}", vector)
            self.lane.builder.emit(f"store {type_} ?, ptr ?, align {align}", one, address)

    def _suffix(self, vector: IRType) -> str:
        names = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
        scalar = str(vector.scalar)
        return f"v{self.lane.lanes}{names.get(scalar, scalar)}"
