"""Barriers in functions that called functions call: Intel's OpenCL CPU runtime orders one vector of work-items there.

The runtime (2026.2) runs the work-items of a group as vectors, one after another, and makes each barrier a point where
all vectors of the group wait. Of a module of OpenCL 2.0 it does so in a kernel and in the functions that the kernel
calls, but not in the functions that those call: there, a vector goes on alone. Every work-group of more work-items than
a vector has lanes gets wrong numbers, under each instruction set.
"""

from __future__ import annotations

import re

from ..ir.inlining import inlined

__all__ = ["inline_convergent_functions"]

_NAME = r"@(\"[^\"]+\"|[\w$.-]+)"
_DECLARED = re.compile(rf"^declare [^@]*{_NAME}\(.*\bconvergent\b", re.MULTILINE)
_DEFINED = re.compile(rf"^define [^@]*{_NAME}\(", re.MULTILINE)
_USED = re.compile(_NAME)


def inline_convergent_functions(sources: list[str]) -> list[str]:
    """Mark every function for inlining that reaches a barrier or another group operation, whatever `inline` asks for.

    - `sources`: LLVM IR text of the modules that make a kernel, before they are linked.
    """
    if not any(" noinline" in source for source in sources):
        return sources
    convergent = {name for source in sources for name in _DECLARED.findall(source)}
    used = [set(_USED.findall(source)) for source in sources]
    defined = [set(_DEFINED.findall(source)) for source in sources]
    reached: set[int] = set()
    while True:
        found = {number for number, names in enumerate(used) if names & convergent}
        if found == reached:
            break
        reached = found
        convergent = convergent.union(*(defined[number] for number in reached))
    return [inlined(source) if number in reached else source for number, source in enumerate(sources)]
