"""Names for values and blocks that have numbers: LLVM takes numbers only in order, and lines are moved here."""

from __future__ import annotations

import re

from .patterns import FUNCTION

__all__ = ["name_values"]

_FIRST_LABEL = re.compile(r"(?:[-\w.$]+|\"[^\"]*\"):")
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
        head, _, body = found[0].partition("\n")
        if not _FIRST_LABEL.match(body):  # the first block has the number after those of the parameters
            body = f"{len(_VALUE.findall(head))}:\n{body}"
        return _LABEL.sub(rf"{prefix}.\1:", _VALUE.sub(rf"%{prefix}.\1", f"{head}\n{body}"))

    return FUNCTION.sub(named, text)
