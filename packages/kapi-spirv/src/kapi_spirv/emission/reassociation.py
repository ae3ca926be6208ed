"""Another order of float sums in Intel's OpenCL CPU compiler, avoided: loops that it vectorises for one work-item."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .functions import INCOMING, MADE, NAME, TERMINATOR, Function, bounds

__all__ = ["keep_order_of_sums"]

_PHI = re.compile(r"^  (%\"[^\"]*\"|%[-\w.$]+) = phi (half|float|double) (\[.*)$")
_ADDITION = re.compile(r"f(?:add|sub) ")
_MULTIPLICATION = re.compile(r"fmul ")
_FREE = re.compile(r"f(?:add|sub|mul) (?:[a-z]+ )*?(?:reassoc|fast) ")
_PASSED_ON = re.compile(r"(?:phi|select) ")
_BITS = {"half": "i16", "float": "i32", "double": "i64"}
_ZERO = (
    "  %kapi.sums.size = call spir_func i64 @_Z15get_global_sizej(i32 0)",
    "  %kapi.sums.zero = ashr i64 %kapi.sums.size, 63",
)


def keep_order_of_sums(text: str) -> str:
    """LLVM IR text in which no loop's float sum or product is one that may be computed in parts.

    Intel's OpenCL CPU compiler (2026.2) runs work-items that are not part of a full vector one by one, and vectorises
    their loops instead, whatever that does to the order of sums, from OpenCL C as well. It takes for a sum only what
    leaves the loop as its last value alone. So the value before the last is combined with a zero that the compiler
    cannot know to be one, and with the last: outside of the loop, where it costs nothing. A loop whose sum leaves it
    at its head has no other value to give, and hides the sum in each turn. `test_driver_limits` records which drivers
    reorder.
    """
    lines = text.split("\n")
    added: dict[int, list[str]] = {}  # code that goes before a line
    for first, last in bounds(lines):
        _Function(lines, first, last).keep(added)
    if not added:
        return text
    result: list[str] = []
    for number, line in enumerate(lines):
        result += added.get(number, [])
        result.append(line)
    if not any(line.startswith("declare") and "@_Z15get_global_sizej(" in line for line in lines):
        result.append("declare spir_func i64 @_Z15get_global_sizej(i32) nounwind memory(none)")
    return "\n".join(result)


class _Function(Function):
    """A function whose sums are looked at."""

    def keep(self, added: dict[int, list[str]]) -> None:
        """Change what leaves the loops, and note the lines to be added before others."""
        before = len(added)
        for header, loop in self._loops(set(self.blocks)):
            for number in self.blocks[header]:
                phi = _PHI.match(self.lines[number])
                if phi is None:  # another instruction, or a phi of another type
                    continue
                name, type_, sources = phi.groups()
                for value, block in INCOMING.findall(sources):
                    if block in loop and self._is_sum(value, name):
                        self._hide(name, value, type_, number, block, loop, added)
        if len(added) > before:
            entry = next(iter(self.blocks.values()))[0]
            added[entry] = [*_ZERO, *added.get(entry, [])]

    def _loops(self, blocks: set[str]) -> Iterator[tuple[str, set[str]]]:
        """The header and the blocks of each loop, inner ones first."""
        for loop in self.cycles(blocks):
            headers = [block for block in loop if self.before[block] - loop]
            if len(headers) == 1:
                yield from self._loops(loop - set(headers))
                yield headers[0], loop

    def _is_sum(self, value: str, start: str) -> bool:
        """Whether a value is another one after additions alone, or multiplications alone, on some way to it."""
        return any(self._leads(value, start, kind, False, set()) for kind in (_ADDITION, _MULTIPLICATION))

    def _leads(self, value: str, start: str, kind: re.Pattern[str], changed: bool, seen: set[tuple[str, bool]]) -> bool:
        if value == start:
            return changed
        made = self.made.get(value, ("", ""))[1]
        is_step = bool(kind.match(made)) and not _FREE.match(made)
        if (value, changed) in seen or not (is_step or _PASSED_ON.match(made)):
            return False
        seen.add((value, changed))
        return any(self._leads(each, start, kind, changed or is_step, seen) for each in NAME.findall(made))

    def _hide(
        self, start: str, value: str, type_: str, number: int, block: str, loop: set[str], added: dict[int, list[str]]
    ) -> None:
        """Let what leaves a loop depend on more than a sum's last value, or the sum on more than the loop adds."""
        name = f"%kapi.sum.{sum(map(len, added.values()))}"
        if self._rename_outside(value, name, loop):
            added.setdefault(self._after(value), []).extend(_mixed(name, value, start, type_))
        elif self._is_used_outside(start, loop):
            end = next(each for each in self.blocks[block] if TERMINATOR.match(self.lines[each]))
            added.setdefault(end, []).extend(_mixed(name, value, "", type_))
            self.lines[number] = self.lines[number].replace(f"[ {value}, {block} ]", f"[ {name}, {block} ]")

    def _outside(self, name: str, loop: set[str]) -> Iterator[int]:
        """The lines outside of a loop that use a value."""
        for block, numbers in self.blocks.items():
            if block not in loop:
                yield from (each for each in numbers if name in NAME.findall(self.lines[each]))

    def _is_used_outside(self, name: str, loop: set[str]) -> bool:
        return next(self._outside(name, loop), None) is not None

    def _rename_outside(self, old: str, new: str, loop: set[str]) -> bool:
        """Give a value that leaves a loop another name there; returns whether it leaves it."""
        numbers = list(self._outside(old, loop))
        for each in numbers:
            self.lines[each] = NAME.sub(lambda found: new if found[0] == old else found[0], self.lines[each])
            made = MADE.match(self.lines[each])
            if made:
                self.made[made.group(1)] = self.made[made.group(1)][0], made.group(2)
        return bool(numbers)

    def _after(self, value: str) -> int:
        """The line before which there can be code that uses a value: after its own, and after a block's phis."""
        numbers = self.blocks[self.made[value][0]]
        place = next(n for n, each in enumerate(numbers) if self.lines[each].startswith(f"  {value} = "))
        return next(each for each in numbers[place + 1 :] if " = phi " not in self.lines[each])


def _mixed(name: str, value: str, other: str, type_: str) -> list[str]:
    """Code that gives `value` the name `name`, as if its bits might depend on those of `other`."""
    bits = _BITS[type_]
    zero, code = "%kapi.sums.zero", []
    if bits != "i64":
        zero = f"{name}.zero"
        code.append(f"  {zero} = trunc i64 %kapi.sums.zero to {bits}")
    if other:
        code.append(f"  {name}.other = bitcast {type_} {other} to {bits}")
        code.append(f"  {name}.none = and {bits} {name}.other, {zero}")
        zero = f"{name}.none"
    return [
        *code,
        f"  {name}.bits = bitcast {type_} {value} to {bits}",
        f"  {name}.mixed = xor {bits} {name}.bits, {zero}",
        f"  {name} = bitcast {bits} {name}.mixed to {type_}",
    ]
