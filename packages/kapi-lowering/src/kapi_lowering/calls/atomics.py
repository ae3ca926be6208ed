"""Atomic operations: the target's own where it has them, else loops around compare-exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import AtomicUpdate, Target
from kapi_lowering.values.arrays import element_pointer
from kapi_lowering.values.records import field_pointer
from kapi_sim import MemoryOrder
from kapi_sim.language.table.intrinsics import rows
from kapi_types import AtomicRefType
from kapi_types.records import RecordRefType
from kapi_types.weak import weak_int

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi atomics")

LOWERED = {row.key for row in rows(family="atomic") if row.name != "atomic_fence"}

_UPDATES: dict[str, tuple[AtomicUpdate, AtomicUpdate]] = {
    "exchange": ("exchange", "exchange"),
    "fetch_add": ("add", "add"),
    "fetch_sub": ("sub", "sub"),
    "fetch_mul": ("mul", "mul"),
    "fetch_inc": ("inc_wrap", "uinc_wrap"),
    "fetch_dec": ("dec_wrap", "udec_wrap"),
    "fetch_min": ("min", "umin"),
    "fetch_max": ("max", "umax"),
    "fetch_and": ("and", "and"),
    "fetch_or": ("or", "or"),
    "fetch_xor": ("xor", "xor"),
}
"""Method, to what it does to signed and to unsigned integers."""

_OF_FLOATS: dict[str, AtomicUpdate] = {
    "fetch_add": "fadd",
    "fetch_sub": "fadd",  # of the negated value
    "fetch_mul": "fmul",
    "fetch_min": "fmin",
    "fetch_max": "fmax",
}

_INSTRUCTIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and_", "or": "or_", "xor": "xor", "fadd": "fadd", "fmul": "fmul",
}  # fmt: skip
"""Update, to the builder's instruction that makes it."""

_READ_PART = {MemoryOrder.RELEASE: MemoryOrder.RELAXED, MemoryOrder.ACQ_REL: MemoryOrder.ACQUIRE}
_WRITE_PART = {MemoryOrder.ACQUIRE: MemoryOrder.RELAXED, MemoryOrder.ACQ_REL: MemoryOrder.RELEASE}


class _Reference:
    """One atomic reference in a function being lowered."""

    def __init__(self, context: Any, builder: ir.IRBuilder, type_: AtomicRefType, value: ir.Value) -> None:
        self.target: Target = context.kernel_target
        self.builder, self.type = builder, type_
        self.pointer = context.make_helper(builder, type_, value).element
        self.bits = ir.IntType(type_.dtype.bitwidth)
        self.is_part = self.bits.width < I32.width and not self.target.has_narrow_atomics

    def update(self, update: AtomicUpdate, pointer: ir.Value, value: ir.Value) -> ir.Value:
        """One atomic operation that reads and writes."""
        return self.target.atomic_update(self.builder, update, pointer, value, self.type.order, self.type.scope)

    def load(self) -> ir.Value:
        """Read the element."""
        order = _READ_PART.get(self.type.order, self.type.order)
        if not self.is_part:
            return self.target.atomic_load(self.builder, self.pointer, order, self.type.scope)
        word, shift = self._word()
        seen = self.target.atomic_load(self.builder, word, order, self.type.scope)
        return self.builder.trunc(self.builder.lshr(seen, shift), self.bits)

    def store(self, value: ir.Value) -> None:
        """Write the element."""
        if self.is_part:
            self.change(lambda old: value)
            return
        order = _WRITE_PART.get(self.type.order, self.type.order)
        # As an integer, like `exchange`: Intel's CPU driver fails to link both for float64.
        bits = self.builder.bitcast(value, self.bits)
        self.target.atomic_store(self.builder, self._bits_pointer(), bits, order, self.type.scope)

    def exchange(self, value: ir.Value) -> ir.Value:
        """Write the element; returns what it was."""
        bits = self.builder.bitcast(value, self.bits)
        return self.builder.bitcast(self.update("exchange", self._bits_pointer(), bits), value.type)

    def compare_exchange(self, expected: ir.Value, desired: ir.Value) -> ir.Value:
        """Write the integer `desired` if the element is `expected`; returns what the element was."""
        builder = self.builder
        if self.is_part:
            return self.change(lambda old: builder.select(builder.icmp_unsigned("==", old, expected), desired, old))
        return self._compare_exchange(self._bits_pointer(), expected, desired)

    def change(self, changed: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """Write what `changed` makes of the element, an integer: a loop that is repeated until nobody else was faster.

        Returns what the element was. Of a word that the element is a part of, the rest is written as it was read.
        """
        builder = self.builder
        pointer, shift = self._word() if self.is_part else (self._bits_pointer(), None)
        first = self.target.atomic_load(builder, pointer, MemoryOrder.RELAXED, self.type.scope)
        before = builder.basic_block
        body = builder.append_basic_block("atomic")
        after = builder.append_basic_block("atomic.end")
        builder.branch(body)
        builder.position_at_end(body)
        expected = builder.phi(first.type)
        expected.add_incoming(first, before)
        if shift is None:
            old = expected
            desired = changed(old)
        else:
            old = builder.trunc(builder.lshr(expected, shift), self.bits)
            mask = builder.shl(I32((1 << self.bits.width) - 1), shift)
            part = builder.shl(builder.zext(changed(old), I32), shift)
            desired = builder.or_(builder.and_(expected, builder.not_(mask)), part)
        seen = self._compare_exchange(pointer, expected, desired)
        expected.add_incoming(seen, builder.basic_block)
        builder.cbranch(builder.icmp_unsigned("==", seen, expected), after, body)
        builder.position_at_end(after)
        return old

    def _compare_exchange(self, pointer: ir.Value, expected: ir.Value, desired: ir.Value) -> ir.Value:
        order = self.type.order
        orders = order, _READ_PART.get(order, order)
        return self.target.compare_exchange(self.builder, pointer, expected, desired, orders, self.type.scope)

    def _bits_pointer(self) -> ir.Value:
        """The element's address as an integer's of the same size."""
        return self.builder.bitcast(self.pointer, self.bits.as_pointer(self.pointer.type.addrspace))

    def _word(self) -> tuple[ir.Value, ir.Value]:
        """The address of the aligned word of 32 bits that holds the element, and the element's first bit in it."""
        builder, space = self.builder, self.pointer.type.addrspace
        byte = builder.and_(builder.ptrtoint(self.pointer, I64), I64(3))
        start = builder.gep(builder.bitcast(self.pointer, ir.IntType(8).as_pointer(space)), [builder.neg(byte)])
        return builder.bitcast(start, I32.as_pointer(space)), builder.trunc(builder.shl(byte, I64(3)), I32)


def _method(name: str) -> Callable[[Callable[..., ir.Value]], None]:
    """Register the code of a method, which is given the reference and the values after it."""

    def register(emit: Callable[..., ir.Value]) -> None:
        @registry.lower(f"AtomicRef.{name}", AtomicRefType, types.VarArg(types.Any))
        def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
            return emit(context, _Reference(context, builder, sig.args[0], args[0]), sig.args[1:], args[1:])

    return register


@registry.lower("AtomicRef", types.Any, types.Any, types.Any, types.Any, types.Any)
def _make_reference(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    dtype = sig.return_type.dtype
    if dtype.bitwidth == 64 and not context.kernel_target.has_atomic64:
        raise context.refusal(
            "needs-atomic64",
            f"ref of AtomicRef() must have 32-bit elements for devices that lack atomic64, got {dtype}",
        )
    reference = context.make_helper(builder, sig.return_type)
    if isinstance(sig.args[0], RecordRefType):
        reference.element = field_pointer(context, builder, sig.args[0], args[0], sig.args[1].value)
    else:
        reference.element = element_pointer(context, builder, sig.args[0], args[0], sig.args[1], args[1])
    return reference._getvalue()


@_method("load")
def _load(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
    return reference.load()


@_method("store")
def _store(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
    reference.store(args[0])
    return context.get_dummy_value()


@_method("compare_exchange")
def _compare_exchange(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
    builder, (expected_type, _desired_type, _index_type) = reference.builder, types_
    expected_array, desired, index = args
    position = element_pointer(context, builder, expected_type, expected_array, weak_int, index)
    expected = builder.bitcast(builder.load(position), reference.bits)
    seen = reference.compare_exchange(expected, builder.bitcast(desired, reference.bits))
    builder.store(builder.bitcast(seen, position.type.pointee), position)
    return builder.icmp_unsigned("==", seen, expected)


def _register_fetch(name: str) -> None:
    @_method(name)
    def fetch(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
        builder, dtype, value = reference.builder, reference.type.dtype, args[0]
        if name == "exchange" and not reference.is_part:
            return reference.exchange(value)
        if isinstance(dtype, types.Integer):
            update = _UPDATES[name][0 if dtype.signed else 1]
            is_native = reference.target.has_integer_atomic(update, dtype.bitwidth)
        else:
            value = builder.fneg(value) if name == "fetch_sub" else value
            update = _OF_FLOATS[name]
            is_native = update != "fmul" and reference.target.has_float_atomic(update, dtype.bitwidth)
        if is_native:
            return reference.update(update, reference.pointer, value)

        def changed(old: ir.Value) -> ir.Value:
            made = _combined(builder, update, builder.bitcast(old, value.type), value)
            return builder.bitcast(made, reference.bits)

        return builder.bitcast(reference.change(changed), value.type)


def _combined(builder: ir.IRBuilder, update: AtomicUpdate, old: ir.Value, value: ir.Value) -> ir.Value:
    """The element after an update."""
    if update in _INSTRUCTIONS:
        return getattr(builder, _INSTRUCTIONS[update])(old, value)
    if update == "exchange":
        return value
    if update in ("fmin", "fmax"):
        # Of a number and nan it is the number, as the instructions of devices have it.
        is_nearer = builder.fcmp_ordered("<" if update == "fmin" else ">", value, old)
        return builder.select(builder.or_(is_nearer, builder.fcmp_unordered("uno", old, old)), value, old)
    compare = builder.icmp_unsigned if update.startswith("u") else builder.icmp_signed
    if update.endswith("_wrap"):
        zero, one = old.type(0), old.type(1)
        if update.endswith("inc_wrap"):
            return builder.select(compare(">=", old, value), zero, builder.add(old, one))
        is_outside = builder.or_(compare("<=", old, zero), compare(">", old, value))
        return builder.select(is_outside, value, builder.sub(old, one))
    return builder.select(compare("<" if update.endswith("min") else ">", value, old), value, old)


for _name in _UPDATES:
    _register_fetch(_name)
