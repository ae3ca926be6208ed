"""Atomic operations: the target's own where it has them, else loops around compare-exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import AtomicUpdate, Target
from kapi_lowering.values.arrays import element_pointer
from kapi_sim import MemoryOrder
from kapi_sim.language.table.intrinsics import rows
from kapi_types import AtomicRefType
from kapi_types.weak import weak_int

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi atomics")

LOWERED = {row.key for row in rows(family="atomic") if row.name != "atomic_fence"}

_UPDATES: dict[str, tuple[AtomicUpdate, AtomicUpdate]] = {
    "exchange": ("exchange", "exchange"),
    "fetch_add": ("add", "add"),
    "fetch_sub": ("sub", "sub"),
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
    "fetch_min": "fmin",
    "fetch_max": "fmax",
}

_READ_PART = {MemoryOrder.RELEASE: MemoryOrder.RELAXED, MemoryOrder.ACQ_REL: MemoryOrder.ACQUIRE}
_WRITE_PART = {MemoryOrder.ACQUIRE: MemoryOrder.RELAXED, MemoryOrder.ACQ_REL: MemoryOrder.RELEASE}


class _Reference:
    """One atomic reference in a function being lowered."""

    def __init__(self, context: Any, builder: ir.IRBuilder, type_: AtomicRefType, value: ir.Value) -> None:
        self.target: Target = context.kernel_target
        self.builder, self.type = builder, type_
        self.pointer = context.make_helper(builder, type_, value).element

    def update(self, update: AtomicUpdate, pointer: ir.Value, value: ir.Value) -> ir.Value:
        """One atomic operation that reads and writes."""
        return self.target.atomic_update(self.builder, update, pointer, value, self.type.order, self.type.scope)

    def load(self, pointer: ir.Value, order: MemoryOrder) -> ir.Value:
        """Read the element; `order` counts only for what it acquires."""
        return self.target.atomic_load(self.builder, pointer, _READ_PART.get(order, order), self.type.scope)

    def store(self, value: ir.Value) -> None:
        """Write the element."""
        order = _WRITE_PART.get(self.type.order, self.type.order)
        # As an integer, like `exchange`: Intel's CPU driver fails to link both for float64.
        bits = self.builder.bitcast(value, self.bits)
        self.target.atomic_store(self.builder, self.bits_pointer(), bits, order, self.type.scope)

    def exchange(self, value: ir.Value) -> ir.Value:
        """Write the element; returns what it was."""
        bits = self.builder.bitcast(value, self.bits)
        return self.builder.bitcast(self.update("exchange", self.bits_pointer(), bits), value.type)

    def compare_exchange(self, expected: ir.Value, desired: ir.Value) -> ir.Value:
        """Write the integer `desired` if the element is `expected`; returns what the element was."""
        order = self.type.order
        orders = order, _READ_PART.get(order, order)
        return self.target.compare_exchange(
            self.builder, self.bits_pointer(), expected, desired, orders, self.type.scope
        )

    def bits_pointer(self) -> ir.Value:
        """The element's address as an integer's of the same size."""
        return self.builder.bitcast(self.pointer, self.bits.as_pointer(self.pointer.type.addrspace))

    @property
    def bits(self) -> ir.IntType:
        """The integer type of the element's size."""
        return I64 if self.type.dtype.bitwidth == 64 else I32


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
    reference.element = element_pointer(context, builder, sig.args[0], args[0], sig.args[1], args[1])
    return reference._getvalue()


@_method("load")
def _load(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
    return reference.load(reference.pointer, reference.type.order)


@_method("store")
def _store(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
    reference.store(args[0])
    return context.get_dummy_value()


@_method("compare_exchange")
def _compare_exchange(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
    builder, (expected_type, _desired_type, _index_type) = reference.builder, types_
    expected_array, desired, index = args
    place = element_pointer(context, builder, expected_type, expected_array, weak_int, index)
    expected = builder.bitcast(builder.load(place), reference.bits)
    seen = reference.compare_exchange(expected, builder.bitcast(desired, reference.bits))
    builder.store(builder.bitcast(seen, place.type.pointee), place)
    return builder.icmp_unsigned("==", seen, expected)


def _register_fetch(name: str) -> None:
    @_method(name)
    def fetch(context: Any, reference: _Reference, types_: Any, args: Any) -> ir.Value:
        dtype, pointer, value = reference.type.dtype, reference.pointer, args[0]
        if isinstance(dtype, types.Integer):
            return reference.update(_UPDATES[name][0 if dtype.signed else 1], pointer, value)
        if name == "exchange":
            return reference.exchange(value)
        if name == "fetch_sub":
            value = reference.builder.fneg(value)
        if reference.target.has_float_atomic(_OF_FLOATS[name], dtype.bitwidth):
            return reference.update(_OF_FLOATS[name], pointer, value)
        return _by_compare_exchange(reference, name, value)


def _by_compare_exchange(reference: _Reference, name: str, value: ir.Value) -> ir.Value:
    """A float operation as a loop: it is repeated until nobody else was faster."""
    builder = reference.builder
    first = reference.load(reference.bits_pointer(), MemoryOrder.RELAXED)
    before = builder.basic_block
    body = builder.append_basic_block("atomic")
    after = builder.append_basic_block("atomic.end")
    builder.branch(body)
    builder.position_at_end(body)
    expected = builder.phi(reference.bits)
    expected.add_incoming(first, before)
    old = builder.bitcast(expected, value.type)
    seen = reference.compare_exchange(expected, builder.bitcast(_combined(builder, name, old, value), reference.bits))
    expected.add_incoming(seen, body)
    builder.cbranch(builder.icmp_unsigned("==", seen, expected), after, body)
    builder.position_at_end(after)
    return old


def _combined(builder: ir.IRBuilder, name: str, old: ir.Value, value: ir.Value) -> ir.Value:
    if name in ("fetch_add", "fetch_sub"):
        return builder.fadd(old, value)
    # Of a number and nan it is the number, as the instructions of devices have it.
    is_nearer = builder.fcmp_ordered("<" if name == "fetch_min" else ">", value, old)
    return builder.select(builder.or_(is_nearer, builder.fcmp_unordered("uno", old, old)), value, old)


for _name in _UPDATES:
    _register_fetch(_name)
