"""Instructions for several lanes: vector instructions, accesses of memory under a mask, and loops over lanes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.shapes import VARYING, Shapes
from kapi_cpu.emission.vectorize.sizes import private_step, size_of
from kapi_cpu.emission.vectorize.sub_groups import sub_group_operation
from kapi_lowering.emission.llvm_ir import (
    BINARY,
    CASTS,
    I1,
    I64,
    VOID,
    Block,
    Builder,
    ConstantValue,
    FloatType,
    Function,
    Instruction,
    IntType,
    IRType,
    IRValue,
    Module,
    PointerType,
    StructType,
    constant,
    declare,
    parse_type,
)

__all__ = ["LaneEmitter", "NotVectorizableError", "rolled_loop"]

_DROPPED = ("llvm.assume", "llvm.lifetime", "llvm.dbg", "llvm.experimental.noalias", "llvm.invariant")
_SCALAR_SECOND = ("llvm.ctlz", "llvm.cttz", "llvm.abs", "llvm.is.fpclass", "llvm.powi")
"""Intrinsics whose second argument stays one number."""

_ELEMENTWISE = re.compile(
    r"llvm\.(fabs|sqrt|floor|ceil|trunc|rint|nearbyint|roundeven|round|fma|fmuladd|minnum|maxnum|minimum|maximum"
    r"|copysign|smax|smin|umax|umin|abs|ctpop|ctlz|cttz|bswap|bitreverse|fshl|fshr|canonicalize|is\.fpclass"
    r"|(?:s|u)(?:add|sub)\.sat|(?:s|u)(?:add|sub|mul)\.with\.overflow|fpto[su]i\.sat|ldexp|powi|exp|exp2|exp10|log"
    r"|log2|log10|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|lrint|llrint|lround|llround)((?:\.[if]\d+)+)"
)
_FAST = ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")
_MOST_APART = 4
"""Elements from one lane's to the next one's, of which all are loaded and most thrown away."""

_REGISTER_BYTES = 64
_DIVISIONS = ("sdiv", "udiv", "srem", "urem")


def rolled_loop(module: Module) -> str:
    """The metadata of a loop that is not unrolled."""
    option = module.add_metadata('!{!"llvm.loop.unroll.disable"}')
    return module.add_metadata(f"distinct !{{{{}}, {option}}}")


class NotVectorizableError(Exception):
    """An instruction has no form for several lanes."""


class LaneEmitter:
    """Writes instructions of one lane for several, into the block that `builder` is at.

    Attributes
    ----------
    lanes : int
        How many; 1 for scalar code.
    builder : Builder
        At the end of the block that is written.
    values : dict of IRValue to IRValue
        What stands for each value in this block: a scalar for a uniform one, the first lane's of a strided one, and a
        vector for a varying one.
    mask : IRValue or None
        The lanes that are on, None for all.
    is_nonempty : bool
        Whether a lane is on whenever the block is executed.
    is_full : IRValue or None
        Whether all lanes are on, if that is known without a look at the mask.
    invariant : set of IRValue
        Loads of what no kernel writes, which may be executed at any time.
    private : set of IRValue
        The memory that stands for private arrays.
    """

    def __init__(self, function: Function, lanes: int, shapes: Shapes) -> None:
        self.function, self.lanes, self.shapes = function, lanes, shapes
        self.builder = Builder(function.blocks[1])
        self.values: dict[IRValue, IRValue] = {}
        self.mask: IRValue | None = None
        self.is_nonempty = True
        self.is_full: IRValue | None = None
        self.invariant: set[IRValue] = set()
        self._any: dict[IRValue, IRValue] = {}
        self._dummies: dict[IRType, IRValue] = {}
        self.allocas = Builder(function.entry)
        self.private: set[IRValue] = set()

    # -- blocks

    def begin(self, block: Block, mask: IRValue | None, is_nonempty: bool) -> None:
        """Go on at the end of a block, under a mask."""
        self.builder = Builder(block)
        self.mask, self.is_nonempty, self.is_full = mask, is_nonempty, None
        self._any = {}

    def block(self, name: str) -> Block:
        """Add a block."""
        return self.function.add_block(name)

    def jump(self, target: Block) -> None:
        """End the block."""
        self.builder.emit("br label ?", target)

    def branch(self, condition: IRValue, target: Block, other: Block) -> None:
        """End the block."""
        self.builder.emit("br i1 ?, label ?, label ?", condition, target, other)

    # -- types and values

    def vector_type(self, type_: IRType) -> IRType:
        """The type of a varying value."""
        if self.lanes == 1:
            return type_
        if isinstance(type_, StructType):
            return parse_type("{ " + ", ".join(str(self.vector_type(each)) for each in type_.elements) + " }")
        if not isinstance(type_, (IntType, FloatType, PointerType)):
            raise NotVectorizableError(f"a value of type {type_}")
        return parse_type(f"<{self.lanes} x {type_}>")

    def stored_type(self, value: IRValue) -> IRType:
        """The type of what stands for a value."""
        return self.vector_type(value.type) if self.shapes[value] is VARYING else value.type

    def fetch(self, value: IRValue) -> IRValue:
        """Return what stands for a value in this block."""
        return self.values.get(value, value)

    def scalar(self, value: IRValue) -> IRValue:
        """The value of the first lane, of one that does not vary."""
        assert self.shapes[value] is not VARYING, value
        return self.fetch(value)

    def vector(self, value: IRValue) -> IRValue:
        """The value of all lanes."""
        shape = self.shapes[value]
        held = self.fetch(value)
        if self.lanes == 1 or shape is None:  # varying
            return held
        splat = self.splat(held)
        return splat if shape == 0 else self._strided(held, splat, shape)

    def _strided(self, base: IRValue, splat: IRValue, stride: int) -> IRValue:
        type_ = base.type
        if isinstance(type_, PointerType):
            steps = self.steps(I64, stride)
            return self.builder.emit(f"getelementptr i8, ptr ?, <{self.lanes} x i64> ?", base, steps)
        vector = self.vector_type(type_)
        return self.builder.emit(f"add {vector} ?, ?", splat, self.steps(type_, stride))

    def steps(self, type_: IRType, stride: int = 1) -> IRValue:
        """The number of each lane, times a stride."""
        numbers = ", ".join(f"{type_} {lane * stride}" for lane in range(self.lanes))
        return constant(self.vector_type(type_), f"<{numbers}>")

    def splat(self, value: IRValue) -> IRValue:
        """A vector of one value."""
        if self.lanes == 1:
            return value
        if isinstance(value.type, StructType):
            made: IRValue = constant(self.vector_type(value.type), "poison")
            for number in range(len(value.type.elements)):
                part = self.splat(self.builder.emit(f"extractvalue {value.type} ?, {number}", value))
                made = self.builder.emit(f"insertvalue {made.type} ?, {part.type} ?, {number}", made, part)
            return made
        vector = self.vector_type(value.type)
        if isinstance(value, ConstantValue):
            if value.ref in ("poison", "undef", "zeroinitializer", "null"):
                return constant(vector, "zeroinitializer" if value.ref == "null" else value.ref)
            return constant(vector, f"splat ({value.type} {value.ref})")
        one = self.builder.emit(f"insertelement {vector} poison, {value.type} ?, i64 0", value)
        zero = f"<{self.lanes} x i32> zeroinitializer"
        return self.builder.emit(f"shufflevector {vector} ?, {vector} poison, {zero}", one)

    def zero(self, type_: IRType) -> IRValue:
        """Zero of a type."""
        return constant(type_, "zeroinitializer")

    def alloca(self, type_: IRType, name: str) -> IRValue:
        """Memory of the function's own, for one value."""
        return self.allocas.emit(f"alloca {type_}", name=name)

    # -- masks

    def mask_type(self) -> IRType:
        """The type of masks."""
        return self.vector_type(I1)

    def all_on(self) -> IRValue:
        """A mask with all lanes on."""
        return constant(self.mask_type(), "true" if self.lanes == 1 else "splat (i1 true)")

    def mask_value(self) -> IRValue:
        """The mask as a value."""
        return self.all_on() if self.mask is None else self.mask

    def any(self, mask: IRValue) -> IRValue:
        """Whether a lane is on."""
        if self.lanes == 1:
            return mask
        if mask not in self._any:
            bits = self.builder.emit(f"bitcast {mask.type} ? to i{self.lanes}", mask)
            self._any[mask] = self.builder.emit(f"icmp ne i{self.lanes} ?, 0", bits)
        return self._any[mask]

    def know_any(self, mask: IRValue, is_any: IRValue) -> None:
        """Note in this block whether a lane of a mask is on."""
        self._any[mask] = is_any

    def both(self, mask: IRValue | None, condition: IRValue) -> IRValue:
        """The lanes of a mask for which a condition holds."""
        return condition if mask is None else self.builder.emit(f"and {condition.type} ?, ?", mask, condition)

    def negated(self, condition: IRValue) -> IRValue:
        """The lanes for which a condition does not hold."""
        true = "true" if self.lanes == 1 else "splat (i1 true)"
        return self.builder.emit(f"xor {condition.type} ?, {true}", condition)

    # -- instructions

    def emit(self, each: Instruction) -> None:
        """Write an instruction, and note what stands for its result."""
        result = self._emitted(each)
        if result is not None:
            self.values[each] = result

    def _emitted(self, each: Instruction) -> IRValue | None:
        opcode = each.opcode
        if opcode == "call" and each.callee.startswith(_DROPPED):
            return None
        if opcode == "alloca":
            return self._alloca(each)
        if opcode == "call" and each.callee.startswith("kapi."):
            if each.callee.startswith(BARRIER):
                return self._copied(each, [self.fetch(operand) for operand in each.operands])
            return sub_group_operation(self, each)
        if self.lanes == 1:
            return self._copied(each, [self.fetch(operand) for operand in each.operands])
        if opcode == "load" and each.form.is_plain:
            return self._load(each)
        if opcode == "store" and each.form.is_plain:
            self._store(each)
            return None
        if opcode == "fence":
            return self._copied(each, [])
        if not each.form.is_void and self.shapes[each] is not VARYING:
            return self._first_lane(each)
        if opcode == "call":
            return self._call(each)
        if opcode in ("atomicrmw", "cmpxchg", "load", "store"):
            return self._lane_loop(each)
        return self._widened(each)

    def _copied(self, each: Instruction, operands: Sequence[IRValue]) -> Instruction:
        copy = Instruction(None)
        copy.become(each.form, operands)
        self.builder.insert(copy)
        return copy

    def _first_lane(self, each: Instruction) -> IRValue:
        """Compute a uniform or strided value for the first lane, which may be off: no flag holds of a strided one."""
        operands = [self.scalar(operand) for operand in each.operands]
        if each.opcode == "call" and not self.is_nonempty and not each.callee.startswith("llvm."):
            return self._guarded(each, operands)
        if self.shapes[each] == 0:
            copy = self._copied(each, operands)
        elif each.opcode == "or":
            copy = self.builder.emit(f"add {each.type} ?, ?", *operands)
        elif each.opcode == "getelementptr":
            indices = "".join(f", {index.type} ?" for index in operands[1:])
            copy = self.builder.emit(f"getelementptr {each.form.element}, ptr ?{indices}", *operands)
        else:
            copy = self._copied(each, operands)
            if copy.flags:
                copy.drop_flags()
        return copy

    def _guarded(self, each: Instruction, operands: Sequence[IRValue]) -> IRValue:
        """A call that is only made where a lane is on."""
        made, after = self.block("guarded"), self.block("guard.end")
        before = self.builder.block
        self.branch(self.any(self.mask_value()), made, after)
        self._move(made)
        copy = self._copied(each, operands)
        self.jump(after)
        self._move(after)
        if each.form.is_void:
            return copy
        return self.builder.phi(each.type, [(copy, made), (self.zero(each.type), before)])

    def _move(self, block: Block) -> None:
        """Go on in a block that the present one dominates."""
        self.builder = Builder(block)
        self._any = {}

    def _flags(self, each: Instruction) -> str:
        return "".join(f"{flag} " for flag in each.flags)

    def _widened(self, each: Instruction) -> IRValue:
        opcode, type_ = each.opcode, self.vector_type(each.type)
        if opcode in BINARY:
            left, right = map(self.vector, each.operands)
            if opcode in _DIVISIONS and self.mask is not None:
                one = constant(type_, f"splat ({each.type} 1)")
                right = self.builder.emit(f"select {self.mask.type} ?, {type_} ?, {type_} ?", self.mask, right, one)
            return self.builder.emit(f"{opcode} {self._flags(each)}{type_} ?, ?", left, right)
        if opcode in ("icmp", "fcmp"):
            operands = [self.vector(operand) for operand in each.operands]
            text = f"{opcode} {self._flags(each)}{each.predicate} {operands[0].type} ?, ?"
            return self.builder.emit(text, *operands)
        if opcode in ("fneg", "freeze"):
            return self.builder.emit(f"{opcode} {self._flags(each)}{type_} ?", self.vector(each.operands[0]))
        if opcode in CASTS:
            operand = self.vector(each.operands[0])
            return self.builder.emit(f"{opcode} {self._flags(each)}{operand.type} ? to {type_}", operand)
        if opcode == "select":
            condition = each.operands[0]
            chosen = self.fetch(condition) if self.shapes[condition] == 0 else self.vector(condition)
            left, right = map(self.vector, each.operands[1:])
            if isinstance(each.type, StructType):
                raise NotVectorizableError("a choice of structures")
            text = f"select {self._flags(each)}{chosen.type} ?, {type_} ?, {type_} ?"
            return self.builder.emit(text, chosen, left, right)
        if opcode == "getelementptr":
            return self._address(each)
        if opcode == "extractvalue":
            operand = self.vector(each.operands[0])
            indices = ", ".join(map(str, each.form.indices))
            return self.builder.emit(f"extractvalue {operand.type} ?, {indices}", operand)
        if opcode == "insertvalue":
            outer, part = map(self.vector, each.operands)
            indices = ", ".join(map(str, each.form.indices))
            return self.builder.emit(f"insertvalue {outer.type} ?, {part.type} ?, {indices}", outer, part)
        raise NotVectorizableError(f"the instruction {opcode}")

    def _address(self, each: Instruction) -> IRValue:
        operands = [
            self.fetch(operand) if self.shapes[operand] == 0 else self.vector(operand) for operand in each.operands
        ]
        pointer, *indices = operands
        text = "".join(f", {index.type} ?" for index in indices)
        return self.builder.emit(f"getelementptr {each.form.element}, {pointer.type} ?{text}", pointer, *indices)

    # -- memory

    def _alloca(self, each: Instruction) -> IRValue:
        step, alignment = private_step(each), each.form.alignment
        if step is None:
            raise NotVectorizableError("private memory whose size is not known")
        if self.lanes > 1 and self.shapes[each] is VARYING:
            raise NotVectorizableError("private memory that varies")
        size = step * self.lanes
        aligned = max(alignment, 64 if self.lanes > 1 else 8)
        made = self.allocas.emit(f"alloca [{size} x i8], align {aligned}")
        self.private.add(made)
        return made

    def _align(self, each: Instruction, type_: IRType) -> int:
        return each.form.alignment or size_of(type_)

    def _load(self, each: Instruction) -> IRValue | None:
        pointer, type_ = each.operands[0], each.type
        shape, align = self.shapes[pointer], self._align(each, each.type)
        if shape == 0:
            address = self.scalar(pointer)
            if not self.is_nonempty and each not in self.invariant:
                address = self._address_or_dummy(self.any(self.mask_value()), address, type_)
            return self.builder.emit(f"load {type_}, ptr ?, align {align}", address)
        vector = self.vector_type(type_)
        if isinstance(type_, StructType):
            return self._lane_loop(each)
        if type_ is I1:
            raise NotVectorizableError("a load of a bit")
        step = size_of(type_)
        if shape == step:
            return self._contiguous_load(vector, self.scalar(pointer), align)
        if shape == -step:
            return self._reversed(self._contiguous_load(vector, self._last(pointer), align, is_reversed=True))
        factor, rest = divmod(shape or 0, step)
        if not rest and 2 <= factor <= _MOST_APART and self.mask is None and step * self.lanes <= _REGISTER_BYTES:
            return self._interleaved_load(vector, self.scalar(pointer), factor, align)
        return self._gather(type_, self.vector(pointer), align)

    def _last(self, pointer: IRValue) -> IRValue:
        """The address of the last lane."""
        stride = self.shapes[pointer]
        assert stride is not None
        offset = stride * (self.lanes - 1)
        return self.builder.emit(f"getelementptr i8, ptr ?, i64 {offset}", self.scalar(pointer))

    def _reversed(self, vector: IRValue) -> IRValue:
        """The lanes of a vector in the other order."""
        return self._shuffled(vector, vector, range(self.lanes - 1, -1, -1))

    def _shuffled(self, left: IRValue, right: IRValue, numbers: Iterable[int]) -> IRValue:
        picked = ", ".join(f"i32 {number}" for number in numbers)
        text = f"shufflevector {left.type} ?, {left.type} ?, <{self.lanes} x i32> <{picked}>"
        return self.builder.emit(text, left, right)

    def _interleaved_load(self, vector: IRType, address: IRValue, factor: int, align: int) -> IRValue:
        """Load all from the first element to the last one, and pick every second, third or fourth."""
        lanes = self.lanes
        starts = [*range(0, (factor - 1) * lanes, lanes), factor * (lanes - 1) + 1 - lanes]
        made: IRValue | None = None
        for number, start in enumerate(starts):
            at = self.builder.emit(f"getelementptr {vector.scalar}, ptr ?, i64 {start}", address)
            chunk = self.builder.emit(f"load {vector}, ptr ?, align {align}", at)
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
        if self.mask is None:
            return self.builder.emit(f"load {vector}, ptr ?, align {align}", address)
        name = f"llvm.masked.load.{self._suffix(vector)}.p0"
        declare(self.function, f"{vector} @{name}(ptr, {self.mask.type}, {vector})")
        text = f"call {vector} @{name}(ptr align {align} ?, {self.mask.type} ?, {vector} zeroinitializer)"
        return self.builder.emit(text, address, self._reversed(self.mask) if is_reversed else self.mask)

    def _gather(self, type_: IRType, addresses: IRValue, align: int) -> IRValue:
        """One scalar load for each lane; those that are off read from memory that is of no other use."""
        if self.mask is not None:
            addresses = self._addresses_or_dummy(addresses, type_)
        made: IRValue = constant(self.vector_type(type_), "poison")
        for lane in range(self.lanes):
            address = self.builder.emit(f"extractelement {addresses.type} ?, i64 {lane}", addresses)
            one = self.builder.emit(f"load {type_}, ptr ?, align {align}", address)
            made = self.builder.emit(f"insertelement {made.type} ?, {type_} ?, i64 {lane}", made, one)
        return made

    def _addresses_or_dummy(self, addresses: IRValue, type_: IRType) -> IRValue:
        assert self.mask is not None
        dummy = self.splat(self._dummy(type_))
        kind = addresses.type
        return self.builder.emit(f"select {self.mask.type} ?, {kind} ?, {kind} ?", self.mask, addresses, dummy)

    def _address_or_dummy(self, is_on: IRValue, address: IRValue, type_: IRType) -> IRValue:
        return self.builder.emit("select i1 ?, ptr ?, ptr ?", is_on, address, self._dummy(type_))

    def _dummy(self, type_: IRType) -> IRValue:
        if type_ not in self._dummies:
            dummy = self._dummies[type_] = self.allocas.emit(f"alloca {type_}, align 16", name="off")
            self.allocas.emit(f"store {type_} zeroinitializer, ptr ?", dummy)
        return self._dummies[type_]

    def _store(self, each: Instruction) -> None:
        value, pointer = each.operands
        shape, type_ = self.shapes[pointer], value.type
        align = self._align(each, type_)
        if isinstance(type_, StructType):
            self._lane_loop(each)
            return
        if type_ is I1:
            raise NotVectorizableError("a store of a bit")
        if shape == 0:
            self._store_of_last(value, self.scalar(pointer), align)
        elif shape == size_of(type_):
            self._contiguous_store(self.vector(value), self.scalar(pointer), align)
        elif shape == -size_of(type_):
            last = self._last(pointer)
            self._contiguous_store(self._reversed(self.vector(value)), last, align, is_reversed=True)
        else:
            self._scatter(self.vector(value), self.vector(pointer), align)

    def _store_of_last(self, value: IRValue, address: IRValue, align: int) -> None:
        """All lanes store to one address: what the last one that is on stores remains."""
        type_ = value.type
        if not self.is_nonempty:
            address = self._address_or_dummy(self.any(self.mask_value()), address, type_)
        if self.shapes[value] == 0:
            held = self.fetch(value)
        else:
            vector = self.vector(value)
            if self.mask is None:
                held = self.builder.emit(f"extractelement {vector.type} ?, i64 {self.lanes - 1}", vector)
            else:
                name = f"llvm.ctlz.i{self.lanes}"
                declare(self.function, f"i{self.lanes} @{name}(i{self.lanes}, i1)")
                bits = self.builder.emit(f"bitcast {self.mask.type} ? to i{self.lanes}", self.mask)
                above = self.builder.emit(f"call i{self.lanes} @{name}(i{self.lanes} ?, i1 false)", bits)
                last = self.builder.emit(f"sub i{self.lanes} {self.lanes - 1}, ?", above)
                # With no lane on, this index is none; what is stored goes nowhere then.
                last = self.builder.emit(f"and i{self.lanes} ?, {self.lanes - 1}", last)
                held = self.builder.emit(f"extractelement {vector.type} ?, i{self.lanes} ?", vector, last)
        self.builder.emit(f"store {type_} ?, ptr ?, align {align}", held, address)

    def _contiguous_store(self, vector: IRValue, address: IRValue, align: int, *, is_reversed: bool = False) -> None:
        if self.mask is None:
            self.builder.emit(f"store {vector.type} ?, ptr ?, align {align}", vector, address)
            return
        after = None
        if self.is_full is not None:
            # A load of the next part of a kernel waits for a store under a mask, but not for a plain one.
            plain, masked, after = (self.block(f"store.{name}") for name in ("all", "some", "end"))
            self.branch(self.is_full, plain, masked)
            self._move(plain)
            self.builder.emit(f"store {vector.type} ?, ptr ?, align {align}", vector, address)
            self.jump(after)
            self._move(masked)
        name = f"llvm.masked.store.{self._suffix(vector.type)}.p0"
        declare(self.function, f"void @{name}({vector.type}, ptr, {self.mask.type})")
        text = f"call void @{name}({vector.type} ?, ptr align {align} ?, {self.mask.type} ?)"
        self.builder.emit(text, vector, address, self._reversed(self.mask) if is_reversed else self.mask)
        if after is not None:
            self.jump(after)
            self._move(after)

    def _scatter(self, vector: IRValue, addresses: IRValue, align: int) -> None:
        type_ = vector.type.scalar
        if self.mask is not None:
            addresses = self._addresses_or_dummy(addresses, type_)
        for lane in range(self.lanes):
            address = self.builder.emit(f"extractelement {addresses.type} ?, i64 {lane}", addresses)
            one = self.builder.emit(f"extractelement {vector.type} ?, i64 {lane}", vector)
            self.builder.emit(f"store {type_} ?, ptr ?, align {align}", one, address)

    def _suffix(self, vector: IRType) -> str:
        names = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
        scalar = str(vector.scalar)
        return f"v{self.lanes}{names.get(scalar, scalar)}"

    # -- calls and loops over lanes

    def _call(self, each: Instruction) -> IRValue | None:
        name = each.callee
        found = _ELEMENTWISE.fullmatch(name)
        if found is None:
            return self._lane_loop(each)
        kept = 1 if name.startswith(_SCALAR_SECOND) else 99
        arguments = [
            self.fetch(argument) if number == kept else self.vector(argument)
            for number, argument in enumerate(each.arguments)
        ]
        overloads = found[2][1:].split(".")
        suffixes = [
            part if name.startswith("llvm.powi") and number == 1 else f"v{self.lanes}{part}"
            for number, part in enumerate(overloads)
        ]
        wide = f"llvm.{found[1]}.{'.'.join(suffixes)}"
        type_ = self.vector_type(each.type)
        declare(self.function, f"{type_} @{wide}({', '.join(str(argument.type) for argument in arguments)})")
        flags = "".join(f"{flag} " for flag in each.flags if flag in _FAST)
        given = ", ".join(f"{argument.type} ?" for argument in arguments)
        return self.builder.emit(f"call {flags}{type_} @{wide}({given})", *arguments)

    def _lane_loop(self, each: Instruction) -> IRValue | None:
        """The instruction as it is, once for each lane that is on, in their order."""
        mask = self.mask_value()
        operands = [
            self.vector(operand) if self.shapes[operand] is VARYING else self.fetch(operand)
            for operand in each.operands
        ]
        parts: tuple[IRType, ...] = () if each.type is VOID or not each.users else (each.type,)
        if parts and isinstance(each.type, StructType):
            parts = each.type.elements
        slots: list[IRValue] = []
        for part in parts:
            wide = parse_type(f"<{self.lanes} x {self._in_memory(part)}>")
            slot = self.alloca(wide, "lanes")
            self.builder.emit(f"store {wide} zeroinitializer, ptr ?", slot)
            slots.append(slot)
        before = self.builder.block
        head, body, after, end = (self.block(f"lane.{name}") for name in ("head", "body", "next", "end"))
        self.jump(head)
        self._move(head)
        lane = self.builder.emit("phi i64 [ 0, ? ], [ 0, ? ]", before, before, name="lane")
        is_on = self.builder.emit(f"extractelement {mask.type} ?, i64 ?", mask, lane)
        self.branch(is_on, body, after)
        self._move(body)
        taken = []
        for operand, held in zip(each.operands, operands, strict=True):
            shape = self.shapes[operand]
            if shape is VARYING:
                if isinstance(operand.type, StructType):
                    raise NotVectorizableError("an argument that is a structure")
                held = self.builder.emit(f"extractelement {held.type} ?, i64 ?", held, lane)
            elif shape:
                step = self.builder.emit(f"mul i64 ?, {shape}", lane)
                if isinstance(operand.type, PointerType):
                    held = self.builder.emit("getelementptr i8, ptr ?, i64 ?", held, step)
                else:
                    if operand.type is not I64:
                        step = self.builder.emit(f"trunc i64 ? to {operand.type}", step)
                    held = self.builder.emit(f"add {operand.type} ?, ?", held, step)
            taken.append(held)
        copy = self._copied(each, taken)
        for number, (slot, part) in enumerate(zip(slots, parts, strict=True)):
            one: IRValue = copy
            if isinstance(each.type, StructType):
                one = self.builder.emit(f"extractvalue {each.type} ?, {number}", copy)
            kind = self._in_memory(part)
            if kind is not part:
                one = self.builder.emit(f"zext {part} ? to {kind}", one)
            at = self.builder.emit(f"getelementptr {kind}, ptr ?, i64 ?", slot, lane)
            self.builder.emit(f"store {kind} ?, ptr ?", one, at)
        self.jump(after)
        self._move(after)
        following = self.builder.emit("add i64 ?, 1", lane)
        lane.rewrite("phi i64 [ 0, ? ], [ ?, ? ]", before, following, after)
        is_left = self.builder.emit(f"icmp ult i64 ?, {self.lanes}", following)
        kept = f", !llvm.loop {rolled_loop(self.function.module)}" if each.opcode == "call" else ""
        self.builder.emit("br i1 ?, label ?, label ?", is_left, head, end, metadata=kept)
        self._move(end)
        if not parts:
            return None
        results: list[IRValue] = []
        for slot, part in zip(slots, parts, strict=True):
            kind = self._in_memory(part)
            wide = parse_type(f"<{self.lanes} x {kind}>")
            one = self.builder.emit(f"load {wide}, ptr ?", slot)
            results.append(
                one if kind is part else self.builder.emit(f"trunc {wide} ? to {self.vector_type(part)}", one)
            )
        if not isinstance(each.type, StructType):
            return results[0]
        made: IRValue = constant(self.vector_type(each.type), "poison")
        for number, one in enumerate(results):
            made = self.builder.emit(f"insertvalue {made.type} ?, {one.type} ?, {number}", made, one)
        return made

    def _in_memory(self, type_: IRType) -> IRType:
        return parse_type("i8") if type_ is I1 else type_
