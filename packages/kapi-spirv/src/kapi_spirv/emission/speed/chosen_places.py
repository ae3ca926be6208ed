"""Places in arrays that a loop chooses, as a binary search does: 32 bits hold them where they hold all extents."""

from __future__ import annotations

import re

from ..ir.functions import INCOMING, Function, bounds, derived
from ..ir.packed import PACKED, SIZES, Array, array_of, arrays_of, field_of

__all__ = ["narrow_places"]

_MOST = 2**31 - 1
_PHI = re.compile(r"^phi i64 (\[.*\])$")
_SELECT = re.compile(r"^select i1 ([^,]+), i64 ([^,]+), i64 ([^,]+)$")
_ADD = re.compile(r"^add (?:(?:nuw|nsw) )*i64 ([^,]+), ([^,]+)$")
_HALF = re.compile(r"^[al]shr (?:exact )?i64 ([^,]+), 1$")
_FIELD = re.compile(r"^load i64, ptr (%\"[^\"]*\"|%[-\w.$]+), align 8")
_ACCESS = re.compile(r"^  (?:\S+ = load \S+|store .*), ptr addrspace\(1\) (%\"[^\"]*\"|%[-\w.$]+), align")
_PLACE = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*(\w+), ptr addrspace\(1\) [^,]+, i64 ([^,]+)$")
_COMPARED = re.compile(r"^(  \S+ = icmp (?:samesign )?\w+) i64 ([^,]+), ([^,]+)$")


def narrow_places(text: str) -> str:
    """LLVM IR text in which loops that choose places in arrays do so in 32 bits; for launches with small extents alone.

    A work-item reads and writes elements that exist, so the place of one is less than the array's extent. Therefore a
    binary search, which reads at half the sum of its bounds, has numbers of 31 bits and sums of 32. Vectors of such
    numbers are half as wide as those of 64 bits, and so are reads at them. Only what a loop chooses is changed: a
    counter that all work-items have alike is no vector.
    """
    lines = text.split("\n")
    arrays = arrays_of(lines)
    changed: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        if PACKED in lines[first]:
            _Places(Function(lines, first, last), arrays).narrow(changed)
    return "\n".join(each for number, line in enumerate(lines) for each in changed.get(number, [line]))


class _Places:
    """The integers of a function that are never negative and that 31 bits hold."""

    def __init__(self, function: Function, arrays: dict[int, Array]) -> None:
        self._function = function
        self._extents = {place for array in arrays.values() for place in array.extents}
        self._accessed = self._find_accessed(arrays)
        self._small = {name: parts for name in function.made if (parts := self._parts(name)) is not None}
        while True:  # what is not small makes what is made of it so, too
            large = {name for name, parts in self._small.items() if not all(map(self._is_small, parts))}
            if not large:
                break
            self._small = {name: parts for name, parts in self._small.items() if name not in large}

    def narrow(self, changed: dict[int, list[str]]) -> None:
        """Note the lines that take the place of others."""
        chosen = [name for name in self._small if self._is_chosen(name)]
        narrow = self._made_of(chosen)
        for numbers in self._function.blocks.values() if narrow else ():
            widened: list[str] = []  # behind all phis of the block
            for number in numbers:
                line = self._function.lines[number]
                name, is_phi = line.split(" = ", 1)[0].strip(), " = phi " in line
                code = [line]
                if name in narrow:
                    code = self._code(name, line)
                    wide = f"  {name} = sext i32 {_narrow(name)} to i64"
                    if self._small[name]:
                        (widened if is_phi else code).append(wide)
                else:
                    compared = _COMPARED.match(line)
                    sides = compared.groups()[1:] if compared else ()
                    if (
                        compared
                        and narrow.intersection(sides)
                        and all(each.isdigit() or each in narrow for each in sides)
                    ):
                        code = [f"{compared[1]} i32 {_narrow(compared[2])}, {_narrow(compared[3])}"]
                if widened and not is_phi:
                    code, widened = widened + code, []
                if code != [line]:
                    changed[number] = code

    def _made_of(self, names: list[str]) -> set[str]:
        """These integers, and the small ones that they are made of."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += [each for each in self._small[name] if each in self._small]
        return found

    def _find_accessed(self, arrays: dict[int, Array]) -> set[tuple[str, str]]:
        """The places at which a block reads or writes arrays of one axis, with the block."""
        found = set()
        for block, numbers in self._function.blocks.items():
            for number in numbers:
                access = _ACCESS.match(self._function.lines[number])
                place = _PLACE.match(self._made(access[1])) if access else None
                array = array_of(self._function, access[1]) if access and place else None
                if place and array and len(array[1]) == 2:
                    known = arrays.get(array[0])
                    if known and len(known.extents) == 1 and known.size == SIZES.get(place[1]):
                        found.add((place[2], block))
        return found

    def _made(self, name: str) -> str:
        return self._function.made.get(name, ("", ""))[1]

    def _parts(self, name: str) -> list[str] | None:
        """What an integer is small by, if these are: None if it may be large, whatever they are."""
        block, made = self._function.made[name]
        phi, select, half = _PHI.match(made), _SELECT.match(made), _HALF.match(made)
        if phi:
            return [value for value, _ in INCOMING.findall(phi[1])]
        if select:
            return [select[2], select[3]]
        if half:
            both = _ADD.match(self._made(half[1]))
            return [both[1], both[2]] if both else None
        following, field = _ADD.match(made), _FIELD.match(made)
        if following and following[2] == "1" and (following[1], block) in self._accessed:
            return [following[1]]
        if field and field_of(self._function, field[1]) in self._extents:
            return []
        return None

    def _is_small(self, value: str) -> bool:
        return value in self._small or (value.isdigit() and int(value) <= _MOST)

    def _is_chosen(self, name: str) -> bool:
        """Whether a variable is, in the next turn, what a choice between it and others gave."""
        if not _PHI.match(self._made(name)):
            return False
        choices = [
            each for each in self._small[name] if _SELECT.match(self._made(each)) or _PHI.match(self._made(each))
        ]
        return any(name in self._made_of([each]) for each in choices)

    def _code(self, name: str, line: str) -> list[str]:
        """Code of 32 bits for one of the integers."""
        made, small = self._made(name), _narrow(name)
        parts = [_narrow(each) for each in self._small[name]]
        if not parts:
            return [line, f"  {small} = trunc i64 {name} to i32"]
        phi, select = _PHI.match(made), _SELECT.match(made)
        if phi:
            ways = [before for _, before in INCOMING.findall(phi[1])]
            incoming = ", ".join(f"[ {part}, {way} ]" for part, way in zip(parts, ways, strict=True))
            return [f"  {small} = phi i32 {incoming}"]
        if select:
            return [f"  {small} = select i1 {select[1]}, i32 {parts[0]}, i32 {parts[1]}"]
        if len(parts) == 1:
            return [f"  {small} = add i32 {parts[0]}, 1"]
        total = _narrow(small)
        return [f"  {total} = add i32 {parts[0]}, {parts[1]}", f"  {small} = lshr i32 {total}, 1"]


def _narrow(value: str) -> str:
    """The name of an integer of 32 bits beside that of 64; a number is itself."""
    return derived(value, "place") if value.startswith("%") else value
