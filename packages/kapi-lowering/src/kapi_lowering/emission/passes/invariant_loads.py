"""Elements that a loop reads in some of its iterations, and that are the same in each: read once, before the loop."""

from __future__ import annotations

from collections.abc import Iterator

from ..llvm_ir import (
    I64,
    Block,
    Builder,
    ControlFlow,
    Function,
    Instruction,
    IRType,
    IRValue,
    Module,
    NaturalLoop,
    PointerType,
    constant,
    defined,
    is_pure,
)
from ..pipeline import module_pass
from .packed_arrays import SIZES, Array, array_of, arrays_of, is_kernel

__all__ = ["hoist_invariant_loads"]

_OF_ARRAYS = (1, 4)  # global memory, and what may be any


@module_pass
def hoist_invariant_loads(module: Module, are_noalias: bool) -> None:
    """Read what stays the same before the loop, if a comparison with the array's size says that it exists.

    LLVM moves such a read only where it knows that the element exists: the branch that leads to it may be the very
    question whether it does. An element whose index is less than the array's size exists, whatever the branches: so the
    read goes before the loop, behind that question. Work-items that read in vectors gather once, not in each iteration.

    - `module`: optimised IR with the nodes ``!kapi.arrays`` of `kapi_lowering`.
    - `are_noalias`: whether arrays that are only read share no memory with those that are written.
    """
    sizes = {offset: each for offset, each in arrays_of(module).items() if each.extents}
    for function in filter(is_kernel, module.definitions) if sizes else ():
        while True:
            found = next(_candidates(function, sizes, are_noalias), None)
            if found is None:
                break
            _hoist(*found)


def _candidates(
    function: Function, sizes: dict[int, Array], are_noalias: bool
) -> Iterator[tuple[NaturalLoop, Block, Array, list[Instruction]]]:
    """Yield loads that can be hoisted: the loop, the block before it, the array, and the loads."""
    for loop in ControlFlow(function).loops:  # what is read before an outer one need not be before inner ones
        before = loop.preheader
        if before is None or before is function.entry:
            continue
        is_written = _writes(loop)
        if is_written is None:
            continue
        # Loads of one block are done together, or not at all: where one of them is done, all their elements exist.
        loads: dict[tuple[int, Block], list[Instruction]] = {}
        for each in loop.instructions():
            if each.opcode != "load" or not each.form.is_plain or not loop.is_invariant(each.operands[0]):
                continue
            if str(each.type) not in SIZES:
                continue
            found = array_of(each.operands[0])
            if (
                found is None
                or found[0] not in sizes
                or (is_written and not (are_noalias and not sizes[found[0]].is_written))
            ):
                continue
            if _offsets(found[1]) is not None:
                assert each.block is not None
                loads.setdefault((found[0], each.block), []).append(each)
        for (offset, _), together in loads.items():
            yield loop, before, sizes[offset], together


def _writes(loop: NaturalLoop) -> bool | None:
    """Whether a loop writes arrays; None if it may write anything, or wait for others."""
    is_written = False
    for each in loop.instructions():
        if each.opcode == "call":
            assert each.block is not None
            module = each.block.function.module
            callee = module.functions.get(each.callee)
            if callee is None or "memory(none)" not in callee.attributes:
                return None
        elif each.opcode == "store":
            is_written |= _is_of_arrays(each)
        elif not is_pure(each) and not each.is_terminator and not (each.opcode == "load" and each.form.is_plain):
            return None
    return is_written


def _is_of_arrays(store: Instruction) -> bool:
    pointer = store.operands[1]
    assert isinstance(pointer.type, PointerType)
    if pointer.type.space:
        return pointer.type.space in _OF_ARRAYS
    while (step := defined(pointer, "getelementptr")) is not None:
        pointer = step.operands[0]
    return defined(pointer, "alloca") is None  # targets with one memory have arrays there as well


def _offsets(pointers: list[Instruction]) -> list[tuple[IRValue, int]] | None:
    """Return the offset of a pointer in its array: values, each with the bytes that it counts."""
    found = []
    for step in pointers[:-1]:
        is_plain = len(step.operands) == 2 and step.operands[1].type is I64 and str(step.form.element) in SIZES
        if not is_plain:
            return None
        found.append((step.operands[1], SIZES[str(step.form.element)]))
    return found


def _hoist(loop: NaturalLoop, before: Block, array: Array, loads: list[Instruction]) -> None:
    """Read before the loop, in a block of its own, where the elements exist."""
    header, function = loop.header, before.function
    assert header is not None
    packed = function.parameter("packed")
    assert packed is not None
    builder = Builder.before(before.terminator)
    size: IRValue = builder.emit("add i64 0, ?", array.size)
    for extent in array.extents:
        at = builder.emit(f"getelementptr inbounds nuw i8, ptr ?, i64 {extent}", packed)
        size = builder.emit("mul i64 ?, ?", size, builder.emit("load i64, ptr ?, align 8", at))
    elements: dict[tuple[IRType, IRValue], Instruction] = {}
    for each in loads:
        elements.setdefault((each.type, each.operands[0]), each)
    exists: IRValue | None = None
    for _, pointer in elements:
        found = array_of(pointer)
        assert found is not None
        offset: IRValue = constant(I64, 0)
        for value, width in _offsets(found[1]) or []:
            offset = builder.emit("add i64 ?, ?", offset, builder.emit(f"mul i64 ?, {width}", value))
        # An array's element begins at a multiple of its size; a part of one is read with it.
        is_inside = builder.emit("icmp ult i64 ?, ?", offset, size)
        exists = builder.emit("and i1 ?, ?", is_inside, exists) if exists else is_inside
    assert exists is not None
    reading = function.add_block("kapi.hoisted.read", before=header)
    after = function.add_block("kapi.hoisted.end", before=header)
    before.terminator.rewrite("br i1 ?, label ?, label ?", exists, reading, after)
    reads, phis = Builder(reading), Builder(after)
    for (type_, pointer), first in elements.items():
        read = reads.emit(
            f"load {type_}, {pointer.type} ?, align {first.form.alignment}", pointer, name="kapi.hoisted.value"
        )
        zero = constant(type_, 0.0) if str(type_) in ("half", "float", "double") else constant(type_, 0)
        phi = phis.phi(type_, [(read, reading), (zero, before)], name="kapi.hoisted")
        for load in loads:
            if load.type is type_ and load.operands[0] is pointer:
                load.replace_all_uses_with(phi)
    reads.emit("br label ?", after)
    phis.emit("br label ?", header)
    for phi in header.phis:
        phi.replace_operand(before, after)
    for load in loads:
        load.erase()
