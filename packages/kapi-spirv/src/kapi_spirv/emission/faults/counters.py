"""A wrong number of turns of Intel's OpenCL CPU compiler, avoided: counters from zero, compared after their step."""

from __future__ import annotations

import re

from ..ir.functions import INCOMING, NAME, Function, bounds
from ..ir.unknowns import unknown

__all__ = ["hide_first_zeros"]

_PHI = re.compile(r"^phi (i8|i16|i32|i64) ")
_COMPARED = re.compile(r"^icmp (?:samesign )?(sgt|sge|slt|sle) \S+ (\S+), (\S+)$")


def hide_first_zeros(text: str) -> str:
    """LLVM IR text in which no counter begins with a zero that is seen, if what follows it may be beyond the last one.

    Intel's OpenCL CPU compiler (2026.2) lets ``do { k = k + 1; } while (k <= x);`` run 2**32 or 2**64 times if `k`
    begins with 0, may wrap, and `x` is negative: one turn is right. It does so from OpenCL C as well. The counter
    begins with a zero that the compiler cannot know to be one. Remove this when `test_driver_limits` says that the
    driver is mended.
    """
    lines = text.split("\n")
    for first, last in bounds(lines):
        _hide(Function(lines, first, last))
    return "\n".join(lines)


def _hide(function: Function) -> None:
    """Change the first values of a function's counters."""
    beyond = {each for _block, made in function.made.values() for each in _after_a_step(function, made)}
    for numbers in function.blocks.values():
        for number in numbers:
            name, _, made = function.lines[number].strip().partition(" = ")
            phi = _PHI.match(made)
            if phi is None:
                continue
            incoming = INCOMING.findall(made)
            steps = {value for value, _ in incoming if value in beyond}
            if not any(function.made[each][1] == f"add {phi.group(1)} {name}, 1" for each in steps):
                continue
            function.lines[number] = f"  {name} = {made.replace('[ 0, ', f'[ {unknown(phi.group(1))}, ')}"


def _after_a_step(function: Function, made: str) -> list[str]:
    """The value that an operation asks about, whether it is beyond another one that is no constant."""
    found = _COMPARED.match(made)
    if found is None:
        return []
    word, one, other = found.groups()
    if word in ("slt", "sge"):
        one, other = other, one
    if not all(map(NAME.fullmatch, (one, other))):
        return []
    # `k < x + 1` is `k <= x` to a compiler that knows that x + 1 does not wrap.
    is_next = [each for each in (one, other) if " nsw " in f" {function.made.get(each, ('', ''))[1]}"]
    return [one, other] if is_next else [one]
