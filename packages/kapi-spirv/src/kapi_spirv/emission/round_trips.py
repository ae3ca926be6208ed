"""A wrong result of Intel's OpenCL CPU compiler, avoided: floats that go through an integer and back."""

from __future__ import annotations

import re

__all__ = ["keep_round_trips"]

_TO_INTEGER = re.compile(r"^  (%\S+) = fpto[su]i (\S+) (\S+) to (i8|i16|i32|i64)(?=,|$)")
_TO_FLOAT = re.compile(r"^  %\S+ = [su]itofp ", re.MULTILINE)
_SIZE = "declare spir_func i64 @_Z15get_global_sizej(i32) nounwind memory(none)"


def keep_round_trips(text: str) -> str:
    """LLVM IR text in which no integer that was a float is seen to become one again.

    Intel's OpenCL CPU compiler (2026.2) makes a rounding of a double that is converted to a 32-bit integer and back,
    from OpenCL C as well: -0.6 becomes -0.0, and no integer is -0. A zero that the compiler cannot know to be one is
    added between. Remove this when `test_driver_limits` says that the driver is mended.
    """
    if not _TO_FLOAT.search(text):
        return text
    lines: list[str] = []
    starts: list[int] = []  # where functions with such a conversion begin, in `lines`
    start, count = 0, 0
    for line in text.split("\n"):
        found = _TO_INTEGER.match(line)
        if line.startswith("define "):
            start = len(lines)
        if found is None:
            lines.append(line)
            continue
        result, source, value, type_ = found.groups()
        if start not in starts:
            starts.append(start)
        name, conversion = f"%kapi.whole.{count}", line.split(" = ")[1].split(" ")[0]
        zero = "%kapi.nothing" if type_ == "i64" else f"{name}.zero"
        lines.append(f"  {name} = {conversion} {source} {value} to {type_}")
        lines += [] if type_ == "i64" else [f"  {zero} = trunc i64 %kapi.nothing to {type_}"]
        lines.append(f"  {result} = add {type_} {name}, {zero}")
        count += 1
    for start in reversed(starts):
        is_labelled = lines[start + 1].rstrip().split(";")[0].rstrip().endswith(":")
        lines[start + 1 + is_labelled : start + 1 + is_labelled] = [
            "  %kapi.nothing.size = call spir_func i64 @_Z15get_global_sizej(i32 0)",
            "  %kapi.nothing = ashr i64 %kapi.nothing.size, 63",
        ]
    if starts and not any(line.startswith("declare") and "@_Z15get_global_sizej(" in line for line in lines):
        lines.append(_SIZE)
    return "\n".join(lines)
