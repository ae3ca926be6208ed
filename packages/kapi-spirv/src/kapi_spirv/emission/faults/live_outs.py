"""Wrong numbers of Intel's OpenCL CPU compiler, avoided: loops' variables that are used behind their loops."""

from __future__ import annotations

import re

from ..ir.functions import INCOMING, MADE, NAME, Function, bounds, with_added
from ..ir.unknowns import BITS, unknown

__all__ = ["copy_live_outs"]

_PHI = re.compile(r"^phi (i\d+|half|float|double|ptr(?: addrspace\(\d+\))?) (\[.*\])")


def copy_live_outs(text: str) -> str:
    """LLVM IR text in which no variable at the start of a loop's turns is used behind the loop.

    ``for (k = 0; k < n; k++) { t = w; w -= 1; }`` with a use of `t` behind it: where work-items part later, or came to
    the loop apart, Intel's OpenCL CPU compiler (2026.2) gives `t` the value of another turn, or none at all. The
    loop has a variable more, which takes the value in each turn. It is mixed with its own value of the turn before and
    a zero that the compiler cannot know, so that it can neither be folded nor be computed behind the loop.
    """
    lines = text.split("\n")
    added: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        function = Function(lines, first, last)
        for loop in function.loops():
            if loop.header is not None:
                _copy(function, loop.header, loop.blocks, added)
    return with_added(lines, added)


def _copy(function: Function, header: str, loop: set[str], added: dict[int, list[str]]) -> None:
    """Copy the variables of one loop that are used behind it."""
    lines = function.lines
    behind = [number for block, numbers in function.blocks.items() if block not in loop for number in numbers]
    used: dict[str, list[int]] = {}
    for number in behind:
        for name in set(NAME.findall(lines[number])):
            used.setdefault(name, []).append(number)
    phis, code = [], []
    starts = [number for number in function.blocks[header] if " = phi " in lines[number]]
    for number in starts:
        made = MADE.match(lines[number])
        phi = _PHI.match(made.group(2)) if made else None
        if made is None or phi is None or made.group(1) not in used:
            continue
        name, copy = made.group(1), f"%kapi.turn.{number}"
        # Other variables of the loop take the copy, too (`u, m = m, u`): the compiler crashes where they take another.
        for each in (*used[name], *(other for other in starts if other != number)):
            lines[each] = _renamed(lines[each], name, copy)
        incoming = ", ".join(
            f"[ {copy if block in loop else value}, {block} ]" for value, block in INCOMING.findall(phi.group(2))
        )
        type_ = phi.group(1)
        phis.append(f"  {copy}.before = phi {type_} {incoming}")
        code += _mixed(copy, type_, name)
    if phis:
        start = next(number for number in function.blocks[header] if " = phi " not in lines[number])
        added[start] = [*phis, *code, *added.get(start, [])]


def _renamed(line: str, name: str, other: str) -> str:
    return NAME.sub(lambda found: other if found[0] == name else found[0], line)


def _mixed(copy: str, type_: str, value: str) -> list[str]:
    """Code for a value as it is, which depends on that of the turn before for all that a compiler knows."""
    if type_.startswith("ptr"):
        return [
            f"  {copy}.number = ptrtoint {type_} {copy}.before to i64",
            f"  {copy}.none = and i64 {copy}.number, {unknown('i64')}",
            f"  {copy} = getelementptr i8, {type_} {value}, i64 {copy}.none",
        ]
    bits = BITS.get(type_, type_)
    if bits == type_:
        return [
            f"  {copy}.none = and {bits} {copy}.before, {unknown(bits)}",
            f"  {copy} = xor {bits} {value}, {copy}.none",
        ]
    return [
        f"  {copy}.bits = bitcast {type_} {value} to {bits}",
        f"  {copy}.number = bitcast {type_} {copy}.before to {bits}",
        f"  {copy}.none = and {bits} {copy}.number, {unknown(bits)}",
        f"  {copy}.same = xor {bits} {copy}.bits, {copy}.none",
        f"  {copy} = bitcast {bits} {copy}.same to {type_}",
    ]
