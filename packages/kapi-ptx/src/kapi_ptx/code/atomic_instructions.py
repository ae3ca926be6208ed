"""Atomic operations, as PTX's instructions.

LLVM 22 drops order and scope of `atomicrmw`, and PTX then takes relaxed order and the scope of the device. So updates
that ask for no more are LLVM's, which knows that they leave other memory alone. All else is written as PTX.

References
----------
PTX ISA, sections "atom", "ld", "st" and "Memory Consistency Model".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.target import AtomicUpdate
from kapi_ptx.code.memory_model import asm, fence, scope_word
from kapi_sim import AddressSpace, MemoryOrder, MemoryScope

__all__ = ["atomic_load", "atomic_store", "atomic_update", "compare_exchange"]

_UPDATES: dict[AtomicUpdate, tuple[str, str]] = {
    "exchange": ("exch", "b"),
    "add": ("add", "u"),
    "uinc_wrap": ("inc", "u"),
    "udec_wrap": ("dec", "u"),
    "min": ("min", "s"),
    "max": ("max", "s"),
    "umin": ("min", "u"),
    "umax": ("max", "u"),
    "and": ("and", "b"),
    "or": ("or", "b"),
    "xor": ("xor", "b"),
    "fadd": ("add", "f"),
}
"""An update, to PTX's name of it and of the kind of its type."""

_OF_LLVM: dict[AtomicUpdate, str] = {"exchange": "xchg"}
"""LLVM's name of an update, where it has another."""

_SPACES = {AddressSpace.GLOBAL: ".global", AddressSpace.LOCAL: ".shared"}
_CONSTRAINTS = {"i32": "r", "i64": "l", "float": "f", "double": "d"}
_WIDTHS = {"i32": 32, "i64": 64, "float": 32, "double": 64}

_ORDERS = {
    MemoryOrder.RELAXED: "relaxed",
    MemoryOrder.ACQUIRE: "acquire",
    MemoryOrder.RELEASE: "release",
    MemoryOrder.ACQ_REL: "acq_rel",
    # After a fence, which releases and puts the operation in its place in the one order.
    MemoryOrder.SEQ_CST: "acquire",
}


def atomic_load(builder: ir.IRBuilder, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope) -> ir.Value:
    """Read."""
    type_ = pointer.type.pointee
    start = _begin(builder, "ld", _ORDERS[order], pointer, order, scope)
    return asm(builder, f"{start}.b{_WIDTHS[str(type_)]} $0, [$1];", type_, f"={_letter(type_)},l", [pointer])


def atomic_store(
    builder: ir.IRBuilder, pointer: ir.Value, value: ir.Value, order: MemoryOrder, scope: MemoryScope
) -> None:
    """Write."""
    word = "relaxed" if order is MemoryOrder.SEQ_CST else _ORDERS[order]
    start = _begin(builder, "st", word, pointer, order, scope)
    text = f"{start}.b{_WIDTHS[str(value.type)]} [$0], $1;"
    asm(builder, text, ir.VoidType(), f"l,{_letter(value.type)}", [pointer, value])


def atomic_update(
    builder: ir.IRBuilder,
    update: AtomicUpdate,
    pointer: ir.Value,
    value: ir.Value,
    order: MemoryOrder,
    scope: MemoryScope,
) -> ir.Value:
    """Read and write at once; returns what was read."""
    if update == "sub":
        update, value = "add", builder.neg(value)
    if order is MemoryOrder.RELAXED and scope is not MemoryScope.SYSTEM:
        return builder.atomic_rmw(_OF_LLVM.get(update, update), pointer, value, "monotonic")
    name, kind = _UPDATES[update]
    start = _begin(builder, "atom", _ORDERS[order], pointer, order, scope)
    letter = _letter(value.type)
    text = f"{start}.{name}.{kind}{_WIDTHS[str(value.type)]} $0, [$1], $2;"
    return asm(builder, text, value.type, f"={letter},l,{letter}", [pointer, value])


def compare_exchange(
    builder: ir.IRBuilder,
    pointer: ir.Value,
    expected: ir.Value,
    desired: ir.Value,
    orders: tuple[MemoryOrder, MemoryOrder],
    scope: MemoryScope,
) -> ir.Value:
    """Write `desired` where `expected` is read; returns what was read."""
    order, _ = orders  # of a failure, less is asked
    start = _begin(builder, "atom", _ORDERS[order], pointer, order, scope)
    letter = _letter(desired.type)
    text = f"{start}.cas.b{_WIDTHS[str(desired.type)]} $0, [$1], $2, $3;"
    return asm(builder, text, desired.type, f"={letter},l,{letter},{letter}", [pointer, expected, desired])


def _begin(
    builder: ir.IRBuilder, operation: str, word: str, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope
) -> str:
    """The instruction up to its type, after the fence that sequential consistency asks for."""
    if order is MemoryOrder.SEQ_CST:
        fence(builder, order, scope)
    space = _SPACES.get(AddressSpace(pointer.type.addrspace), "")
    return f"{operation}.{word}.{scope_word(scope)}{space}"


def _letter(type_: ir.Type) -> str:
    return _CONSTRAINTS[str(type_)]
