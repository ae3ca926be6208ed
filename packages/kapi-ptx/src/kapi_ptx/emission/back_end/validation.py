"""What PTX cannot express, found before the back end writes it."""

from __future__ import annotations

import re

__all__ = ["misspelled_names"]

_DEFINED = re.compile(r'^define (?!internal |private )[^@\n]*@("[^"\n]*"|[^\s(]+)\(', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+")


def misspelled_names(text: str) -> list[str]:
    """Names of visible functions that are none of PTX's: LLVM mends those of others alone."""
    names = [name.strip('"') for name in _DEFINED.findall(text)]
    return [
        f"a function of the name {_decoded(name)} (PTX has ASCII's letters, digits, _ and $)"
        for name in names
        if not _NAME.fullmatch(name)
    ]


def _decoded(name: str) -> str:
    """A name as it was written: LLVM writes bytes that are no printable ASCII in two hexadecimal digits."""
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), name.encode())
    return raw.decode(errors="replace")
