"""Instructions for several lanes: the values that stand for those of one, their masks, and vector instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from kapi_cpu.emission.group_updates import PREFIX
from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes, Stride
from kapi_cpu.emission.vectorize.instructions.accesses import Accesses
from kapi_cpu.emission.vectorize.instructions.conversions import SATURATING, saturating_conversion
from kapi_cpu.emission.vectorize.instructions.divisions import division, needs_division
from kapi_cpu.emission.vectorize.instructions.lane_loops import NotVectorizableError, lane_loop
from kapi_cpu.emission.vectorize.instructions.prefetching import FarLoad
from kapi_cpu.emission.vectorize.instructions.records import RecordAccess
from kapi_cpu.emission.vectorize.instructions.sub_groups import sub_group_operation
from kapi_cpu.emission.vectorize.instructions.updates import combined_update, group_update
from kapi_cpu.emission.vectorize.processor import Processor
from kapi_lowering.emission.llvm_ir import (
    BINARY,
    CASTS,
    I1,
    I64,
    Block,
    Builder,
    ConstantValue,
    FloatType,
    Function,
    Instruction,
    IntType,
    IRType,
    IRValue,
    PointerType,
    StructType,
    constant,
    declare,
    parse_type,
)

__all__ = ["LaneEmitter"]

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


class LaneEmitter:
    """Writes instructions of one lane for several, into the block that `builder` is at.

    - `lanes`: how many; 1 for scalar code.
    - `processor`: the one that the code is for.
    - `builder`: at the end of the block that is written.
    - `values`: what stands for each value in this block: a scalar for a uniform one, the first lane's of a strided one,
      and a vector for a varying one.
    - `mask`: the lanes that are on, None for all.
    - `is_nonempty`: whether a lane is on whenever the block is executed.
    - `is_full`: whether all lanes are on, if that is known without a test of the mask.
    - `invariant`: loads of what no kernel writes, which may be executed at any time.
    - `private`: the memory that stands for private arrays.
    - `consecutive`: whether elements at addresses of these terms, of a size, are next to each other, as far as this
      block of the source asked; how far the first lane's is from their base, and in which unit.
    - `records`: the accesses of whole records in the block of the source.
    - `far_loads`: the loads whose memory is asked for some iterations ahead; the steps of these have been fetched.
    """

    def __init__(self, function: Function, lanes: int, shapes: Shapes, processor: Processor) -> None:
        self.function, self.lanes, self.shapes, self.processor = function, lanes, shapes, processor
        self.builder = Builder(function.blocks[1])
        self.values: dict[IRValue, IRValue] = {}
        self.mask: IRValue | None = None
        self.is_nonempty = True
        self.is_full: IRValue | None = None
        self.invariant: set[IRValue] = set()
        self._any: dict[IRValue, IRValue] = {}
        self.consecutive: dict[tuple[tuple[tuple[IRValue, int], ...], int], tuple[IRValue, IRValue, int]] = {}
        self.allocas = Builder(function.entry)
        self.private: set[IRValue] = set()
        self.records: Mapping[Instruction, RecordAccess] = {}
        self.far_loads: Mapping[Instruction, FarLoad] = {}
        self._elements: dict[Instruction, IRValue] = {}
        self._accesses = Accesses(self)

    # -- blocks

    def begin(self, block: Block, mask: IRValue | None, is_nonempty: bool) -> None:
        """Go on at the end of a block, under a mask."""
        self.builder = Builder(block)
        self.mask, self.is_nonempty, self.is_full = mask, is_nonempty, None
        self._any, self.consecutive = {}, {}

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
        return self.splat(held) if shape == 0 else self.strided(held, shape)

    def strided(self, base: IRValue, stride: int | Stride) -> IRValue:
        """The values of all lanes by the first one's."""
        type_ = base.type
        vector = self.vector_type(I64 if isinstance(type_, PointerType) else type_)
        if isinstance(stride, int):
            steps = self.steps(vector.scalar, stride)
        else:
            steps = self.builder.emit(f"mul {vector} ?, ?", self.splat(self.stride(stride)), self.steps(I64))
        if isinstance(type_, PointerType):
            return self.builder.emit(f"getelementptr i8, ptr ?, {vector} ?", base, steps)
        return self.builder.emit(f"add {vector} ?, ?", self.splat(base), steps)

    def stride(self, stride: Stride) -> IRValue:
        """The number that a stride of run time is."""
        made = self.fetch(stride.unit)
        if stride.factor != 1:
            made = self.builder.emit(f"mul i64 ?, {stride.factor}", made)
        return self.builder.emit(f"add i64 ?, {stride.fixed}", made) if stride.fixed else made

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

    def all(self, mask: IRValue) -> IRValue:
        """Whether all lanes are on."""
        bits = self.builder.emit(f"bitcast {mask.type} ? to i{self.lanes}", mask)
        return self.builder.emit(f"icmp eq i{self.lanes} ?, -1", bits)

    def know_any(self, mask: IRValue, is_any: IRValue) -> None:
        """Note in this block whether a lane of a mask is on."""
        self._any[mask] = is_any

    def both(self, mask: IRValue | None, condition: IRValue) -> IRValue:
        """The lanes of a mask for which a condition holds."""
        if mask is None:
            return condition
        # In a lane that is off, arithmetic may have overflowed, and `and` with poison is poison.
        type_ = condition.type
        return self.builder.emit(f"select {type_} ?, {type_} ?, {type_} zeroinitializer", mask, condition)

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
            return self._accesses.alloca(each)
        if opcode == "call" and each.callee.startswith("kapi."):
            if each.callee.startswith(BARRIER):
                return self.copied(each, [self.fetch(operand) for operand in each.operands])
            return sub_group_operation(self, each)
        if self.lanes == 1:
            return self.copied(each, [self.fetch(operand) for operand in each.operands])
        if each in self.records and self.mask is None:
            return self._of_record(each, self.records[each])
        if opcode == "load" and each.form.is_plain:
            return self._accesses.load(each)
        if opcode == "store" and each.form.is_plain:
            self._accesses.store(each)
            return None
        if opcode == "fence":
            return self.copied(each, [])
        if not each.form.is_void and self.shapes[each] is not VARYING:
            return self._first_lane(each)
        if opcode == "call":
            return self._call(each)
        if opcode == "atomicrmw" and combined_update(self, each):
            return None
        if opcode in ("atomicrmw", "cmpxchg", "load", "store"):
            return lane_loop(self, each)
        return self._widened(each) if each.users else None

    def _of_record(self, each: Instruction, record: RecordAccess) -> IRValue | None:
        """Load a whole record at its first load, and store it at its last store."""
        if each.opcode == "store":
            if each is record.last:
                record.store(self, self._accesses)
            return None
        if each is record.first:
            self._elements.update(zip(record.members, record.load(self, self._accesses), strict=True))
        return self._elements.pop(each)

    def copied(self, each: Instruction, operands: Sequence[IRValue]) -> Instruction:
        """Write the instruction as it is, of these operands."""
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
            copy = self.copied(each, operands)
        elif each.opcode == "or":
            copy = self.builder.emit(f"add {each.type} ?, ?", *operands)
        elif each.opcode == "getelementptr":
            indices = "".join(f", {index.type} ?" for index in operands[1:])
            copy = self.builder.emit(f"getelementptr {each.form.element}, ptr ?{indices}", *operands)
        else:
            copy = self.copied(each, operands)
            if copy.flags:
                copy.drop_flags()
        return copy

    def _guarded(self, each: Instruction, operands: Sequence[IRValue]) -> IRValue:
        """A call that is only made where a lane is on."""
        made, after = self.block("guarded"), self.block("guard.end")
        before = self.builder.block
        self.branch(self.any(self.mask_value()), made, after)
        self.move(made)
        copy = self.copied(each, operands)
        self.jump(after)
        self.move(after)
        if each.form.is_void:
            return copy
        return self.builder.phi(each.type, [(copy, made), (self.zero(each.type), before)])

    def move(self, block: Block) -> None:
        """Go on in a block that the present one dominates."""
        self.builder = Builder(block)
        self._any = {}

    def either(
        self, condition: IRValue, one: Callable[[], list[IRValue] | None], other: Callable[[], list[IRValue] | None]
    ) -> list[IRValue]:
        """Emit a branch with two control-flow paths, and return the phis of their values where they converge."""
        blocks, end = [self.block("one"), self.block("other")], self.block("either.end")
        self.branch(condition, *blocks)
        found = []
        for block, emit in zip(blocks, (one, other), strict=True):
            self.move(block)
            values = emit() or []
            self.jump(end)
            found.append((values, self.builder.block))
        self.move(end)
        (left, left_end), (right, right_end) = found
        return [
            self.builder.phi(first.type, [(first, left_end), (second, right_end)])
            for first, second in zip(left, right, strict=True)
        ]

    def _flags(self, each: Instruction) -> str:
        return "".join(f"{flag} " for flag in each.flags)

    def _widened(self, each: Instruction) -> IRValue:
        opcode, type_ = each.opcode, self.vector_type(each.type)
        if opcode in BINARY:
            if needs_division(each):
                return division(self, each)
            left, right = map(self.vector, each.operands)
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

    def addresses(self, pointer: IRValue, type_: IRType) -> Iterable[IRValue]:
        """The address of each lane; of those that are off, memory that is of no other use."""
        return self._accesses.addresses(pointer, type_, are_written=True)

    # -- calls

    def _call(self, each: Instruction) -> IRValue | None:
        name = each.callee
        found = _ELEMENTWISE.fullmatch(name)
        if name.startswith(PREFIX):
            return group_update(self, each)
        if found is None:
            return lane_loop(self, each)
        if name.startswith(SATURATING) and (converted := saturating_conversion(self, each)):
            return converted
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
