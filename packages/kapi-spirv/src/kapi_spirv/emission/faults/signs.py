"""A wrong sign of Intel's OpenCL CPU compiler, avoided: that of the negative of an integer type's least number."""

from __future__ import annotations

import re

from ..ir.functions import NAME, Function, bounds
from ..ir.unknowns import unknown

__all__ = ["hide_zeros_of_negatives"]

_NEGATIVE = re.compile(r"^sub (?:nuw )?(?:nsw )?(i8|i16|i32|i64) 0, (\S+)$")
_ASKED = re.compile(
    r"^(?:ashr (?:exact )?|icmp (?:samesign )?s(?:gt|ge|lt|le) |.*@llvm\.scmp\.[\w.]+\()i(?:8|16|32|64) (\S+), "
    r"(?:i\d+ )?([^\s)]+)"
)


def hide_zeros_of_negatives(text: str) -> str:
    """LLVM IR text in which no negative is seen to be one, if its sign is asked for.

    ``(0 - x) >> 31`` is 0 or -1 by ``x > 0`` to Intel's OpenCL CPU compiler (2026.2), from OpenCL C as well. That is
    wrong for the least number, whose negative is itself. Choices between 0 and -1 by ``0 - x < 0`` become such shifts.
    The zero is one that the compiler cannot know. Remove this when `test_driver_limits` says that the driver is mended.
    """
    lines = text.split("\n")
    for first, last in bounds(lines):
        _hide(Function(lines, first, last))
    return "\n".join(lines)


def _hide(function: Function) -> None:
    """Change a function's negatives."""
    found = (_ASKED.match(made) for _, made in function.made.values())
    asked = {name for each in found if each for name in each.groups() if NAME.fullmatch(name)}
    for numbers in function.blocks.values():
        for number in numbers:
            name, _, made = function.lines[number].strip().partition(" = ")
            negative = _NEGATIVE.match(made)
            if negative and name in asked:
                function.lines[number] = f"  {name} = sub {negative[1]} {unknown(negative[1])}, {negative[2]}"
