"""Arrays in the packed argument: what is known of each, and which one a pointer leads into."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..llvm_ir import Argument, Function, Instruction, IRType, IRValue, Module, PointerType, defined

__all__ = ["ARRAYS", "SIZES", "Array", "array_of", "arrays_of", "field_of", "is_global", "is_kernel"]

ARRAYS = "!kapi.arrays"
"""The named metadata that has a node for each array."""
SIZES = {"i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
"""Bytes of an element, by LLVM's type."""

_PACKED = "packed"
_NODE = re.compile(r"!\{((?:i64 \d+(?:, )?)+)\}")
_MOST_STEPS = 20


@dataclass(frozen=True)
class Array:
    """An array of the packed argument, as `kapi_lowering` notes it.

    - `size`: bytes of an element.
    - `is_written`: whether the kernel may write it.
    - `extents`: the offsets of its extents in the packed argument; none of an array with strides.
    """

    size: int
    is_written: bool
    extents: tuple[int, ...]


def is_kernel(function: Function) -> bool:
    """Whether a function has the packed argument."""
    return function.parameter(_PACKED) is not None


def arrays_of(module: Module) -> dict[int, Array]:
    """The arrays of the packed argument, by the offset of the pointer."""
    arrays = {}
    for number in re.findall(r"!(\d+)", module.named_metadata.get(ARRAYS, "")):
        node = _NODE.fullmatch(module.metadata.get(int(number), ""))
        if node:
            size, is_written, pointer, *extents = map(int, re.findall(r"i64 (\d+)", node[1]))
            arrays[pointer] = Array(size, bool(is_written), tuple(extents))
    return arrays


def is_global(type_: IRType) -> bool:
    """Whether pointers of a type may lead into an array: those of global memory, or of targets with one memory."""
    return isinstance(type_, PointerType) and type_.space in (0, 1)


def array_of(pointer: IRValue) -> tuple[int, list[Instruction]] | None:
    """The offset in the packed argument of the array that a pointer leads into, and the pointers on the way there.

    These begin with the pointer itself, and end with the array's. None if that is not seen.
    """
    pointers: list[Instruction] = []
    each = pointer
    while len(pointers) < _MOST_STEPS:
        if load := defined(each, "load"):
            pointers.append(load)
            field = field_of(load.operands[0])
            is_array = field is not None and is_global(load.type)
            return (field, pointers) if is_array and field is not None else None
        step = defined(each, "getelementptr")
        if step is None or not is_global(step.type):
            return None
        pointers.append(step)
        each = step.operands[0]
    return None


def field_of(pointer: IRValue) -> int | None:
    """The offset in the packed argument of a pointer into it."""
    if isinstance(pointer, Argument):
        return 0 if pointer.name == _PACKED else None
    step = defined(pointer, "getelementptr")
    if step is None or field_of(step.operands[0]) != 0 or str(step.form.element) != "i8" or len(step.operands) != 2:
        return None
    return step.operands[1].integer if isinstance(step.operands[0], Argument) else None
