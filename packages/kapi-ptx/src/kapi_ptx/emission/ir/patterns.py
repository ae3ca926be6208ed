"""Patterns of the text of LLVM IR: the names of values, and whole functions."""

from __future__ import annotations

import re

__all__ = ["DEFINED", "FUNCTION", "NAME", "next_note"]

NAME = r"%(?:\"[^\"\n]+\"|[-\w.$]+)"
"""A value's name, as a part of other patterns."""

DEFINED = re.compile(rf"^  ({NAME}) = ")
"""The start of an instruction that gives a value."""

FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
"""A function that is defined, from its first line to its last."""

_NOTE = re.compile(r"^!(\d+) = ", re.MULTILINE)


def next_note(text: str) -> int:
    """The lowest number that no metadata of a module has."""
    return max(map(int, _NOTE.findall(text)), default=-1) + 1
