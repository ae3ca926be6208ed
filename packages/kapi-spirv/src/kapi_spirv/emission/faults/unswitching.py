"""Wrong numbers of Intel's OpenCL CPU compiler, avoided: conditions in loops, and ways that work-items part."""

from __future__ import annotations

import re

from ..ir.differences import different_values
from ..ir.functions import (
    INCOMING,
    MADE,
    MEETING,
    NAME,
    TERMINATOR,
    BlockLoop,
    Function,
    bounds,
    finished,
    targets_of,
    with_added,
)
from ..ir.unknowns import BITS, DIFFERENT, hidden, unknown

__all__ = ["keep_conditions_in_loops"]

_PHI = re.compile(r"^phi (i\d+|half|float|double) ")
_JOINED = re.compile(r"^  (?:%\"[^\"]*\"|%[-\w.$]+) = phi ([^\[]+?) (\[.*)$")
_CONDITION = re.compile(r"^  (?:(?:%\S+) = select |br )(?:[a-z]+ )*i1 (%\"[^\"]*\"|%[-\w.$]+),")
_LOGIC = re.compile(
    r"^  \S+ = (?:(?:and|or|xor)(?: disjoint)? i1 |select i1 [^,]+, i1 )([^\s,]+), (?:i1 )?([^\s,]+)(?:, !.*)?$"
)
_SWITCH = re.compile(r"^  switch (i\d+) (%\"[^\"]*\"|%[-\w.$]+), label")
_UNIFORM_CALLS = ("get_global_size", "get_local_size", "get_group_id", "get_num_groups", "get_work_dim")


def keep_conditions_in_loops(text: str) -> str:
    """LLVM IR text in which loops have no ways that the compiler of a CPU takes for all work-items.

    A condition in a loop may be the same in each turn, and differ between work-items. Intel's OpenCL CPU compiler
    (2026.2) takes it out of the loop, a loop for each outcome, and then lets all work-items of a vector go the way of
    one of them, from OpenCL C as well (`while(k < 6) {k += n; if (c) x++;}`). It is wrong where the loop has a value
    that is the same for all work-items and has no closed form, a sum of floats for one, counted loops included. The
    condition is combined with a zero that the compiler cannot know to be one, of a value that changes in the loop.

    It does the same where the author wrote the two loops, each in an arm of an `if` or in an `if` of its own: a value
    that is the same for all work-items on either way is then taken to be the same after both, and is one work-item's.
    Where ways with such loops meet, one of the values is combined with a zero that might, for all the compiler knows,
    differ between work-items. Ways without loops are right as they are, and so is what meets a value that is made of
    what differs, such as a sum of elements that each work-item reads at its own place. `test_driver_limits` records
    which drivers have the faults.
    """
    lines = text.split("\n")
    added: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        _Function(lines, first, last).keep(added)
    return with_added(lines, added)


class _Function(Function):
    """A function whose conditions are looked at."""

    def __init__(self, lines: list[str], first: int, last: int) -> None:
        super().__init__(lines, first, last)
        self._forward: dict[str, set[str]] = {block: set() for block in self.blocks}
        self._forward_before: dict[str, set[str]] = {block: set() for block in self.blocks}
        self._find_forward()

    def keep(self, added: dict[int, list[str]]) -> None:
        """Change the conditions, and note the lines to be added before others."""
        loops = [(loop.header, loop) for loop in self.loops() if loop.header is not None]
        parted = self._parted(loops)  # as the conditions are now
        for header, loop in loops:
            for block in loop.blocks - loop.inner:
                for number in self.blocks[block]:
                    for start, end, type_ in self._deciding(number):
                        if self._is_at_risk(self.lines[number][start:end], loop.blocks):
                            self._change(number, (start, end), type_, header, added)
        self._differ_where_ways_meet(parted, added)

    def _deciding(self, number: int) -> list[tuple[int, int, str]]:
        """Where in a line the names stand that decide a way or a choice, or a part of what does, with their types.

        The last one is first, so that a change leaves the places of the others.
        """
        line = self.lines[number]
        found: list[tuple[int, int, str]] = []
        switch = _SWITCH.match(line)
        if switch:
            return [(*switch.span(2), switch.group(1))]
        logic = _LOGIC.match(line)
        if logic:
            found += [(*logic.span(place), "i1") for place in (2, 1) if logic.group(place).startswith("%")]
        condition = _CONDITION.match(line)
        if condition:
            found.append((*condition.span(1), "i1"))
        return found

    def _change(
        self, number: int, place: tuple[int, int], type_: str, header: str, added: dict[int, list[str]]
    ) -> None:
        """Mix what stands in a place of a line with a value that changes in the loop, so that it is itself still."""
        for each in self.blocks[header]:
            made = MADE.match(self.lines[each])
            phi = _PHI.match(made.group(2)) if made else None
            if made and phi:
                break
        else:
            return
        name, value, bits = f"%kapi.kept.{number}.{place[0]}", made.group(1), BITS.get(phi.group(1), phi.group(1))
        line = self.lines[number]
        code = []
        if bits != phi.group(1):
            code.append(f"  {name}.bits = bitcast {phi.group(1)} {value} to {bits}")
            value = f"{name}.bits"
        code.append(f"  {name}.none = and {bits} {value}, {unknown(bits)}")
        code.append(f"  {name}.never = icmp ne {bits} {name}.none, 0")
        never = f"{name}.never"
        if type_ != "i1":
            code.append(f"  {name}.wide = sext i1 {never} to {type_}")
            never = f"{name}.wide"
        code.append(f"  {name} = xor {type_} {line[slice(*place)]}, {never}")
        added.setdefault(number, []).extend(code)
        self.lines[number] = line[: place[0]] + name + line[place[1] :]

    # -- loops

    def _find_forward(self) -> None:
        """Leave out the edges by which a block is come to again."""
        order = finished([next(iter(self.blocks))], self.next, set(self.blocks))
        place = {block: number for number, block in enumerate(order)}  # a block after those that it leads to
        for block, targets in self.next.items():
            for target in targets:
                if block in place and place[target] < place[block]:
                    self._forward[block].add(target)
                    self._forward_before[target].add(block)

    # -- ways

    def _parted(self, loops: list[tuple[str, BlockLoop]]) -> list[tuple[str, set[str]]]:
        """Header and blocks of loops to which work-items come apart: some may come to one, and others to another."""
        found = [(header, loop.blocks) for header, loop in loops if not self._meets(loop.blocks)]
        ways = [self._ways(header) for header, _blocks in found]
        return found if any(each != ways[0] for each in ways) else []

    def _meets(self, loop: set[str]) -> bool:
        """Whether work-items meet in a loop, which therefore all of them come to."""
        return any(MEETING.search(self.lines[number]) for block in loop for number in self.blocks[block])

    def _differ_where_ways_meet(self, loops: list[tuple[str, set[str]]], added: dict[int, list[str]]) -> None:
        """Let one of the values that meet behind loops be, for all that a compiler knows, of each work-item's own."""
        leading = self._leading() if loops else {}
        different = different_values(self) if loops else set()
        for block, numbers in self.blocks.items():
            if not loops or len(self._forward_before[block]) < 2:
                continue
            between = self._between(block, leading)
            if not any(header in between and block not in loop for header, loop in loops):
                continue
            for number in numbers:
                phi = _JOINED.match(self.lines[number])
                if phi is None:
                    break
                met = list(INCOMING.finditer(phi.group(2)))
                incoming = [each for each in met if self._is_only(each.group(2), block)]
                if not incoming or any(each.group(1) in different for each in met):
                    continue
                # A constant rather than a value, which may be known to differ already.
                chosen = min(incoming, key=lambda each: each.group(1).startswith("%"))
                value, before = chosen.groups()
                name = f"%kapi.kept.{number}.met"
                code = hidden(name, phi.group(1), value, DIFFERENT)
                if code:
                    added.setdefault(self._terminator(before), []).extend(code)
                    line, start = self.lines[number], phi.start(2)
                    self.lines[number] = line[: start + chosen.start(1)] + name + line[start + chosen.end(1) :]

    def _leading(self) -> dict[str, set[str]]:
        """The blocks that every way to a block goes through, itself among them."""
        leading: dict[str, set[str]] = {}
        for block in reversed(finished([next(iter(self.blocks))], self._forward, set(self.blocks))):
            through = [leading[each] for each in self._forward_before[block] if each in leading]
            leading[block] = {block, *set.intersection(*through)} if through else {block}
        return leading

    def _between(self, block: str, leading: dict[str, set[str]]) -> set[str]:
        """The blocks on the ways that meet in a block, from that on in which they part."""
        fork = max(leading.get(block, {block}) - {block}, key=lambda each: len(leading[each]), default=block)
        leaving = set(finished([fork], self._forward, set(self.blocks)))
        return set(finished([block], self._forward_before, leaving))

    def _is_only(self, before: str, block: str) -> bool:
        """Whether a block leads to another forwards, by one edge: by two, a phi must have one value for both."""
        edges = [each for number in self.blocks.get(before, ()) for each in targets_of(self.lines[number])]
        return before in self._forward_before[block] and edges.count(block) == 1

    def _terminator(self, block: str) -> int:
        return next(each for each in self.blocks[block] if TERMINATOR.match(self.lines[each]))

    def _ways(self, header: str) -> set[tuple[str, str]]:
        """The branches on what may differ between work-items that lead to a block on one of their sides alone."""
        leading = set(finished([header], self._forward_before, set(self.blocks)))
        ways = set()
        for block in leading - {header}:
            targets = self._forward[block]
            taken = targets & leading
            if taken != targets:
                condition = _CONDITION.match(self.lines[self.blocks[block][-1]])
                if condition is None or not self._is_uniform(condition.group(1), 12):
                    ways |= {(block, each) for each in taken}
        return ways

    # -- conditions

    def _is_at_risk(self, name: str, loop: set[str]) -> bool:
        """Whether a condition is the same in each turn, and may differ between work-items."""
        return self._is_fixed(name, loop, 12) and not self._is_uniform(name, 12)

    def _is_fixed(self, name: str, loop: set[str], depth: int) -> bool:
        block, made = self.made.get(name, ("", ""))
        if block not in loop:
            return True
        if depth == 0 or made.startswith("phi ") or " call " in f" {made}":
            return False
        return all(self._is_fixed(each, loop, depth - 1) for each in NAME.findall(made))

    def _is_uniform(self, name: str, depth: int) -> bool:
        block, made = self.made.get(name, ("", ""))
        if not block:
            return True
        if depth == 0 or made.startswith("phi "):
            return False
        if " call " in f" {made}" and not any(each in made for each in _UNIFORM_CALLS):
            return False
        return all(self._is_uniform(each, depth - 1) for each in NAME.findall(made))
