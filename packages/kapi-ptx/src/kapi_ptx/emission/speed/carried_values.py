"""Loops of one block that compute in a turn what the next turn computes again of the same values.

Python tests the condition of a ``while`` at the loop's end, so what condition and body have in common, such as the
squares of ``x*x + y*y <= 4``, is computed at the end of a turn and at the start of the next one. LLVM does not look for
values across turns. Here such a value is carried into the next turn; the first turn has it from before the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ir.patterns import DEFINED, NAME

__all__ = ["carry_values"]

_MOST = 8
"""Values that a loop carries: each takes a register."""

_BLOCK = re.compile(r"^(\"[^\"\n]+\"|[-\w.$]+):[^\n]*\n((?:  [^\n]*\n)+)", re.MULTILINE)
_PHI = re.compile(rf"^  ({NAME}) = phi ([^\[\n]+) \[ ([^,\n]+), ({NAME}) \], \[ ([^,\n]+), ({NAME}) \]$")
_BINARY = re.compile(
    rf"^  ({NAME}) = (fmul|fadd|fsub|mul|add|sub|and|or|xor) (float|double|half|i\d+) ([^,\n]+), ([^,\n]+)$"
)
_COMMUTATIVE = frozenset(("fmul", "fadd", "mul", "add", "and", "or", "xor"))

_Operation = tuple[str, str, str, str]


def carry_values(text: str) -> str:
    """LLVM IR text whose loops of one block carry such values."""
    functions = re.split(r"(?m)(?<=^}\n)", text)
    return "".join(_of_function(each) if "phi" in each else each for each in functions)


def _of_function(text: str) -> str:
    blocks = {f"%{found[1]}": found for found in _BLOCK.finditer(text)}
    changes: list[tuple[int, int, str]] = []
    for name, block in blocks.items():
        lines = block[2].splitlines()
        if not lines[-1].startswith("  br i1 ") or f"label {name}" not in re.findall(rf"label {NAME}", lines[-1]):
            continue
        outside, found = _carried(name, lines)
        if not found or outside not in blocks:
            continue
        before = blocks[outside]
        own = before[2].splitlines()
        at = next(place for place, line in enumerate(own) if line.startswith(("  br ", "  switch ")))
        if at != len(own) - 1:
            continue  # a switch of several lines
        own[at:at] = [first for _, _, first in found]
        changes.append((before.start(2), before.end(2), "\n".join(own) + "\n"))
        gone = {old for old, _, _ in found}
        kept = [phi for _, phi, _ in found] + [line for line in lines if line not in gone]
        changes.append((block.start(2), block.end(2), "\n".join(kept) + "\n"))
    for start, end, new in _apart(changes):
        text = text[:start] + new + text[end:]
    return text


def _apart(changes: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """The changes from the last to the first; a block that two loops would change is left to the first of them."""
    seen: set[int] = set()
    kept = []
    for one, other in zip(changes[::2], changes[1::2], strict=True):
        if not seen & {one[0], other[0]}:
            seen |= {one[0], other[0]}
            kept += [one, other]
    return iter(sorted(kept, reverse=True))


def _carried(name: str, lines: list[str]) -> tuple[str, list[tuple[str, str, str]]]:
    """The block before a loop, and for each value its line, its phi, and its line for the block before."""
    first: dict[str, str] = {}
    following: dict[str, str] = {}
    outside = ""
    for line in lines:
        found = _PHI.match(line)
        if found is None:
            if " = phi " in line:
                return "", []
            continue
        ways = {found[4]: found[3], found[6]: found[5]}
        if name not in ways or len(ways) != 2:
            return "", []
        following[found[1]] = ways.pop(name)
        ((outside, first[found[1]]),) = ways.items()
    defined = {found[1] for line in lines if (found := DEFINED.match(line))}
    made: dict[_Operation, str] = {}
    operations: list[tuple[str, str, _Operation]] = []
    for line in lines:
        if found := _BINARY.match(line):
            operation = _ordered(found[2], found[3], found[4], found[5])
            made.setdefault(operation, found[1])
            operations.append((line, found[1], operation))
    carried: list[tuple[str, str, str]] = []
    for line, value, (word, type_, left, right) in operations:
        operands = (left, right)
        if not any(each in first for each in operands) or any(
            each in defined and each not in first for each in operands
        ):
            continue
        again = made.get(_ordered(word, type_, *(following.get(each, each) for each in operands)))
        if again is None or again == value or len(carried) == _MOST:
            continue
        start = f'{value[:-1]}.first"' if value.endswith('"') else f"{value}.first"
        phi = f"  {value} = phi {type_} [ {start}, {outside} ], [ {again}, {name} ]"
        initial = ", ".join(first.get(each, each) for each in operands)
        carried.append((line, phi, f"  {start} = {word} {type_} {initial}"))
    return outside, carried


def _ordered(word: str, type_: str, left: str, right: str) -> _Operation:
    if word in _COMMUTATIVE and right < left:
        left, right = right, left
    return word, type_, left, right
