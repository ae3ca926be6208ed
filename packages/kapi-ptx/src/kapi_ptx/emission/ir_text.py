"""Patterns of the text of LLVM IR: the names of values, and whole functions."""

from __future__ import annotations

import re

__all__ = ["DEFINED", "FUNCTION", "NAME"]

NAME = r"%(?:\"[^\"\n]+\"|[-\w.$]+)"
"""A value's name, as a part of other patterns."""

DEFINED = re.compile(rf"^  ({NAME}) = ")
"""The start of an instruction that gives a value."""

FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
"""A function that is defined, from its first line to its last."""
