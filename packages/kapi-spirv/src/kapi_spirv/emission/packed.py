"""Arrays in the packed argument: which one a pointer leads into."""

from __future__ import annotations

import re

from .functions import Function

__all__ = ["PACKED", "array_of"]

PACKED = "%packed"
"""The name of the packed argument."""

_ARRAY = re.compile(r"^load ptr addrspace\(1\), ptr (%\"[^\"]*\"|%[-\w.$]+)")
_STEP = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*[^,]+, ptr addrspace\(1\) (%\"[^\"]*\"|%[-\w.$]+),")
_FIELD = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*i8, ptr %packed, i64 (\d+)$")
_MOST_STEPS = 20


def array_of(function: Function, pointer: str) -> tuple[int, list[str]] | None:
    """The place in the packed argument of the array that a pointer leads into, and the pointers on the way there.

    The way begins with the pointer itself, and ends with the array's. None if that is not seen.
    """
    way = [pointer]
    while len(way) < _MOST_STEPS:
        made = function.made.get(way[-1], ("", ""))[1]
        array = _ARRAY.match(made)
        if array:
            place = _field_of(function, array.group(1))
            return None if place is None else (place, way)
        step = _STEP.match(made)
        if step is None:
            return None
        way.append(step.group(1))
    return None


def _field_of(function: Function, pointer: str) -> int | None:
    """The place in the packed argument of a pointer into it."""
    if pointer == PACKED:
        return 0
    field = _FIELD.match(function.made.get(pointer, ("", ""))[1])
    return int(field.group(1)) if field else None
