"""Loads from arrays that nothing writes to while the kernel runs: PTX has an instruction of their own for them.

Arrays that a kernel only reads, and that lie apart from those that it writes to, come to the kernel's function as
pointers without an alias. So LLVM knows a scope of them once that function is a part of the entry point, and writes the
scope to each load that reads from nothing else.
"""

from __future__ import annotations

import re

from ..ir.patterns import next_note

__all__ = ["mark_constant_loads"]

_LOAD = re.compile(
    r"^( *%\S+ = load (?!atomic|volatile)[^\n]*\bptr addrspace\(1\) [^\n]*!alias\.scope ![^\n]*)$", re.MULTILINE
)


def mark_constant_loads(text: str) -> str:
    """LLVM IR text in which each such load says that it reads the same at all times."""
    number = next_note(text)
    text, count = _LOAD.subn(rf"\1, !invariant.load !{number}", text)
    return f"{text}\n!{number} = !{{}}\n" if count else text
