"""Arrays that share no memory: told to drivers, whose compilers then read before a write what is behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .functions import Function, bounds
from .packed import PACKED, array_of

__all__ = ["ALIASING", "tell_apart"]

ALIASING = "SPV_INTEL_memory_access_aliasing"
"""The extension by which SPIR-V says it."""

_ACCESS = re.compile(r"^  (?:(?:%\S+) = load |store )[^@]*, ptr addrspace\(1\) (%\"[^\"]*\"|%[-\w.$]+), align \d+")
_METADATA = re.compile(r"^!(\d+) = ", re.MULTILINE)


def tell_apart(text: str) -> str:
    """LLVM IR text in which each access of an array of the packed argument says that it meets no other array's.

    The launch has proved it. Intel's OpenCL CPU compiler takes what does not depend on the work-item out of its loop
    over work-items; without this, a store to one array keeps the reads of all others in it.
    """
    lines = text.split("\n")
    number = 1 + max((int(each) for each in _METADATA.findall(text)), default=-1)
    added: list[str] = []
    for first, last in bounds(lines):
        if PACKED not in lines[first]:
            continue
        accesses = dict(_accesses(Function(lines, first, last), first, last))
        fields = sorted(set(accesses.values()))
        if len(fields) < 2:
            continue
        domain, scopes = number, {field: number + 1 + place for place, field in enumerate(fields)}
        added.append(f"!{domain} = distinct !{{!{domain}}}")
        added += [f"!{scope} = distinct !{{!{scope}, !{domain}}}" for scope in scopes.values()]
        number += 1 + len(fields)
        said: dict[int, str] = {}
        for field in fields:
            others = ", ".join(f"!{scope}" for each, scope in scopes.items() if each != field)
            added += [f"!{number} = !{{!{scopes[field]}}}", f"!{number + 1} = !{{{others}}}"]
            said[field] = f", !alias.scope !{number}, !noalias !{number + 1}"
            number += 2
        for line, field in accesses.items():
            lines[line] += said[field]
    return "\n".join([*lines, *added])


def _accesses(function: Function, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The numbers of lines that read or write an array of the packed argument, with the array's place there."""
    for number in range(first + 1, last):
        access = _ACCESS.match(function.lines[number])
        found = array_of(function, access.group(1)) if access else None
        if found is not None:
            yield number, found[0]
