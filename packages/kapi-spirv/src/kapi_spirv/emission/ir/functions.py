"""A function in the text of LLVM IR: its blocks, what makes each value, and its loops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "INCOMING",
    "MADE",
    "MEETING",
    "NAME",
    "TERMINATOR",
    "WORK_GROUP_MEETING",
    "BlockLoop",
    "Function",
    "bounds",
    "derived",
    "finished",
    "inlined",
    "targets_of",
    "with_added",
]

NAME = re.compile(r"%\"[^\"]*\"|%[-\w.$]+")
MADE = re.compile(r"^  (%\"[^\"]*\"|%[-\w.$]+) = (.*)$")
INCOMING = re.compile(r"\[ ([^,\]]+), (%\"[^\"]*\"|%[-\w.$]+) \]")
MEETING = re.compile(r"call .*@_Z\d+(?:__spirv_\w*(?:Barrier|Group)|(?:work|sub)_group_|barrier)")
WORK_GROUP_MEETING = re.compile(r"call .*@_Z\d+(?:__spirv_(?:ControlBarrier|Group)\w*\(i32 2,|work_group_)")
TERMINATOR = re.compile(r"^  (?:br|switch|ret|unreachable)\b")
_KEPT_APART = re.compile(r"^(define .*) noinline\b", re.MULTILINE)
_LABEL = re.compile(r"^(?:([-\w.$]+)|\"([^\"]*)\"):")
_TARGET = re.compile(r"label (%\"[^\"]*\"|%[-\w.$]+)")


def bounds(lines: list[str]) -> Iterator[tuple[int, int]]:
    """The numbers of the first and the last line of each function that is defined."""
    first = None
    for number, line in enumerate(lines):
        if line.startswith("define "):
            first = number
        elif line == "}" and first is not None:
            yield first, number
            first = None


def inlined(source: str) -> str:
    """A module whose functions are all to be inlined."""
    return _KEPT_APART.sub(r"\1 alwaysinline", source)


def derived(name: str, suffix: str) -> str:
    """A name for a value that belongs to another one; a numbered value's has quotes, since it begins with a digit."""
    stem = name.strip('%"')
    return f'%"{stem}.{suffix}"' if name.endswith('"') or stem.isdigit() else f"{name}.{suffix}"


def with_added(lines: list[str], added: dict[int, list[str]]) -> str:
    """The text of lines, with others in front of those whose numbers are keys."""
    return "\n".join(each for number, line in enumerate(lines) for each in (*added.get(number, ()), line))


@dataclass(frozen=True)
class BlockLoop:
    """A loop of a function.

    Attributes
    ----------
    header : str or None
        The block by which it is entered; None if there are several.
    blocks : set of str
        All its blocks.
    inner : set of str
        Those of the loops within it.
    """

    header: str | None
    blocks: set[str]
    inner: set[str]


class Function:
    """One function of a module.

    Parameters
    ----------
    lines : list of str
        The module's.
    first, last : int
        The numbers of the lines that begin and end the function.

    Attributes
    ----------
    blocks : dict of str to list of int
        The numbers of each block's lines.
    made : dict of str to tuple of str
        The block of each value and the code that makes it.
    next, before : dict of str to set of str
        The blocks that a block leads to, and those that lead to it.
    """

    def __init__(self, lines: list[str], first: int, last: int) -> None:
        self.lines = lines
        self.blocks: dict[str, list[int]] = {}
        self.made: dict[str, tuple[str, str]] = {}
        block = ""
        for number in range(first + 1, last):
            label = _LABEL.match(lines[number])
            if label:
                block = f'%"{label.group(2)}"' if label.group(2) is not None else f"%{label.group(1)}"
                self.blocks[block] = []
            elif lines[number]:
                if not block:  # the first one, whose label LLVM leaves out if it has no name
                    block = "%"
                    self.blocks[block] = []
                self.blocks[block].append(number)
                made = MADE.match(lines[number])
                if made:
                    self.made[made.group(1)] = block, made.group(2)
        self.next = {
            each: {target for number in numbers for target in targets_of(lines[number])}
            for each, numbers in self.blocks.items()
        }
        self.before: dict[str, set[str]] = {block: set() for block in self.blocks}
        for block, targets in self.next.items():
            for target in targets:
                self.before[target].add(block)

    def cycles(self, blocks: set[str]) -> list[set[str]]:
        """The largest sets of blocks of which each leads to each other."""
        left = set(blocks)
        cycles = []
        for start in reversed(finished(sorted(blocks), self.next, set(blocks))):
            if start in left:
                cycle = set(finished([start], self.before, left))
                left -= cycle
                if len(cycle) > 1 or start in self.next[start]:
                    cycles.append(cycle)
        return cycles

    def loops(self, within: set[str] | None = None) -> list[BlockLoop]:
        """Each loop, of the whole function or of some of its blocks, an outer one before those within it."""
        found: list[BlockLoop] = []
        for blocks in self.cycles(set(self.blocks) if within is None else within):
            headers = {block for block in blocks if self.before[block] - blocks}
            if headers:  # else nothing leads there
                inner = self.loops(blocks - headers)
                header = next(iter(headers)) if len(headers) == 1 else None
                found += [BlockLoop(header, blocks, set().union(*(each.blocks for each in inner))), *inner]
        return found


def finished(starts: list[str], edges: dict[str, set[str]], within: set[str]) -> list[str]:
    """The blocks that are reached, each after those that it leads to."""
    seen: set[str] = set()
    order = []
    for start in starts:
        pending = [(start, False)]
        while pending:
            block, is_done = pending.pop()
            if is_done:
                order.append(block)
            elif block not in seen:
                seen.add(block)
                pending.append((block, True))
                pending += [(each, False) for each in sorted(edges[block]) if each in within and each not in seen]
    return order


def targets_of(line: str) -> list[str]:
    """The blocks that a line of a terminator names."""
    return _TARGET.findall(line) if line.startswith(("  br ", "  switch ", "    ", "  ]")) else []
