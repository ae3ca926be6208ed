"""Functions that are inlined although their kernel's option `inline` says otherwise."""

from __future__ import annotations

import re

__all__ = ["inlined"]

_NOINLINE = re.compile(r"^(define .*) noinline\b", re.MULTILINE)


def inlined(source: str) -> str:
    """Return the text of a module whose functions are all to be inlined."""
    return _NOINLINE.sub(r"\1 alwaysinline", source)
