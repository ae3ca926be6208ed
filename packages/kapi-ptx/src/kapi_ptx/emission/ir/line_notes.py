"""Changes of instructions that are the same with line information and without it."""

from __future__ import annotations

import re
from collections.abc import Callable

from .patterns import FUNCTION, NAME

__all__ = ["keeping_lines"]

_NOTED = re.compile(rf"^(  ({NAME}) = [^\n]*?)(, !dbg !\d+)([^\n]*)$", re.MULTILINE)
_NAMED = re.compile(rf"^  ({NAME}) = [^\n]*$", re.MULTILINE)


def keeping_lines(text: str, change: Callable[[str], str]) -> str:
    """LLVM IR text, changed without the lines of its named values, which each keeps."""
    return FUNCTION.sub(lambda found: _changed(found[0], change), text) if ", !dbg " in text else change(text)


def _changed(function: str, change: Callable[[str], str]) -> str:
    notes = {name: note for _, name, note, _ in _NOTED.findall(function)}

    def noted(found: re.Match[str]) -> str:
        return f"{found[0]}{notes.get(found[1], '')}"

    return _NAMED.sub(noted, change(_NOTED.sub(r"\1\4", function)))
