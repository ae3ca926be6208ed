"""Atomic updates of several lanes: without loops where one thread alone reaches memory, combined where none reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi_cpu.emission.combinations import identity_of
from kapi_cpu.emission.group_updates import update_of
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import FloatType, Instruction, IRType, IRValue, constant, declare

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["combined_update", "group_update"]

_REDUCTIONS = {
    "add": "add", "sub": "add", "and": "and", "or": "or", "xor": "xor",
    "min": "smin", "max": "smax", "umin": "umin", "umax": "umax",
}  # fmt: skip
_NEUTRAL = {"sub": "add"}


def group_update(emitter: LaneEmitter, each: Instruction) -> IRValue | None:
    """The update of one lane after the other; those that are off update memory that is of no other use."""
    name, (pointer, value) = each.callee, each.arguments
    operation, type_ = update_of(name), value.type
    if not each.users and emitter.shapes[pointer] == 0 and emitter.is_nonempty:
        if operation == "fadd" or (operation in _REDUCTIONS and not isinstance(type_, FloatType)):
            _update_of_all(emitter, operation, type_, emitter.scalar(pointer), emitter.vector(value), name)
            return None
    mask = emitter.mask
    if mask is None:
        return _update_of_lanes(emitter, each)

    def under(given: IRValue | None) -> list[IRValue]:
        emitter.mask = given
        made = _update_of_lanes(emitter, each)
        emitter.mask = mask
        return [] if made is None else [made]

    found = emitter.either(emitter.all(mask), lambda: under(None), lambda: under(mask))
    return found[0] if found else None


def _update_of_lanes(emitter: LaneEmitter, each: Instruction) -> IRValue | None:
    """The update of one lane after the other."""
    pointer, value = each.arguments
    builder, type_ = emitter.builder, value.type
    addresses, values = emitter.addresses(pointer, type_), emitter.vector(value)
    made: IRValue = constant(values.type, "poison")
    for lane, address in enumerate(addresses):
        one = builder.emit(f"extractelement {values.type} ?, i64 {lane}", values)
        old = emitter.copied(each, [each.operands[0], address, one])
        if each.users:
            made = builder.emit(f"insertelement {made.type} ?, {type_} ?, i64 {lane}", made, old)
    return made if each.users else None


def _update_of_all(
    emitter: LaneEmitter, operation: str, type_: IRType, address: IRValue, values: IRValue, name: str
) -> None:
    """Update one element by all lanes that are on: floats in their order."""
    if operation == "fadd":
        reduction = f"llvm.vector.reduce.fadd.v{emitter.lanes}f{8 * size_of(type_)}"
        values = _with_neutral(emitter, values, "-0.0")
        declare(emitter.function, f"{type_} @{reduction}({type_}, {values.type})")
        old = emitter.builder.emit(f"load {type_}, ptr ?", address)
        new = emitter.builder.emit(f"call {type_} @{reduction}({type_} ?, {values.type} ?)", old, values)
        emitter.builder.emit(f"store {type_} ?, ptr ?", new, address)
        return
    emitter.builder.emit(f"call {type_} @{name}(ptr ?, {type_} ?)", address, _reduced(emitter, operation, values))


def combined_update(emitter: LaneEmitter, each: Instruction) -> bool:
    """Update one element in memory once for all lanes that are on, if nothing reads what was there.

    Only integers: their result does not depend on the order.
    """
    pointer, value = each.operands
    operation = each.predicate
    if each.users or emitter.shapes[pointer] != 0 or not emitter.is_nonempty or operation not in _REDUCTIONS:
        return False
    emitter.copied(each, [emitter.scalar(pointer), _reduced(emitter, operation, emitter.vector(value))])
    return True


def _reduced(emitter: LaneEmitter, operation: str, values: IRValue) -> IRValue:
    """One value that updates as those of all lanes that are on do."""
    type_ = values.type.scalar
    values = _with_neutral(emitter, values, identity_of(_NEUTRAL.get(operation, operation), str(type_)))
    name = f"llvm.vector.reduce.{_REDUCTIONS[operation]}.v{emitter.lanes}{type_}"
    declare(emitter.function, f"{type_} @{name}({values.type})")
    return emitter.builder.emit(f"call {type_} @{name}({values.type} ?)", values)


def _with_neutral(emitter: LaneEmitter, values: IRValue, neutral: str) -> IRValue:
    """The values of lanes that are on, and a number that changes nothing for those that are off."""
    if emitter.mask is None:
        return values
    splat = constant(values.type, f"splat ({values.type.scalar} {neutral})")
    text = f"select {emitter.mask.type} ?, {values.type} ?, {values.type} ?"
    return emitter.builder.emit(text, emitter.mask, values, splat)
