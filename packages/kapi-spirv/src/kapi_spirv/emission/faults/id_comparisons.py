"""Wrong work-items of Intel's OpenCL CPU compiler, avoided: comparisons of ids that it makes bounds of its loop."""

from __future__ import annotations

import re

from ..ir.functions import MADE, NAME, WORK_GROUP_MEETING, Function, bounds, with_added
from ..ir.unknowns import DIFFERENT, unknown

__all__ = ["compare_ids_rightly"]

_ID = re.compile(r"call .*@_Z\d+get_(?:global|local)_idj\(")
_COMPARED = re.compile(r"^icmp (?:samesign )?(\w+) (i8|i16|i32|i64) (\S+), (\S+)$")
_BRANCH = re.compile(r"^  br i1 (%\"[^\"]*\"|%[-\w.$]+), ")
_LOGIC = re.compile(r"^(?:and|or|xor|select|freeze)(?: disjoint)? i1 ")
_LEAVES_TRACES = re.compile(
    r"^  (?:store |(?:\S+ = )?(?:tail |musttail |notail )?call |\S+ = (?:atomicrmw|cmpxchg) |fence )"
)
_COMPUTED = re.compile(
    r"^(?:add|sub|mul|xor|or|and|shl|lshr|ashr|[us]div|[us]rem|trunc|zext|sext|select|freeze)\b|.*@llvm\.[us](?:min|max)\."
)
_FIRST_OF_RANGE = re.compile(r"^(!\d+) = !\{i\d+ (-?\d+), i\d+ -?\d+\}$")
_RANGE = re.compile(r", !range (!\d+)")
_NOT_NEGATIVE = re.compile(r"^(?:zext |lshr (?:exact )?i\d+ \S+, [1-9])")
_CLAMPED = {"slt": 0, "sge": 0, "sgt": -1, "sle": -1, "ult": 0, "uge": 0, "ugt": 0, "ule": 0}
_NEXT = {"sgt": "sge", "sle": "slt"}
_SWAPPED = {
    "slt": "sgt",
    "sgt": "slt",
    "sle": "sge",
    "sge": "sle",
    "ult": "ugt",
    "ugt": "ult",
    "ule": "uge",
    "uge": "ule",
}
_MOST = 2**62


def compare_ids_rightly(text: str) -> str:
    """LLVM IR text in which an id is compared with what cannot be negative, or in a way that the compiler cannot read.

    Intel's OpenCL CPU compiler (2026.2) makes bounds of its loop over work-items from conditions such as ``id < n``. It
    takes a negative `n` for a large one, so that all work-items are inside; ``n - id > 3`` and ``id + n < 3`` are wrong
    for others too, or end the process; and where an id of an outer dimension equals a number, it runs each of the
    work-items that are left several times. It does so from OpenCL C as well, but not behind a barrier or an algorithm
    of the work-group, where it has loops of another kind, so that conditions there are left alone. An id alone that is
    less or more is compared with a value that is clamped to those that ids have, which stays a bound. To an id in an
    expression, and to one that equals something, a zero is added that might differ between work-items. Remove this when
    `test_driver_limits` says that the driver is mended.
    """
    lines = text.split("\n")
    firsts = {found.group(1): int(found.group(2)) for found in map(_FIRST_OF_RANGE.match, lines) if found}
    added: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        _Comparisons(lines, first, last, firsts).change(added)
    changed = with_added(lines, added)
    missing = {
        each
        for each in re.findall(r"@(llvm\.[us](?:min|max)\.i64)\(", changed)
        if f"declare i64 @{each}(" not in changed
    }
    return "\n".join([changed, *(f"declare i64 @{each}(i64, i64)" for each in sorted(missing))])


class _Comparisons(Function):
    """A function whose comparisons are looked at.

    Parameters
    ----------
    lines : list of str
        The module's.
    first, last : int
        The numbers of the lines that begin and end the function.
    firsts : dict of str to int
        The least number of each range that the module names.
    """

    def __init__(self, lines: list[str], first: int, last: int, firsts: dict[str, int]) -> None:
        super().__init__(lines, first, last)
        self._firsts = firsts
        self._deciding = self._in_guards()

    def _in_guards(self) -> set[str]:
        """The values that make guards: conditions in front of all that a kernel does, whose other way does nothing.

        Behind the first barrier, or algorithm, of the work-group there are none.
        """
        found: set[str] = set()
        block, seen = next(iter(self.blocks)), set()
        while block not in seen:
            seen.add(block)
            if any(WORK_GROUP_MEETING.search(self.lines[number]) for number in self.blocks[block]):
                break
            ways = sorted(self.next[block])
            quiet = [each for each in ways if self._does_nothing(each)]
            if len(ways) == 2 and quiet:
                branch = _BRANCH.match(self.lines[self.blocks[block][-1]])
                pending = [branch.group(1)] if branch else []
                while pending:
                    each = pending.pop()
                    made = self.made.get(each, ("", ""))[1]
                    found.add(each)
                    if _LOGIC.match(made):
                        pending += NAME.findall(made)
                ways = [each for each in ways if each not in quiet]
            if len(ways) != 1:
                break
            block = ways[0]
        return found

    def _does_nothing(self, block: str) -> bool:
        """Whether a way ends without a trace."""
        pending, seen = [block], set()
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                if any(_LEAVES_TRACES.match(self.lines[number]) for number in self.blocks[each]):
                    return False
                pending += self.next[each]
        return True

    def change(self, added: dict[int, list[str]]) -> None:
        """Change the comparisons of guards, and note the lines to be added before others."""
        for numbers in self.blocks.values():
            for number in numbers:
                made = MADE.match(self.lines[number])
                compared = _COMPARED.match(made.group(2)) if made and made.group(1) in self._deciding else None
                if made is None or compared is None:
                    continue
                word, type_, *values = compared.groups()
                of_ids = [self._depends_on_ids(each) for each in values]
                if not any(of_ids):
                    continue
                place = of_ids.index(True)
                other = values[1 - place]
                is_limit = not all(of_ids) and word in _CLAMPED and self._is_id(values[place])
                if is_limit and self._is_positive(other):
                    continue
                if not is_limit:
                    name = f"%kapi.id.{number}"
                    added[number] = [f"  {name} = add {type_} {values[place]}, {unknown(type_, DIFFERENT)}"]
                    values[place] = name
                    self.lines[number] = f"  {made.group(1)} = icmp {word} {type_} {values[0]}, {values[1]}"
                else:
                    word = word if place == 0 else _SWAPPED[word]
                    limit, code = _clamped(f"%kapi.id.{number}", word, other)
                    added[number] = code
                    self.lines[number] = (
                        f"  {made.group(1)} = icmp {_NEXT.get(word, word)} i64 {values[place]}, {limit}"
                    )

    def _is_id(self, name: str) -> bool:
        """Whether a value is the id itself."""
        return _ID.match(_call(self.made.get(name, ("", ""))[1])) is not None

    def _depends_on_ids(self, name: str) -> bool:
        """Whether a value is computed from ids, without a memory in between."""
        pending, seen = [name], set()
        while pending:
            each = pending.pop()
            made = self.made.get(each, ("", ""))[1]
            if each in seen or not made:
                continue
            seen.add(each)
            if _ID.search(made):
                return True
            if _COMPUTED.match(made):
                pending += NAME.findall(made)
        return False

    def _is_positive(self, value: str) -> bool:
        """Whether a value is known not to be negative."""
        if not value.startswith("%"):
            return value.isdigit()
        made = self.made.get(value, ("", ""))[1]
        named = _RANGE.search(made)
        return bool(_NOT_NEGATIVE.match(made)) or (named is not None and self._firsts.get(named.group(1), -1) >= 0)


def _call(made: str) -> str:
    return made.removeprefix("tail ")


def _clamped(name: str, word: str, value: str) -> tuple[str, list[str]]:
    """A limit that ids are compared with in the place of a value, and the code that makes it."""
    if word.startswith("u"):
        return name, [f"  {name} = call i64 @llvm.umin.i64(i64 {value}, i64 {_MOST})"]
    least = _CLAMPED[word]
    if word not in _NEXT:
        return name, [f"  {name} = call i64 @llvm.smax.i64(i64 {value}, i64 {least})"]
    return name, [
        f"  {name}.least = call i64 @llvm.smax.i64(i64 {value}, i64 {least})",
        f"  {name}.most = call i64 @llvm.smin.i64(i64 {name}.least, i64 {_MOST})",
        f"  {name} = add i64 {name}.most, 1",
    ]
