"""Wrong numbers of Intel's OpenCL CPU compiler, avoided: conditions that stay the same in a loop nobody can count."""

from __future__ import annotations

import re

__all__ = ["keep_conditions_in_loops"]

_LABEL = re.compile(r"^(?:([-\w.$]+)|\"([^\"]*)\"):")
_TARGET = re.compile(r"label (%\"[^\"]*\"|%[-\w.$]+)")
_NAME = re.compile(r"%\"[^\"]*\"|%[-\w.$]+")
_MADE = re.compile(r"^  (%\"[^\"]*\"|%[-\w.$]+) = (.*)$")
_PHI = re.compile(r"^phi (i\d+|half|float|double) ")
_CONDITION = re.compile(r"^  (?:(?:%\S+) = select |br )(?:[a-z]+ )*i1 (%\"[^\"]*\"|%[-\w.$]+),")
_BITS = {"half": "i16", "float": "i32", "double": "i64"}
_ZERO = (
    "  %kapi.kept.size = call spir_func i64 @_Z15get_global_sizej(i32 0)",
    "  %kapi.kept.zero = ashr i64 %kapi.kept.size, 63",
)
_UNIFORM_CALLS = ("get_global_size", "get_local_size", "get_group_id", "get_num_groups", "get_work_dim")


def keep_conditions_in_loops(text: str) -> str:
    """LLVM IR text in which no loop of unknown length holds a condition that is the same in each turn of it.

    Intel's OpenCL CPU compiler (2026.2) takes such a condition out of the loop, a loop for each outcome, and then lets
    all work-items of a vector go the way of one of them, from OpenCL C as well (`while(k < 6) {k += n; if (c) x++;}`).
    Loops that count by a constant are right. The condition is combined with a zero that the compiler cannot know to be
    one, of a value that changes in the loop. Remove this when `test_driver_limits` says that the driver is mended.
    """
    lines = text.split("\n")
    added: dict[int, list[str]] = {}
    first = None
    for number, line in enumerate(lines):
        if line.startswith("define "):
            first = number
        elif line == "}" and first is not None:
            _Function(lines, first, number).keep(added)
            first = None
    if not added:
        return text
    result: list[str] = []
    for number, line in enumerate(lines):
        result += added.get(number, [])
        result.append(line)
    if not any(line.startswith("declare") and "@_Z15get_global_sizej(" in line for line in lines):
        result.append("declare spir_func i64 @_Z15get_global_sizej(i32) nounwind memory(none)")
    return "\n".join(result)


class _Function:
    """One function of a module: its blocks, and what each value is made by."""

    def __init__(self, lines: list[str], first: int, last: int) -> None:
        self._lines = lines
        self._blocks: dict[str, list[int]] = {}
        self._made: dict[str, tuple[str, str]] = {}  # name to its block and what makes it
        block = ""
        for number in range(first + 1, last):
            label = _LABEL.match(lines[number])
            if label:
                block = f'%"{label.group(2)}"' if label.group(2) is not None else f"%{label.group(1)}"
                self._blocks[block] = []
            elif block and lines[number]:
                self._blocks[block].append(number)
                made = _MADE.match(lines[number])
                if made:
                    self._made[made.group(1)] = block, made.group(2)
        self._next = {
            each: {target for number in numbers for target in _targets(lines[number])}
            for each, numbers in self._blocks.items()
        }
        self._before: dict[str, set[str]] = {block: set() for block in self._blocks}
        for block, targets in self._next.items():
            for target in targets:
                self._before[target].add(block)

    def keep(self, added: dict[int, list[str]]) -> None:
        """Change the conditions, and note the lines to be added before others."""
        changed = False
        for header, loop, inner in self._loops(set(self._blocks)):
            for block in loop - inner:
                for number in self._blocks[block]:
                    condition = _CONDITION.match(self._lines[number])
                    if condition and self._is_at_risk(condition.group(1), loop):
                        changed |= self._change(number, condition, header, added)
        if changed:
            entry = next(iter(self._blocks.values()))
            added[entry[0]] = [*_ZERO, *added.get(entry[0], [])]

    def _change(self, number: int, condition: re.Match[str], header: str, added: dict[int, list[str]]) -> bool:
        for each in self._blocks[header]:
            made = _MADE.match(self._lines[each])
            phi = _PHI.match(made.group(2)) if made else None
            if made and phi:
                break
        else:
            return False
        name, value, bits = f"%kapi.kept.{number}", made.group(1), _BITS.get(phi.group(1), phi.group(1))
        code = []
        if bits != phi.group(1):
            code.append(f"  {name}.bits = bitcast {phi.group(1)} {value} to {bits}")
            value = f"{name}.bits"
        zero = "%kapi.kept.zero"
        if bits != "i64":
            code.append(f"  {name}.zero = trunc i64 %kapi.kept.zero to {bits}")
            zero = f"{name}.zero"
        code.append(f"  {name}.none = and {bits} {value}, {zero}")
        code.append(f"  {name}.never = icmp ne {bits} {name}.none, 0")
        code.append(f"  {name} = xor i1 {condition.group(1)}, {name}.never")
        added[number] = code
        line = self._lines[number]
        self._lines[number] = line[: condition.start(1)] + name + line[condition.end(1) :]
        return True

    # -- loops

    def _loops(self, blocks: set[str], is_uncounted: bool = False) -> list[tuple[str, set[str], set[str]]]:
        """Header, blocks, and blocks of inner loops, of each loop that is of unknown length or in one that is."""
        found = []
        for loop in self._cycles(blocks):
            headers = [block for block in loop if self._before[block] - loop]
            if len(headers) != 1:
                continue
            rest = loop - set(headers)
            inner = set().union(*self._cycles(rest)) if rest else set()
            here = is_uncounted or not self._is_counted(loop, headers[0])
            if here:
                found.append((headers[0], loop, inner))
            found += self._loops(rest, here)
        return found

    def _cycles(self, blocks: set[str]) -> list[set[str]]:
        """The largest sets of blocks of which each leads to each other."""
        left = set(blocks)
        cycles = []
        for start in reversed(_finished(sorted(blocks), self._next, set(blocks))):
            if start in left:
                cycle = set(_finished([start], self._before, left))
                left -= cycle
                if len(cycle) > 1 or start in self._next[start]:
                    cycles.append(cycle)
        return cycles

    def _is_counted(self, loop: set[str], header: str) -> bool:
        """Whether each way out of a loop compares a counter of constant steps with what the loop does not change."""
        for block in loop:
            if self._next[block] <= loop:
                continue
            condition = _CONDITION.match(self._lines[self._blocks[block][-1]])
            made = self._made.get(condition.group(1), ("", ""))[1] if condition else ""
            operands = re.match(r"icmp (?:samesign )?\w+ \w+ (\S+), (\S+)", made)
            if not operands:
                return False
            one, other = operands.groups()
            is_counter = (self._counts(one, header), self._counts(other, header))
            is_fixed = (self._made.get(one, ("",))[0] not in loop, self._made.get(other, ("",))[0] not in loop)
            if not ((is_counter[0] and is_fixed[1]) or (is_counter[1] and is_fixed[0])):
                return False
        return True

    def _counts(self, name: str, header: str) -> bool:
        """Whether a value is a loop's counter of constant steps, before or after its step."""
        block, made = self._made.get(name, ("", ""))
        step = re.match(r"(?:add|sub) .*?(%\S+), -?\d+$", made)
        if step:
            block, made = self._made.get(step.group(1), ("", ""))
            return block == header and made.startswith("phi ")
        incoming = re.findall(r"\[ (%\S+), ", made) if block == header and made.startswith("phi ") else []
        steps = [self._made.get(each, ("", ""))[1] for each in incoming]
        return any(re.match(rf"(?:add|sub) .*?{re.escape(name)}, -?\d+$", each) for each in steps)

    # -- conditions

    def _is_at_risk(self, name: str, loop: set[str]) -> bool:
        """Whether a condition is the same in each turn, and may differ between work-items."""
        return self._is_fixed(name, loop, 12) and not self._is_uniform(name, 12)

    def _is_fixed(self, name: str, loop: set[str], depth: int) -> bool:
        block, made = self._made.get(name, ("", ""))
        if block not in loop:
            return True
        if depth == 0 or made.startswith("phi ") or " call " in f" {made}":
            return False
        return all(self._is_fixed(each, loop, depth - 1) for each in _NAME.findall(made))

    def _is_uniform(self, name: str, depth: int) -> bool:
        block, made = self._made.get(name, ("", ""))
        if not block:
            return True
        if depth == 0 or made.startswith("phi "):
            return False
        if " call " in f" {made}" and not any(each in made for each in _UNIFORM_CALLS):
            return False
        return all(self._is_uniform(each, depth - 1) for each in _NAME.findall(made))


def _finished(starts: list[str], edges: dict[str, set[str]], within: set[str]) -> list[str]:
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


def _targets(line: str) -> list[str]:
    return _TARGET.findall(line) if line.startswith(("  br ", "  switch ", "    ", "  ]")) else []
