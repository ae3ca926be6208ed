"""Atomic operations: SPIR-V's own where the target has them, else loops around compare-exchange.

References
----------
SPIR-V specification, 3.52.18, "Atomic Instructions"; SPV_EXT_shader_atomic_float_add and _min_max.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from kapi_sim import MemoryOrder
from kapi_sim.spec.intrinsics import rows
from kapi_spirv._numba_compat import LoweringRegistry, types
from kapi_spirv.lowering.arrays import element_pointer
from kapi_spirv.lowering.builtins import I32, I64, call_builtin
from kapi_spirv.lowering.memory_model import scope_operand, semantics_operand
from kapi_types import AtomicRefType
from kapi_types.weak import weak_int

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi atomics")

LOWERED = {row.key for row in rows(family="atomic") if row.name != "atomic_fence"}

_INTEGER = {
    "exchange": ("Exchange", "Exchange"),
    "fetch_add": ("IAdd", "IAdd"),
    "fetch_sub": ("ISub", "ISub"),
    "fetch_min": ("SMin", "UMin"),
    "fetch_max": ("SMax", "UMax"),
    "fetch_and": ("And", "And"),
    "fetch_or": ("Or", "Or"),
    "fetch_xor": ("Xor", "Xor"),
}
"""Method, to the operation on signed and on unsigned integers."""

_FLOAT = {"fetch_add": "FAddEXT", "fetch_sub": "FAddEXT", "fetch_min": "FMinEXT", "fetch_max": "FMaxEXT"}

_READ_PART = {MemoryOrder.RELEASE: MemoryOrder.RELAXED, MemoryOrder.ACQ_REL: MemoryOrder.ACQUIRE}
_WRITE_PART = {MemoryOrder.ACQUIRE: MemoryOrder.RELAXED, MemoryOrder.ACQ_REL: MemoryOrder.RELEASE}


class _Reference:
    """One atomic reference in a function being lowered."""

    def __init__(self, context: Any, builder: ir.IRBuilder, type_: AtomicRefType, value: ir.Value) -> None:
        self.builder, self.type = builder, type_
        self.pointer = context.make_helper(builder, type_, value).element
        self._scope = scope_operand(type_.scope)

    def call(self, operation: str, pointer: ir.Value, result: ir.Type, *values: ir.Value) -> ir.Value:
        """One atomic operation that reads and writes."""
        operands = [pointer, self._scope, semantics_operand(self.type.order), *values]
        return self._call(operation, result, operands)

    def load(self, pointer: ir.Value, order: MemoryOrder) -> ir.Value:
        """Read the element; `order` counts only for what it acquires."""
        semantics = semantics_operand(_READ_PART.get(order, order))
        return self._call("Load", pointer.type.pointee, [pointer, self._scope, semantics])

    def store(self, value: ir.Value) -> None:
        """Write the element."""
        order = self.type.order
        semantics = semantics_operand(_WRITE_PART.get(order, order))
        # As an integer, like `exchange`: Intel's CPU driver fails to link both for float64.
        bits = self.builder.bitcast(value, self.bits)
        self._call("Store", ir.VoidType(), [self.bits_pointer(), self._scope, semantics, bits])

    def exchange(self, value: ir.Value) -> ir.Value:
        """Write the element; returns what it was."""
        bits = self.builder.bitcast(value, self.bits)
        return self.builder.bitcast(self.call("Exchange", self.bits_pointer(), self.bits, bits), value.type)

    def compare_exchange(self, expected: ir.Value, desired: ir.Value) -> ir.Value:
        """Write the integer `desired` if the element is `expected`; returns what the element was."""
        order = self.type.order
        semantics = [semantics_operand(order), semantics_operand(_READ_PART.get(order, order))]
        operands = [self.bits_pointer(), self._scope, *semantics, desired, expected]
        return self._call("CompareExchange", desired.type, operands)

    def bits_pointer(self) -> ir.Value:
        """The element's address as an integer's of the same size."""
        return self.builder.bitcast(self.pointer, self.bits.as_pointer(self.pointer.type.addrspace))

    @property
    def bits(self) -> ir.IntType:
        """The integer type of the element's size."""
        return I64 if self.type.dtype.bitwidth == 64 else I32

    def _call(self, operation: str, result: ir.Type, operands: list[ir.Value]) -> ir.Value:
        name = f"__spirv_Atomic{operation}"
        return call_builtin(self.builder, name, result, operands, attributes=("nounwind",))


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
    if dtype.bitwidth == 64 and not context.spirv_target.has_atomic64:
        raise context.refusal(
            f"ref of AtomicRef() must have 32-bit elements for devices that lack atomic64, got {dtype}"
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
            return reference.call(_INTEGER[name][0 if dtype.signed else 1], pointer, value.type, value)
        if name == "exchange":
            return reference.exchange(value)
        if name == "fetch_sub":
            value = reference.builder.fneg(value)
        target = context.spirv_target
        native = target.float_atomic_min_max if name in ("fetch_min", "fetch_max") else target.float_atomic_add
        if dtype.bitwidth in native:
            return reference.call(_FLOAT[name], pointer, value.type, value)
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
    is_kept = builder.fcmp_ordered("<=" if name == "fetch_min" else ">=", old, value)
    return builder.select(is_kept, old, value)


for _name in _INTEGER:
    _register_fetch(_name)
