"""A wrong result of Intel's OpenCL CPU compiler, avoided: floats that go through an integer and back."""

from __future__ import annotations

import re

from ..ir.unknowns import hidden

__all__ = ["keep_round_trips"]

_TO_INTEGER = re.compile(r"^  (%\S+) = fpto[su]i (\S+) (\S+) to (i8|i16|i32|i64)(?=,|$)")
_TO_FLOAT = re.compile(r"^  %\S+ = [su]itofp ", re.MULTILINE)


def keep_round_trips(text: str) -> str:
    """LLVM IR text in which no integer that was a float is seen to become one again.

    Intel's OpenCL CPU compiler (2026.2) makes a rounding of a double that is converted to a 32-bit integer and back,
    from OpenCL C as well: -0.6 becomes -0.0, and no integer is -0. A zero that the compiler cannot know to be one is
    added between. Remove this when `test_driver_limits` says that the driver is mended.
    """
    if not _TO_FLOAT.search(text):
        return text
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        found = _TO_INTEGER.match(line)
        if found is None:
            lines.append(line)
            continue
        result, source, value, type_ = found.groups()
        name, conversion = f"%kapi.whole.{number}", line.split(" = ")[1].split(" ")[0]
        lines.append(f"  {name} = {conversion} {source} {value} to {type_}")
        lines += hidden(result, type_, name)
    return "\n".join(lines)
