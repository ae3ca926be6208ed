"""A crash of Intel's OpenCL CPU compiler, avoided: sines and cosines of what sines and cosines gave."""

from __future__ import annotations

import re

from ..ir.functions import NAME, Function, bounds, with_added
from ..ir.unknowns import hidden

__all__ = ["part_sines_and_cosines"]

_CALL = re.compile(r"^(?:\w+ )*?call [^@]*@llvm\.(sin|cos)\.f(?:16|32|64)\((half|float|double) ([^)]+)\)")


def part_sines_and_cosines(text: str) -> str:
    """LLVM IR text in which no cosine that depends on another pair is seen to be of the same number as a sine.

    ``a = sin(x); b = cos(x); sin(a) + cos(a)`` ends Intel's OpenCL CPU compiler (2026.2), from OpenCL C as well: it
    makes one call of each sine and cosine of one number, and loses such a call that takes another's result. Pairs
    that depend on none stay one call.
    """
    lines = text.split("\n")
    added: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        _part(Function(lines, first, last), added)
    return with_added(lines, added)


def _part(function: Function, added: dict[int, list[str]]) -> None:
    """Rename the operand of each cosine whose pair depends on another pair."""
    operands: dict[str, dict[str, list[str]]] = {}
    for name, (_, made) in function.made.items():
        call = _CALL.match(made)
        if call and NAME.fullmatch(call[3]):
            operands.setdefault(call[3], {}).setdefault(call[1], []).append(name)
    pairs = {operand: uses for operand, uses in operands.items() if len(uses) == 2}
    results = {name for uses in pairs.values() for names in uses.values() for name in names}
    late = [operand for operand in pairs if _depends(function, operand, results)]
    cosines = {name for operand in late for name in pairs[operand]["cos"]}
    for numbers in function.blocks.values() if cosines else ():
        for number in numbers:
            name, _, made = function.lines[number].strip().partition(" = ")
            call = _CALL.match(made)
            if call is None or name not in cosines:
                continue
            copy = f"%kapi.cosine.{number}"
            added[number] = hidden(copy, call[2], call[3])
            function.lines[number] = function.lines[number].replace(f"({call[2]} {call[3]}", f"({call[2]} {copy}")


def _depends(function: Function, name: str, results: set[str]) -> bool:
    """Whether a value is computed from one of the results."""
    pending, seen = [name], {name}
    while pending:
        each = pending.pop()
        if each in results:
            return True
        for operand in NAME.findall(function.made.get(each, ("", ""))[1]):
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False
