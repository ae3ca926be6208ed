"""Arrays that are only read share no memory with those that are written: told to drivers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ir.functions import Function, bounds
from ..ir.packed import PACKED, Array, array_of, arrays_of, without_arrays

__all__ = ["ALIASING", "tell_apart"]

ALIASING = "SPV_INTEL_memory_access_aliasing"
"""The extension by which SPIR-V says it."""

_ACCESS = re.compile(r"^  (?:(?:%\S+) = load |store )[^@]*, ptr addrspace\(1\) (%\"[^\"]*\"|%[-\w.$]+), align \d+")
_METADATA = re.compile(r"^!(\d+) = ", re.MULTILINE)
_LLVMS_OWN = re.compile(r", !(?:alias\.scope|noalias) !\d+")
_SCOPE = "@llvm.experimental.noalias.scope.decl("


def tell_apart(text: str, is_told: bool) -> str:
    """LLVM IR text in which an access of an array that is only read says that it meets none of a written one.

    Each launch has proved it. Intel's OpenCL CPU compiler takes what does not depend on the work-item out of its loop
    over work-items; without this, a store to one array keeps the reads of all others in it. Accesses alone are marked:
    LLVM marks calls as well, barriers among them. What it says is left out, as is all of it where nothing `is_told`.
    """
    lines = [_LLVMS_OWN.sub("", line) for line in text.split("\n") if _SCOPE not in line]
    arrays = arrays_of(lines)
    lines = without_arrays(lines)
    if not is_told or {each.is_written for each in arrays.values()} != {False, True}:
        return "\n".join(lines)
    number = 1 + max((int(each) for each in _METADATA.findall(text)), default=-1)
    domain, read, written, reads, writes = (f"!{number + place}" for place in range(5))
    said = {False: f", !alias.scope {reads}, !noalias {writes}", True: f", !alias.scope {writes}, !noalias {reads}"}
    for first, last in bounds(lines):
        if PACKED in lines[first]:
            for place, is_written in list(_accesses(Function(lines, first, last), first, last, arrays)):
                lines[place] += said[is_written]
    lines.append(f"{domain} = distinct !{{{domain}}}")
    lines += [f"{scope} = distinct !{{{scope}, {domain}}}" for scope in (read, written)]
    lines += [f"{reads} = !{{{read}}}", f"{writes} = !{{{written}}}"]
    return "\n".join(lines)


def _accesses(function: Function, first: int, last: int, arrays: dict[int, Array]) -> Iterator[tuple[int, bool]]:
    """The numbers of lines that access an array of the packed argument, with whether the kernel writes that."""
    for number in range(first + 1, last):
        access = _ACCESS.match(function.lines[number])
        found = array_of(function, access.group(1)) if access else None
        if found is not None and found[0] in arrays:
            yield number, arrays[found[0]].is_written
