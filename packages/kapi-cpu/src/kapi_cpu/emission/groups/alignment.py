"""Alignment of vectors to lines of the cache: the work-items of a row that come before the first aligned vector.

NumPy's memory begins 16 bytes behind a line. Each access of a whole line then takes two. A row whose first vector has a
few work-items less has aligned accesses behind it (loop peeling).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes
from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter
from kapi_cpu.emission.vectorize.private_arrays import allocation_of
from kapi_cpu.emission.vectorize.scalars import CHEAP
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import Function, Instruction, IRValue, StructType

__all__ = ["AlignedAccess", "aligned_access"]

_LINE_BYTES = 64
_MOST = 24
"""Instructions that a row may spend on an address."""


@dataclass(frozen=True)
class AlignedAccess:
    """The access whose vectors are to be aligned.

    - `pointer`: its address.
    - `slice`: what that is computed from, in an order in which it can be.
    - `size`: bytes of an element.
    """

    pointer: IRValue
    slice: Sequence[Instruction]
    size: int

    def write(self, emitter: LaneEmitter, shapes: Shapes) -> None:
        """Return the number of work-items from a vector's first one to the next one at the start of a line."""
        for each in self.slice:
            if each.opcode == "phi":
                emitter.values[each] = emitter.fetch(_initial(each, shapes))  # type: ignore[arg-type]  # it has one
            else:
                emitter.emit(each)
        builder = emitter.builder
        # Where no work-item comes to the access, arithmetic may have overflowed: then any number will do.
        address = builder.emit("freeze i64 ?", builder.emit("ptrtoint ptr ? to i64", emitter.scalar(self.pointer)))
        line = min(_LINE_BYTES, emitter.lanes * self.size)
        left = builder.emit(f"and i64 ?, {line - 1}", builder.emit("sub i64 0, ?", address))
        builder.emit("ret i64 ?", builder.emit(f"lshr i64 ?, {self.size.bit_length() - 1}", left))


def aligned_access(
    source: Function, shapes: Shapes, invariant: Collection[IRValue], given: Collection[IRValue]
) -> AlignedAccess | None:
    """Choose an access of neighbouring elements, of those in the most loops a store if there is one.

    Vectors may begin anywhere if work-items know nothing of each other.

    - `source`, `shapes`: the kernel, and the shapes for its vectors.
    - `invariant`: loads that may be executed at any time.
    - `given`: what is there at the start.
    """
    if any(_shows_vectors(each) for each in source.instructions()):
        return None
    best, found = -1, None
    for each in source.instructions():
        if each.opcode not in ("load", "store"):
            continue
        pointer, type_ = each.operands[-1], each.type if each.opcode == "load" else each.operands[0].type
        if isinstance(type_, StructType) or shapes[pointer] != size_of(type_) or allocation_of(pointer) is not None:
            continue
        assert each.block is not None
        loop = shapes.loop_of(each.block)
        rank = 2 * (0 if loop is None else loop.depth) + (each.opcode == "store")
        if rank > best and (parts := _slice(pointer, shapes, invariant, given)) is not None:
            best, found = rank, AlignedAccess(pointer, parts, size_of(type_))
    return found


def _shows_vectors(each: Instruction) -> bool:
    """Whether it matters which work-items share a vector."""
    if each.opcode in ("atomicrmw", "cmpxchg"):
        return True
    return each.callee.startswith("kapi.") and not each.callee.startswith(QUERY)


def _slice(
    pointer: IRValue, shapes: Shapes, invariant: Collection[IRValue], given: Collection[IRValue]
) -> list[Instruction] | None:
    """Instructions that compute an address in the first iteration; None if one may not be executed at any time."""
    found: dict[Instruction, None] = {}

    def is_added(value: IRValue) -> bool:
        if not isinstance(value, Instruction) or value in given or value in found:
            return True
        operands: Sequence[IRValue | None]
        if value.opcode == "phi":
            operands = [_initial(value, shapes)]
        elif value.opcode in CHEAP or value in invariant:
            operands = value.operands
        else:
            return False
        if shapes[value] is VARYING or not all(each is not None and is_added(each) for each in operands):
            return False
        found[value] = None
        return True

    return [*found] if is_added(pointer) and len(found) <= _MOST else None


def _initial(phi: Instruction, shapes: Shapes) -> IRValue | None:
    """The value of a loop's phi in the first iteration; None of another phi."""
    assert phi.block is not None
    loop = shapes.loop_of(phi.block)
    if loop is None or loop.header is not phi.block:
        return None
    entering = loop.entering
    return phi.incoming_from(entering[0]) if len(entering) == 1 else None
