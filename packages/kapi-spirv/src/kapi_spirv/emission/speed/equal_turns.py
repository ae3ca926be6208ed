"""Loops that work-items share in steps of their number: first the turns that all of them have, then what is left."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..ir.functions import INCOMING, MADE, MEETING, NAME, BlockLoop, Function, bounds
from ..ir.packed import PACKED

__all__ = ["turn_equally"]

_MOST_LINES = 100
"""A loop of more has so much to do in a turn that masks cost little."""
_ID = re.compile(r"^(?:tail )?call [^@]*@_Z\d+get_(global|local)_idj\(i32 ([012])\)")
_SIZE = re.compile(r"^(?:tail )?call [^@]*@_Z\d+get_(global|local)_sizej\(i32 ([012])\)")
_SHARED = re.compile(
    r"^(?:(?:tail )?call [^@]*@_Z\d+get_(?:global_size|local_size|group_id|num_groups)j\("
    r"|(?:add|sub|mul|shl|[al]shr|[us]div|[us]rem|and|or|xor|[sz]ext|trunc|select|icmp) )"
)
_FIELD = re.compile(r"^load i\d+, ptr (%\"[^\"]*\"|%[-\w.$]+), align")
_PLACE = re.compile(r"^getelementptr [^,]+, ptr %packed, ")
_SUM = re.compile(r"^add (?:(?:nuw|nsw) )*i64 ([^\s,]+), ([^\s,]+)$")
_REST = re.compile(r"^sub (?:(?:nuw|nsw) )*i64 ([^\s,]+), ([^\s,]+)$")
_IS_LEFT = re.compile(r"^icmp ugt i64 ([^\s,]+), ([^\s,]+)$")
_BEGINS = re.compile(r"^icmp (?:slt|samesign ult) i64 ([^\s,]+), ([^\s,]+)$")
_BRANCH = re.compile(r"^  br i1 ([^\s,]+), label (%\"[^\"]*\"|%[-\w.$]+), label (%\"[^\"]*\"|%[-\w.$]+)(?:, !.*)?$")
_PHI = re.compile(r"^  (?:%\"[^\"]*\"|%[-\w.$]+) = phi ([^\[]+?) (\[ .*)$")
_CALLED = re.compile(r" call [^@]*@(\"[^\"]*\"|[-\w.$]+)\(")
_GOES = re.compile(r"^  br label ")
_HARMLESS = re.compile(
    r"^(?:add|sub|mul|shl|[al]shr|and|or|xor|[sz]ext|trunc|select|icmp|fcmp|fadd|fsub|fmul|fneg|bitcast|getelementptr) "
    r"|^(?:tail )?call [^@]*@(?:llvm\.[us](?:min|max)\.|_Z\d+get_)"
)
"""What may be done where it was not asked for, but for reads of the packed argument."""


def turn_equally(text: str) -> str:
    """LLVM IR text in which loops that work-items share come after loops of the turns that all of them have.

    In ``for i in range(first + lane, end, width)`` work-items leave at different turns, so Intel's compiler for CPUs
    reads by masks in all turns. Where the width or more is left, each work-item has a turn. So there is a loop, without
    masks, that goes on while the width is left, which is the same for all work-items. What is left then is done by the
    loop as it was: it has one turn for some work-items, and none for the others.

    Only loops are changed in which the step is the number of ids, by the two queries; that go on as `range` does; and
    in which work-items do not meet.
    """
    if "_sizej(" not in text:
        return text
    lines = text.split("\n")
    own = {found[1] for line in lines if line.startswith("define ") and (found := re.search(r"@([^\s(]+)\(", line))}
    changed: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        if PACKED in lines[first]:
            function = Function(lines, first, last)
            for loop in function.loops():
                shared = None if loop.inner else _shared_loop(function, loop, own)
                if shared and not shared.touched & changed.keys():
                    shared.write(changed)
    if not changed:
        return text
    return "\n".join(each for number, line in enumerate(lines) for each in changed.get(number, [line]))


def _shared_loop(function: Function, loop: BlockLoop, own: set[str]) -> _SharedLoop | None:
    """A loop as such a one, or None; `own` are the functions of the module, in which work-items may meet."""
    header, lines = loop.header, function.lines
    numbers = [number for block in loop.blocks for number in function.blocks[block]]
    if header is None or len(numbers) > _MOST_LINES:
        return None
    for number in numbers:
        called = _CALLED.search(lines[number])
        if called and (MEETING.search(lines[number]) or called[1] in own):
            return None
    before = function.before[header]
    entries, latches = before - loop.blocks, before & loop.blocks
    leaving = [block for block in loop.blocks if function.next[block] - loop.blocks]
    if len(entries) != 1 or len(latches) != 1 or leaving != list(latches):
        return None
    entry, latch = entries.pop(), latches.pop()
    guard = _guard(function, entry)
    begins = _BRANCH.match(lines[function.blocks[guard][-1]])
    goes_on = _BRANCH.match(lines[function.blocks[latch][-1]])
    first = header if guard == entry else entry
    if not begins or not goes_on or begins[2] != first or goes_on[2] != header or begins[3] != goes_on[3]:
        return None
    is_left = _IS_LEFT.match(_made(function, goes_on[1]))
    rest = _REST.match(_made(function, is_left[1])) if is_left else None
    is_begun = _BEGINS.match(_made(function, begins[1]))
    if not is_left or not rest or not is_begun:
        return None
    (end, counter), step, start = rest.groups(), is_left[2], is_begun[1]
    if is_begun[2] != end or not _counts(function, header, entry, latch, counter, start, step):
        return None
    lane = _lane(function, start, step)
    if lane is None or not _is_shared(function, end, 12):
        return None
    return _SharedLoop(function, loop, header, guard, entry, latch, begins[3], begins[1], *lane, end, step)


def _guard(function: Function, entry: str) -> str:
    """The block that decides whether a loop is entered: what leads there, or one before what may always be done."""
    numbers, before = function.blocks[entry], function.before[entry]
    if len(before) != 1 or not _GOES.match(function.lines[numbers[-1]]):
        return entry
    for number in numbers[:-1]:
        made = MADE.match(function.lines[number])
        if not made or not (_HARMLESS.match(made[2]) or _is_field(function, made[2])):
            return entry
    return next(iter(before))


def _is_field(function: Function, made: str) -> bool:
    """Whether code reads the packed argument."""
    field = _FIELD.match(made)
    return field is not None and (field[1] == "%packed" or _PLACE.match(_made(function, field[1])) is not None)


def _made(function: Function, name: str) -> str:
    return function.made.get(name, ("", ""))[1]


def _counts(function: Function, header: str, entry: str, latch: str, counter: str, start: str, step: str) -> bool:
    """Whether a value is the loop's counter, from `start` by `step`."""
    block, made = function.made.get(counter, ("", ""))
    if block != header or not made.startswith("phi i64 "):
        return False
    incoming = {before: value for value, before in INCOMING.findall(made)}
    following = _SUM.match(_made(function, incoming.get(latch, "")))
    return incoming.get(entry) == start and following is not None and {*following.groups()} == {counter, step}


def _lane(function: Function, start: str, step: str) -> tuple[str, list[str]] | None:
    """The id that a loop starts at, and what is added to it; None unless the step is the number of ids."""
    size = _SIZE.match(_made(function, step))
    parts = _parts(function, start, 6)
    lanes = [each for each in parts if _ID.match(_made(function, each))]
    own = _ID.match(_made(function, lanes[0])) if len(lanes) == 1 else None
    if not size or not own or own.groups() != size.groups():
        return None
    parts.remove(lanes[0])
    return (lanes[0], parts) if all(_is_shared(function, each, 12) for each in parts) else None


def _parts(function: Function, value: str, depth: int) -> list[str]:
    """The values of which one is the sum."""
    found = _SUM.match(_made(function, value)) if depth else None
    return [part for each in found.groups() for part in _parts(function, each, depth - 1)] if found else [value]


def _is_shared(function: Function, value: str, depth: int) -> bool:
    """Whether an integer is the same for all work-items of a group, as a compiler sees."""
    if not value.startswith("%"):
        return True
    made = _made(function, value)
    if _is_field(function, made):
        return True
    if depth == 0 or not _SHARED.match(made):
        return False
    return all(_is_shared(function, each, depth - 1) for each in NAME.findall(made))


@dataclass(frozen=True)
class _SharedLoop:
    """A loop that work-items share.

    Attributes
    ----------
    function, loop : Function, BlockLoop
        What it is.
    header, guard, entry, latch, behind : str
        The block by which it is entered, that which decides whether it is, that which leads there, that which ends a
        turn, and that which follows.
    begins : str
        Whether a work-item has a turn at all.
    lane, end, step : str
        Lanes are from 0 to `step`; each begins at the sum of itself and `others`, and goes to `end` by `step`.
    others : list of str
        What is the same for all lanes.
    """

    function: Function
    loop: BlockLoop
    header: str
    guard: str
    entry: str
    latch: str
    behind: str
    begins: str
    lane: str
    others: list[str]
    end: str
    step: str

    @property
    def touched(self) -> set[int]:
        """The numbers of the lines that are changed."""
        blocks = self.function.blocks
        ends = {blocks[self.guard][-1], blocks[self.entry][-1]}
        return ends | {*self._phis(self.header), *self._phis(self.behind)}

    def write(self, changed: dict[int, list[str]]) -> None:
        """Note the lines that take the place of others."""
        lines, blocks = self.function.lines, self.function.blocks
        stem = self._stem
        over, last = f"{stem}.over", f"{stem}.last"
        names = {each: self._copied(each) for block in self.loop.blocks for each in (block, *self._made_in(block))}
        met = [f"  {stem}.has.turn = phi i1 [ {self.begins}, {self.entry} ], [ {stem}.is.lane, {over} ]"]
        for place, (number, before) in enumerate(
            [
                *((number, self.entry) for number in self._phis(self.header)),
                *((number, self.guard) for number in self._phis(self.behind)),
            ]
        ):
            type_, incoming = self._phi(number)
            value, result = incoming[self.latch], f"{stem}.met.{place}"
            start = f"[ {incoming[before]}, {self.entry} ]"
            met.append(f"  {result} = phi {type_} {start}, [ {names.get(value, value)}, {over} ]")
            old, new = f"[ {incoming[before]}, {before} ]", f"[ {result}, {last} ]"
            changed[number] = [lines[number].replace(old, new)]
        first, sums = "0", []
        for place, other in enumerate(self.others):
            sums.append(f"  {stem}.first.{place} = add i64 {first}, {other}")
            first = f"{stem}.first.{place}"
        changed[blocks[self.guard][-1]] = [f"  br label {self.entry}"]
        changed[blocks[self.entry][-1]] = [
            *sums,
            f"  {stem}.is.any = icmp sgt i64 {self.end}, {first}",
            f"  {stem}.all = sub i64 {self.end}, {first}",
            f"  {stem}.some = select i1 {stem}.is.any, i64 {stem}.all, i64 0",
            f"  {stem}.is.whole = icmp uge i64 {stem}.some, {self.step}",
            f"  br i1 {stem}.is.whole, label {names[self.header]}, label {last}",
            *self._copy(names, over),
            "",
            f"{over[1:]}:",
            f"  {stem}.is.lane = icmp ult i64 {self.lane}, {stem}.rest",
            f"  br label {last}",
            "",
            f"{last[1:]}:",
            *met,
            f"  br i1 {stem}.has.turn, label {self.header}, label {self.behind}",
        ]

    def _copy(self, names: dict[str, str], over: str) -> list[str]:
        """The code of the turns that all lanes have."""
        lines, blocks, stem = self.function.lines, self.function.blocks, self._stem
        code: list[str] = []
        asked = self._asked_alone()
        for block, numbers in blocks.items():
            if block not in self.loop.blocks:
                continue
            code += ["", f"{names[block][1:]}:"]
            if block == self.header:
                left = f"[ {stem}.some, {self.entry} ], [ {stem}.rest, {names[self.latch]} ]"
                code.append(f"  {stem}.left = phi i64 {left}")
            for number in numbers:
                if number == blocks[self.latch][-1]:
                    code += [
                        f"  {stem}.rest = sub i64 {stem}.left, {self.step}",
                        f"  {stem}.goes.on = icmp uge i64 {stem}.rest, {self.step}",
                        f"  br i1 {stem}.goes.on, label {names[self.header]}, label {over}",
                    ]
                elif number not in asked:
                    code.append(NAME.sub(lambda each: names.get(each[0], each[0]), lines[number]))
        return code

    def _asked_alone(self) -> set[int]:
        """The numbers of the lines of which nothing is used but whether the loop goes on."""
        lines, blocks = self.function.lines, self.function.blocks
        users: dict[str, set[int]] = {}
        for number in (each for numbers in blocks.values() for each in numbers):
            for name in NAME.findall(lines[number].split(" = ", 1)[-1]):
                users.setdefault(name, set()).add(number)
        end = blocks[self.latch][-1]
        found = {end}
        for number in sorted((each for block in self.loop.blocks for each in blocks[block]), reverse=True):
            made = MADE.match(lines[number])
            if made and not made[2].startswith("phi ") and not _CALLED.search(lines[number]):
                if users.get(made[1], set()) <= found:
                    found.add(number)
        return found - {end}

    @property
    def _stem(self) -> str:
        """What the names of new values and blocks begin with."""
        return f"%kapi.turns.{self.function.blocks[self.header][0]}"

    def _copied(self, name: str) -> str:
        return f'%"{self._stem[1:]}.each.{name[2:]}' if name.endswith('"') else f"{self._stem}.each.{name[1:]}"

    def _made_in(self, block: str) -> list[str]:
        found = [MADE.match(self.function.lines[number]) for number in self.function.blocks[block]]
        return [each[1] for each in found if each]

    def _phis(self, block: str) -> list[int]:
        return [number for number in self.function.blocks[block] if _PHI.match(self.function.lines[number])]

    def _phi(self, number: int) -> tuple[str, dict[str, str]]:
        """Type, and the value from each block."""
        found = _PHI.match(self.function.lines[number])
        assert found
        return found[1], {before: value for value, before in INCOMING.findall(found[2])}
