"""Arrays in the packed argument: what is known of each, and which one a pointer leads into."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .functions import Function

__all__ = ["PACKED", "SIZES", "Array", "array_of", "arrays_of", "field_of", "without_arrays"]

PACKED = "%packed"
"""The name of the packed argument."""
SIZES = {"i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}
"""Bytes of an element, by LLVM's type."""

_NODE = re.compile(r"^!(\d+) = !\{((?:i64 \d+(?:, )?)+)\}$")
_ARRAY = re.compile(r"^load ptr addrspace\(1\), ptr (%\"[^\"]*\"|%[-\w.$]+)")
_STEP = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*[^,]+, ptr addrspace\(1\) (%\"[^\"]*\"|%[-\w.$]+),")
_FIELD = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*i8, ptr %packed, i64 (\d+)$")
_MOST_STEPS = 20
_NAME = "!kapi.arrays = "


@dataclass(frozen=True)
class Array:
    """What `kapi_lowering` notes of an array.

    Attributes
    ----------
    size : int
        Bytes of an element.
    is_written : bool
        Whether the kernel may write it.
    extents : tuple of int
        The places of its extents; none of an array with strides.
    """

    size: int
    is_written: bool
    extents: tuple[int, ...]


def arrays_of(lines: list[str]) -> dict[int, Array]:
    """The arrays of the packed argument, by the place of the pointer."""
    named = next((line for line in lines if line.startswith(_NAME)), "")
    wanted = set(re.findall(r"!(\d+)", named))
    arrays = {}
    for line in lines:
        node = _NODE.match(line)
        if node and node.group(1) in wanted:
            size, is_written, pointer, *extents = map(int, re.findall(r"i64 (\d+)", node.group(2)))
            arrays[pointer] = Array(size, bool(is_written), tuple(extents))
    return arrays


def without_arrays(lines: list[str]) -> list[str]:
    """The lines without the note of the arrays, which is for nobody else."""
    return [line for line in lines if not line.startswith(_NAME)]


def array_of(function: Function, pointer: str) -> tuple[int, list[str]] | None:
    """The place in the packed argument of the array that a pointer leads into, and the pointers on the way there.

    The way begins with the pointer itself, and ends with the array's. None if that is not seen.
    """
    way = [pointer]
    while len(way) < _MOST_STEPS:
        made = function.made.get(way[-1], ("", ""))[1]
        array = _ARRAY.match(made)
        if array:
            place = field_of(function, array.group(1))
            return None if place is None else (place, way)
        step = _STEP.match(made)
        if step is None:
            return None
        way.append(step.group(1))
    return None


def field_of(function: Function, pointer: str) -> int | None:
    """The place in the packed argument of a pointer into it."""
    if pointer == PACKED:
        return 0
    field = _FIELD.match(function.made.get(pointer, ("", ""))[1])
    return int(field.group(1)) if field else None
