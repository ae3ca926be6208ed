"""Counters of turns in 32 bits, where what they count to is known to fit: half the additions and comparisons.

Extents that fit 31 bits are widened, as integers of the language have 64 bits. What only counts turns to one of them
can do without the upper half.
"""

from __future__ import annotations

import re

from ..ir.patterns import FUNCTION, NAME

__all__ = ["narrow_counters"]

_PHI = re.compile(
    rf"^  (?P<name>{NAME}) = phi i64 "
    rf"(?:\[ 0, (?P<before>{NAME}) \], \[ (?P<later>{NAME}), (?P<turn>{NAME}) \]"
    rf"|\[ (?P<later_first>{NAME}), (?P<turn_first>{NAME}) \], \[ 0, (?P<before_last>{NAME}) \])$",
    re.MULTILINE,
)
_LARGEST = 2**31 - 1


def narrow_counters(text: str) -> str:
    """LLVM IR text with such counters in 32 bits."""
    return FUNCTION.sub(lambda found: _of_function(found[0]) if "phi i64" in found[0] else found[0], text)


def _of_function(text: str) -> str:
    for phi in list(_PHI.finditer(text)):
        text = _narrowed(text, phi)
    return text


def _narrowed(text: str, phi: re.Match[str]) -> str:
    name, later = phi["name"], phi["later"] or phi["later_first"]
    # The counter is added to, and its next value is compared, and that is all.
    if _uses(text, name) != 2 or _uses(text, later) != 3:
        return text
    added = re.search(
        rf"^  {re.escape(later)} = add (?:nuw )?(?:nsw )?i64 {re.escape(name)}, (\d+)$", text, re.MULTILINE
    )
    compared = re.search(rf"^  ({NAME}) = icmp (eq|ne) i64 {re.escape(later)}, ({NAME})$", text, re.MULTILINE)
    if added is None or compared is None or not _is_met(text, compared[3], int(added[1])):
        return text
    bound = (
        f'{compared[3][:-1]}.low.{phi.start()}"' if compared[3].endswith('"') else f"{compared[3]}.low.{phi.start()}"
    )
    for old, new in (
        (phi[0], phi[0].replace("phi i64", "phi i32", 1)),
        (added[0], f"  {later} = add i32 {name}, {added[1]}"),
        (
            compared[0],
            f"  {bound} = trunc i64 {compared[3]} to i32\n  {compared[1]} = icmp {compared[2]} i32 {later}, {bound}",
        ),
    ):
        text = text.replace(old + "\n", new + "\n", 1)
    return text


def _uses(text: str, name: str) -> int:
    """How often a name stands in a text, its definition included."""
    return len(re.findall(rf"{re.escape(name)}(?![-\w.$])", text))


def _is_met(text: str, bound: str, step: int) -> bool:
    """Whether counting from 0 by `step` comes to what fits 31 bits, and does not step over it."""
    defined = re.search(rf"^  {re.escape(bound)} = ([^\n]*)$", text, re.MULTILINE)
    if defined is None:
        return False
    if re.fullmatch(rf"zext nneg i32 {NAME} to i64", defined[1]):
        return step == 1
    masked = re.fullmatch(rf"and i64 {NAME}, (\d+)", defined[1])
    if masked is None:
        return False
    mask = int(masked[1])
    # A multiple of the step is met: its lower bits are masked, all of them.
    return 0 <= mask <= _LARGEST and step & (step - 1) == 0 and mask & (step - 1) == 0
