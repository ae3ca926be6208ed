"""Kernels that must be one function, whatever their option `inline` asks for.

Queries of work-items in linear groups are answered in the function that has the extents. And LLVM's back end (22) looks
for the format of a `printf` in the registers of another function, if a module has several: it refuses the module, or
ends the process.
"""

from __future__ import annotations

import re

from ..ir.inlining import inlined

__all__ = ["inline_all"]

_NEEDS_ONE_FUNCTION = re.compile(r"^declare [^@]*@\"?(?:kapi\.linear_groups\.|_Z6printf)", re.MULTILINE)


def inline_all(sources: list[str]) -> list[str]:
    """The modules, of a kernel that must be one function as those in which every function is inlined."""
    if not any(_NEEDS_ONE_FUNCTION.search(source) for source in sources):
        return sources
    return [inlined(source) for source in sources]
