"""Sizes of types in memory, and the steps of indices, as 64-bit data layouts have them."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    FloatType,
    Instruction,
    IntType,
    IRArrayType,
    IRType,
    PointerType,
    StructType,
    VectorType,
)

__all__ = ["alignment_of", "element_steps", "private_step", "size_of"]


def size_of(type_: IRType) -> int:
    """Bytes from one element to the next in an array of the type.

    Raises `ValueError` if it is not known.
    """
    if isinstance(type_, (IntType, FloatType)):
        size = (type_.bits + 7) // 8
        return 1 << (size - 1).bit_length()
    if isinstance(type_, PointerType):
        return 8
    if isinstance(type_, (IRArrayType, VectorType)):
        return type_.count * size_of(type_.element)
    if isinstance(type_, StructType):
        return _offsets(type_)[-1]
    raise ValueError(f"the size of {type_} is not known")


def alignment_of(type_: IRType) -> int:
    """Bytes that the type is aligned to."""
    if isinstance(type_, IRArrayType):
        return alignment_of(type_.element)
    if isinstance(type_, StructType):
        return 1 if type_.text.startswith("<") else max(map(alignment_of, type_.elements), default=1)
    return size_of(type_)


def _offsets(type_: StructType) -> list[int]:
    """The offset of each member, and the size of the structure."""
    packed = type_.text.startswith("<")
    offsets, at = [], 0
    for each in type_.elements:
        step = 1 if packed else alignment_of(each)
        at = -(-at // step) * step
        offsets.append(at)
        at += size_of(each)
    step = alignment_of(type_)
    return [*offsets, -(-at // step) * step]


def element_steps(each: Instruction) -> list[int] | None:
    """Bytes by which each index of a `getelementptr` moves; of a structure's member, 0. None if that is not known."""
    type_ = each.form.element
    if type_ is None:
        return None
    steps = []
    try:
        for number, index in enumerate(each.operands[1:]):
            if number == 0:
                steps.append(size_of(type_))
            elif isinstance(type_, StructType):
                if index.integer is None:
                    return None
                steps.append(0)
                type_ = type_.elements[index.integer]
            elif isinstance(type_, IRArrayType):
                type_ = type_.element
                steps.append(size_of(type_))
            else:
                return None
    except ValueError:
        return None
    return steps


def private_step(each: Instruction) -> int | None:
    """Bytes of the memory that an `alloca` gives each lane; None if they are not known."""
    count = each.operands[0].integer if each.operands else 1
    if each.form.element is None or count is None:
        return None
    try:
        return count * size_of(each.form.element)
    except ValueError:
        return None
