"""Private arrays with lanes innermost: an element of all lanes is a vector, and an index that they share an address.

An array is laid out so if every access of it is of whole elements of one size. LLVM then keeps those in registers whose
indices are constants once loops are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kapi_cpu.emission.vectorize.type_sizes import element_steps, private_step, size_of
from kapi_lowering.emission.llvm_ir import I64, Builder, Function, Instruction, IRValue, StructType, constant

__all__ = ["accessed_bytes", "allocation_of", "interleave", "interleaved_arrays"]

_IGNORED = ("llvm.lifetime.", "llvm.memset.")


def allocation_of(pointer: IRValue) -> Instruction | None:
    """The `alloca` that a pointer is computed from by steps of indices alone."""
    while isinstance(pointer, Instruction) and pointer.opcode == "getelementptr":
        pointer = pointer.operands[0]
    return pointer if isinstance(pointer, Instruction) and pointer.opcode == "alloca" else None


def accessed_bytes(allocation: Instruction) -> int:
    """The size of the elements that all accesses of an `alloca` are of; 0 if there is none."""
    sizes: set[int] = set()
    addresses = [*_addresses(allocation)]
    for pointer in addresses:
        for user in pointer.users:
            if user.opcode == "getelementptr" and user.operands[0] is pointer and user.operands.count(pointer) == 1:
                continue
            if user.opcode in ("load", "store") and user.operands[-1] is pointer and user.form.is_plain:
                type_ = user.type if user.opcode == "load" else user.operands[0].type
                if isinstance(type_, StructType) or (user.operands[0] is pointer and user.opcode == "store"):
                    return 0
                sizes.add(size_of(type_))
            elif not user.callee.startswith(_IGNORED):
                return 0
    if len(sizes) != 1:
        return 0
    (size,) = sizes
    total = private_step(allocation)
    is_sound = total is not None and total % size == 0 and all(_moves_by(each, size) for each in addresses)
    return size if is_sound else 0


def _addresses(allocation: Instruction) -> Iterator[Instruction]:
    pending = [allocation]
    while pending:
        pointer = pending.pop()
        yield pointer
        pending += {user for user in pointer.users if user.opcode == "getelementptr" and user.operands[0] is pointer}


def _moves_by(address: Instruction, size: int) -> bool:
    """Whether an address is whole elements from where it starts."""
    if address.opcode == "alloca":
        return True
    steps = element_steps(address)
    if steps is None or "{" in str(address.form.element):
        return False
    offsets = ((index.integer or 0) * step for index, step in zip(address.operands[1:], steps, strict=True))
    return all(
        offset % size == 0 if index.integer is not None else step % size == 0
        for index, step, offset in zip(address.operands[1:], steps, offsets, strict=True)
    )


def interleaved_arrays(source: Function) -> dict[Instruction, int]:
    """The private arrays of a function that lanes can share, each with the size of its elements in bytes."""
    found = {}
    for each in source.instructions():
        if each.opcode == "alloca" and (size := accessed_bytes(each)):
            if all(not user.callee.startswith("llvm.memset.") for at in _addresses(each) for user in at.users):
                found[each] = size
    return found


def interleave(arrays: Iterable[Instruction], lanes: int) -> None:
    """Give arrays memory for all lanes, and let each index step over the elements of the others."""
    for allocation in arrays:
        for address in [*_addresses(allocation)][1:]:
            _scale(address, lanes)
        total = private_step(allocation)
        allocation.rewrite(f"alloca [{lanes} x [{total} x i8]], align 64")


def _scale(address: Instruction, lanes: int) -> None:
    steps = element_steps(address)
    assert steps is not None
    builder = Builder.before(address)
    fixed, offset = 0, None
    for index, step in zip(address.operands[1:], steps, strict=True):
        if index.integer is not None:
            fixed += index.integer * step * lanes
            continue
        wide = index if index.type is I64 else builder.emit(f"sext {index.type} ? to i64", index)
        part = builder.emit(f"mul i64 ?, {step * lanes}", wide)
        offset = part if offset is None else builder.emit("add i64 ?, ?", offset, part)
    if offset is None:
        moved: IRValue = constant(I64, fixed)
    else:
        moved = builder.emit(f"add i64 ?, {fixed}", offset) if fixed else offset
    address.rewrite("getelementptr i8, ptr ?, i64 ?", address.operands[0], moved)
