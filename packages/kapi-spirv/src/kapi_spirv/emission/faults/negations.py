"""A wrong result of Intel's OpenCL CPU compiler, avoided: negated floats that live across a barrier."""

from __future__ import annotations

import re

from ..ir.functions import WORK_GROUP_MEETING
from ..ir.unknowns import BITS, unknown

__all__ = ["hide_negations"]

_NEGATION = re.compile(r"^  (%\S+) = fneg (?:[a-z]+ )*(half|float|double) (%[^\s,]+)")


def hide_negations(text: str) -> str:
    """LLVM IR text in which no kernel whose work-groups meet negates a float.

    `x = -a[i]`, then a barrier, then `b[i] = x`: Intel's OpenCL CPU compiler (2026.2) gives some work-items the `x` of
    others, from OpenCL C as well. The sign is turned as a bit instead, by a mask that the compiler cannot know to be
    one. Remove this when `test_driver_limits` says that the driver is mended.
    """
    if not WORK_GROUP_MEETING.search(text):
        return text
    lines: list[str] = []
    count = 0
    for line in text.split("\n"):
        found = _NEGATION.match(line)
        if found is None:
            lines.append(line)
            continue
        lines += _turned(f"%kapi.negation.{count}", *found.groups())
        count += 1
    return "\n".join(lines)


def _turned(name: str, result: str, type_: str, value: str) -> list[str]:
    """Code that gives `value` with its sign turned the name `result`; `name` begins the names between."""
    bits = BITS[type_]
    return [
        f"  {name}.mask = xor {bits} {unknown(bits)}, {-(2 ** (int(bits[1:]) - 1))}",
        f"  {name}.bits = bitcast {type_} {value} to {bits}",
        f"  {name}.turned = xor {bits} {name}.bits, {name}.mask",
        f"  {result} = bitcast {bits} {name}.turned to {type_}",
    ]
