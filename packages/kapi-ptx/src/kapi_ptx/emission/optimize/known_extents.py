"""Known extents: axes that a kernel of fewer than three dimensions does not have hold one work-item, the first."""

from __future__ import annotations

import re

__all__ = ["with_known_extents"]

_DIMENSIONS = re.compile(r'"kapi\.dimensions"="([123])"')
_READ = re.compile(r'call i32 @"llvm\.nvvm\.read\.ptx\.sreg\.(tid|ntid|ctaid|nctaid)\.([yz])"\(\)')
_AXES = {"1": "yz", "2": "z", "3": ""}


def with_known_extents(sources: list[str]) -> list[str]:
    """The texts of a kernel's modules in which registers of such axes are numbers; others as they are."""
    found = next((match for source in sources if (match := _DIMENSIONS.search(source))), None)
    if found is None:
        return sources
    axes = _AXES[found[1]]

    def known(read: re.Match[str]) -> str:
        if read[2] not in axes:
            return read[0]
        return f"add i32 0, {1 if read[1].startswith('n') else 0}"

    return [_READ.sub(known, source) for source in sources]
