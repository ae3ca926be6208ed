"""Loads before what takes long: divisions, roots, and functions of libdevice.

The assembler writes a branch for each of them, and moves no load across it. A load that comes after one in its block is
waited for by itself; before it, it is under way with the others.
"""

from __future__ import annotations

import re

from ..ir.patterns import DEFINED, FUNCTION, NAME

__all__ = ["load_early"]

_MOST = 8
"""Loads of a block that are moved: each holds a register for longer."""

_RUN = re.compile(r"(?:^  [^\n]*\n)+", re.MULTILINE)
"""Instructions in a row: those of a block, which begins at a label."""

_USED = re.compile(NAME)
_LOAD = re.compile(rf"^  {NAME} = load (?!atomic|volatile)[^\n]*\bptr addrspace\(1\) ")
_ADDRESS = re.compile(
    rf"^  {NAME} = (?:getelementptr|zext|sext|trunc|add|sub|mul|shl|or|and|call i64 asm \"mul\.wide) ?"
)
_SLOW = re.compile(rf"^  {NAME} = (?:(?:tail )?call [^\n]*@(?:llvm\.sqrt\.|__nv_)|fdiv |frem )")
_HARMLESS = re.compile(
    rf"^  {NAME} = (?:(?!(?:tail |musttail |notail )?call |atomicrmw|cmpxchg|invoke|phi |load (?:atomic|volatile))"
    r"|(?:tail )?call (?:[^\n]*@llvm\.(?:fma|fabs|minnum|maxnum)\.|i64 asm \"mul\.wide))"
)
_NOTE = re.compile(r"^  (?:tail )?call void @llvm\.experimental\.noalias")


def load_early(text: str) -> str:
    """LLVM IR text with such loads in front of what takes long."""
    return FUNCTION.sub(lambda found: _RUN.sub(_moved, found[0]), text)


def _moved(block: re.Match[str]) -> str:
    lines = block[0].splitlines()
    if not any(map(_SLOW.match, lines)):
        return block[0]
    moved = 0
    for line in [each for each in lines if _LOAD.match(each)]:
        if moved < _MOST:
            moved += _move(lines, line)
    return "\n".join(lines) + "\n"


def _move(lines: list[str], load: str) -> bool:
    """Move a load, with what computes its address; false if it stays."""
    at = lines.index(load)
    defined = {found[1]: place for place, each in enumerate(lines[:at]) if (found := DEFINED.match(each))}
    needed = {at}
    waiting = _operands(load)
    while waiting:
        place = defined.get(waiting.pop())
        if place is not None and place not in needed and _ADDRESS.match(lines[place]):
            needed.add(place)
            waiting += _operands(lines[place])
    # What it needs beside that stays in front of it.
    first = 0
    for place in needed:
        for name in _operands(lines[place]):
            used = defined.get(name)
            if used is not None and used not in needed:
                first = max(first, used + 1)
    is_constant = "!invariant.load" in load
    for place in range(first, at):
        if not _may_pass(lines[place], is_constant):
            first = place + 1
    slow = next((place for place in range(first, at) if _SLOW.match(lines[place])), None)
    if slow is None:
        return False
    chosen = [lines[place] for place in sorted(needed) if place > slow]
    for place in sorted((place for place in needed if place > slow), reverse=True):
        del lines[place]
    lines[slow:slow] = chosen
    return True


def _operands(line: str) -> list[str]:
    return _USED.findall(line.partition(" = ")[2].partition(", !")[0])


def _may_pass(line: str, is_constant: bool) -> bool:
    """Whether a load may come before an instruction that is in front of it."""
    if _SLOW.match(line) or _HARMLESS.match(line):
        return True
    return bool(_NOTE.match(line)) or (is_constant and line.startswith("  store "))
