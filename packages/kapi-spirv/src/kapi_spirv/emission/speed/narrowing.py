"""Counters of 32 bits where 64 are not needed: vectors of them are half as wide, where work-items count apart."""

from __future__ import annotations

import re

from ..ir.functions import INCOMING, NAME, Function, bounds

__all__ = ["narrow_counters"]

_MOST = 2**31 - 1
_COUNTER = re.compile(r"^  (%\S+) = phi i64 (\[.*\])$")
_EXIT = re.compile(r"^icmp (eq|ne) i64 (%\S+), (\d+)$")
_BRANCH = re.compile(r"^  br i1 (%\S+), label (%\S+), label (%\S+?)(?:,|$)")
_COMPARED = re.compile(r"^  %\S+ = icmp (?:samesign )?[a-z]+ i64 %\S+, (\d+)$")
_FLOAT = re.compile(r"^  %\S+ = [us]itofp (?:nneg )?i64 %\S+ to \w+$")
_TRUNCATED = re.compile(r"^(  %\S+ = )trunc (?:(?:nuw|nsw) )*i64 (%\S+) to i(8|16|32)$")


def narrow_counters(text: str) -> str:
    """LLVM IR text whose loops count in 32 bits, if they count from a number to a number and no address uses that.

    A kernel's integers have 64 bits, as Python's have no limit. A loop that work-items leave at different turns keeps
    its counter in a vector, which then has twice the registers that it needs.
    """
    lines = text.split("\n")
    for first, last in bounds(lines):
        function = Function(lines, first, last)
        for block, numbers in function.blocks.items():
            for number in numbers:
                counter = _COUNTER.match(lines[number])
                if counter is None:
                    continue
                changed = _narrowed(function, first, last, block, counter)
                if changed is not None:
                    for place, line in changed.items():
                        lines[place] = line
    return "\n".join(lines)


def _narrowed(function: Function, first: int, last: int, header: str, counter: re.Match[str]) -> dict[int, str] | None:
    """The lines to be exchanged so that one variable has 32 bits; None if it must keep its 64."""
    name, incoming = counter.group(1), INCOMING.findall(counter.group(2))
    starts = [value for value, _ in incoming if value.isdigit() and int(value) <= _MOST]
    steps = [(value, block) for value, block in incoming if value.startswith("%")]
    if len(starts) != 1 or len(steps) != 1:
        return None
    following, latch = steps[0]
    made = function.made.get(following, ("", ""))[1]
    if re.fullmatch(rf"add (?:(?:nuw|nsw) )*i64 {re.escape(name)}, 1", made) is None:
        return None
    if not _ends(function, header, latch, name, following, int(starts[0])):
        return None
    changed: dict[int, str] = {}
    for number in range(first + 1, last):
        line = function.lines[number]
        used = NAME.findall(line)
        if name not in used and following not in used:
            continue
        compared, truncated = _COMPARED.match(line), _TRUNCATED.match(line)
        if line == counter.group(0) or function.made[following][1] in line:
            changed[number] = line.replace(" i64 ", " i32 ", 1)
        elif (compared and int(compared.group(1)) <= _MOST) or _FLOAT.match(line):
            changed[number] = line.replace(" i64 ", " i32 ", 1)
        elif truncated:
            result, value, width = truncated.groups()
            changed[number] = (
                f"{result}add i32 {value}, 0" if width == "32" else f"{result}trunc i32 {value} to i{width}"
            )
        else:
            return None
    return changed


def _ends(function: Function, header: str, latch: str, name: str, following: str, start: int) -> bool:
    """Whether each turn of a loop, or its end, leaves it at a number that 31 bits hold, from `start` or above."""
    for block in {header, latch}:
        branch = _BRANCH.match(function.lines[function.blocks[block][-1]])
        test = _EXIT.match(function.made.get(branch.group(1), ("", ""))[1]) if branch else None
        if branch is None or test is None or not start <= int(test.group(3)) <= _MOST:
            continue
        # After the step the number is one more than the start at least.
        is_tested = test.group(2) == name or (test.group(2) == following and int(test.group(3)) > start)
        leaves = branch.group(2 if test.group(1) == "eq" else 3)
        if is_tested and not _leads_back(function, leaves, header):
            return True
    return False


def _leads_back(function: Function, block: str, header: str) -> bool:
    """Whether a block is in the loop of a header."""
    return any({block, header} <= cycle for cycle in function.cycles(set(function.blocks)))
