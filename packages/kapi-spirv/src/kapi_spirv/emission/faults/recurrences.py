"""A crash of Intel's OpenCL CPU compiler, avoided: loop variables that take each other's values."""

from __future__ import annotations

import re

from ..ir.functions import INCOMING, TERMINATOR, Function, bounds, with_added
from ..ir.unknowns import hidden

__all__ = ["break_recurrences"]

_PHI = re.compile(r"^phi (i8|i16|i32|i64|half|float|double) (\[.*\])")


def break_recurrences(text: str) -> str:
    """LLVM IR text in which no loop variable takes the value that another one had an iteration before.

    Intel's OpenCL CPU compiler (2026.2) crashes when it vectorises some loops of this kind across work-items, of
    which `a, b = b, a + b` is the shortest; it does so from OpenCL C as well. A zero that it cannot know to be one is
    mixed into the value, and keeps it from seeing the pattern. Remove this when `test_driver_limits` says that the
    driver is mended.
    """
    lines = text.split("\n")
    added: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        _break(Function(lines, first, last), added)
    return with_added(lines, added)


def _break(function: Function, added: dict[int, list[str]]) -> None:
    lines = function.lines
    for name, (block, made) in function.made.items():
        phi = _PHI.match(made)
        if phi is None:
            continue
        for value, before in dict.fromkeys(INCOMING.findall(phi.group(2))):
            if value == name or not _is_phi_of(function, value, block):
                continue
            number = next(each for each in function.blocks[block] if lines[each].startswith(f"  {name} = "))
            end = next(each for each in function.blocks[before] if TERMINATOR.match(lines[each]))
            copy = f"%kapi.copy.{number}.{end}"
            added.setdefault(end, []).extend(hidden(copy, phi.group(1), value))
            lines[number] = lines[number].replace(f"[ {value}, {before} ]", f"[ {copy}, {before} ]")


def _is_phi_of(function: Function, value: str, block: str) -> bool:
    place, made = function.made.get(value, ("", ""))
    return place == block and made.startswith("phi ")
