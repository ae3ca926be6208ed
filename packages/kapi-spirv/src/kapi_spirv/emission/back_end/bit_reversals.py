"""Reversed bits, which LLVM makes of loops over bits, as shifts and masks; in whole bytes where their number is odd.

LLVM counts the bits that such a loop moves: of five bits it makes an integer of five, which the back end does not have.
"""

from __future__ import annotations

import re

from ..ir.functions import derived

__all__ = ["write_out_bit_reversals"]

_CALLED = re.compile(r"call (?:[\w()]+ )*?i(\d+) @llvm\.bitreverse\.i\1\(")
_DECLARED = re.compile(r"^declare i\d+ @llvm\.bitreverse\..*\n", re.MULTILINE)
_REVERSED = re.compile(
    r"^( +)(%\S+) = (?:tail )?call (?:[\w()]+ )*?i(\d+) @llvm\.bitreverse\.i\3\(i\3 (?:\w+ )*(\S+)\).*$"
)
_NARROWED = re.compile(r"^( +)(%\S+) = trunc (?:nuw |nsw )*i(8|16|32|64) (\S+) to i(\d+)$")
_WIDENED = re.compile(r"^( +)(%\S+) = zext (?:nneg )?i(\d+) (\S+) to i(8|16|32|64)$")
_STEPS = (1, 2, 4, 8, 16, 32)
# Of values whose upper bits are 0, the wider operation gives such a value too, and the same truth.
_SAME_WIDER = re.compile(
    r"^ +%\S+ = (?:(?:and|or(?: disjoint)?|xor|icmp (?:eq|ne|ult|ule|ugt|uge)|uitofp(?: nneg)?|phi)"
    r"|select i1 \S+,) i(\d+) "
)
_CONSTANT = re.compile(r"(?<![\w%.\"])-?\d+(?![\w.])")


def write_out_bit_reversals(text: str) -> str:
    """LLVM IR text in which no intrinsic reverses bits.

    Where the number of bits is odd, a function that does more with such integers than is known here stays as it is:
    `validation` tells of it.
    """
    if "@llvm.bitreverse." not in text:
        return text
    made = "\n".join(map(_written_out, re.split(r"\n(?=define )", text)))
    return made if _CALLED.search(made) else _DECLARED.sub("", made)


def _written_out(function: str) -> str:
    """The text of one function; what it names is its own."""
    lines = function.split("\n")
    for width in sorted({int(found) for found in _CALLED.findall(function)}):
        whole = next((each for each in (8, 16, 32, 64) if each >= width), None)
        written = whole and [_line(each, width, whole) for each in lines]
        if written and None not in written:
            lines = [line for each in written for line in each or ()]
    return "\n".join(lines)


def _line(line: str, width: int, whole: int) -> list[str] | None:
    """A line's text where integers of `width` bits have `whole` ones, the upper ones 0; None if it is not known how."""
    if line.startswith("declare ") or not re.search(rf"(?<![%@.\w])i{width}\b", line):
        return [line]
    reversed_ = _REVERSED.match(line)
    if reversed_:
        start, name, _, given = reversed_.groups()
        return _steps(start, name, given, whole, whole - width)
    if width == whole:
        return [line]
    narrowed, widened = _NARROWED.match(line), _WIDENED.match(line)
    if narrowed:
        start, name, size, given, _ = narrowed.groups()
        cut = [f"{start}{derived(name, 'c')} = trunc i{size} {given} to i{whole}"] if int(size) > whole else []
        given = derived(name, "c") if cut else given
        return [*cut, f"{start}{name} = and i{whole} {given}, {2**width - 1}"]
    if widened:
        start, name, _, given, size = widened.groups()
        operation = f"zext i{whole} {given} to i{size}" if int(size) > whole else f"or i{whole} {given}, 0"
        return [f"{start}{name} = {operation}"]
    known = _SAME_WIDER.match(line)
    if known and int(known[1]) == width:
        head, rest = line[: known.end()], line[known.end() :]
        rest = _CONSTANT.sub(lambda constant: str(int(constant[0]) % 2**width), rest)
        return [re.sub(rf"(?<![%@.\w])i{width}\b", f"i{whole}", head + rest)]
    return None


def _steps(start: str, name: str, given: str, width: int, unused: int) -> list[str]:
    """Instructions that reverse bits by exchanging neighbours, pairs, and so on, and drop some of the lowest."""
    lines = []
    for step in (each for each in _STEPS if each < width):
        mask = sum(1 << bit for bit in range(width) if bit // step % 2 == 0)
        low, up, high, down = (derived(name, f"{kind}{step}") for kind in ("l", "u", "h", "d"))
        made = derived(name, f"r{step}") if 2 * step < width or unused else name
        lines += [
            f"{start}{low} = and i{width} {given}, {mask}",
            f"{start}{up} = shl i{width} {low}, {step}",
            f"{start}{high} = lshr i{width} {given}, {step}",
            f"{start}{down} = and i{width} {high}, {mask}",
            f"{start}{made} = or disjoint i{width} {up}, {down}",
        ]
        given = made
    return [*lines, f"{start}{name} = lshr i{width} {given}, {unused}"] if unused else lines
