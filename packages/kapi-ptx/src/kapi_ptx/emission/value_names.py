"""Names for values and blocks that have numbers: LLVM takes numbers only in order, and lines are moved here."""

from __future__ import annotations

import re

__all__ = ["name_values"]

_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_VALUE = re.compile(r"%(\d+)(?![-\w.$])")
_LABEL = re.compile(r"^(\d+):", re.MULTILINE)


def name_values(text: str, prefix: str) -> str:
    """LLVM IR text whose functions have no numbered values and blocks.

    Parameters
    ----------
    text : str
        The text.
    prefix : str
        What the names begin with: another one for a text whose values were named before.
    """

    def named(found: re.Match[str]) -> str:
        return _LABEL.sub(rf"{prefix}.\1:", _VALUE.sub(rf"%{prefix}.\1", found[0]))

    return _FUNCTION.sub(named, text)
