"""Counts of shifts in 64 bits, in the bits that a shift looks at.

A shift of PTX by more than its width gives 0, and LLVM's back end makes one instruction of a shift and the choice of 0
beyond the width. But it compares the count in 64 bits, and gives the instruction the lower half of it: a count of 2**32
is then one of 0. Where the count is masked, the comparison stays.

Functions of libdevice shift beyond the width and go by what PTX gives, which is no value in LLVM. There the choice of
it is written out, before their counts are masked as all others.
"""

from __future__ import annotations

import re

from ..ir.patterns import FUNCTION, NAME

__all__ = ["define_shifts", "mask_shift_counts"]

_NARROWED = re.compile(rf"^  ({NAME}) = trunc [^\n]*$", re.MULTILINE)
_MASKED = re.compile(rf"^  ({NAME}) = and i64 {NAME}, (\d+)[^\n]*$", re.MULTILINE)
_SHIFT = re.compile(
    rf"^  (?P<result>{NAME}) = (?P<word>(?:shl|lshr)(?: nuw| nsw| exact)*) i(?P<width>8|16|32|64) "
    rf"(?P<value>[^,\n]+), (?P<count>{NAME})(?P<rest>[^\n]*)$",
    re.MULTILINE,
)


_WRITTEN = re.compile(
    rf"^  (?P<result>{NAME}) = (?P<word>shl|lshr|ashr)(?: nuw| nsw| exact)* i(?P<width>\d+) "
    rf"(?P<value>[^,\n]+), (?P<count>{NAME})[^\n]*$",
    re.MULTILINE,
)


def define_shifts(functions: str) -> str:
    """LLVM IR text in which shifts beyond the width give what they give in PTX: 0, or the sign in all bits."""
    number = 0

    def defined(shift: re.Match[str]) -> str:
        nonlocal number
        number += 1
        name, word, type_, last = f"%kapi.shift.{number}", shift["word"], f"i{shift['width']}", int(shift["width"]) - 1
        beyond = f"{name}.signs" if word == "ashr" else "0"
        signs = [f"  {beyond} = ashr {type_} {shift['value']}, {last}"] if word == "ashr" else []
        return "\n".join(
            [
                *signs,
                f"  {name}.count = and {type_} {shift['count']}, {last}",
                f"  {name}.within = {word} {type_} {shift['value']}, {name}.count",
                f"  {name}.is.beyond = icmp ugt {type_} {shift['count']}, {last}",
                f"  {shift['result']} = select i1 {name}.is.beyond, {type_} {beyond}, {type_} {name}.within",
            ]
        )

    return _WRITTEN.sub(defined, functions)


def mask_shift_counts(text: str) -> str:
    """LLVM IR text in which such counts are masked."""
    return FUNCTION.sub(lambda found: _of_function(found[0]), text)


def _of_function(text: str) -> str:
    narrowed = set(_NARROWED.findall(text))
    masked_ones = {name for name, mask in _MASKED.findall(text) if int(mask) < 64}
    number = 0

    def masked(shift: re.Match[str]) -> str:
        nonlocal number
        # A comparison has no more bits than a count that is not narrowed.
        may_differ = shift["width"] == "64" or shift["count"] in narrowed
        if not may_differ or shift["count"] in masked_ones:
            return shift[0]
        number += 1
        name, type_ = f"%kapi.count.{number}", f"i{shift['width']}"
        return (
            f"  {name} = and {type_} {shift['count']}, {int(shift['width']) - 1}\n"
            f"  {shift['result']} = {shift['word']} {type_} {shift['value']}, {name}{shift['rest']}"
        )

    return _SHIFT.sub(masked, text)
