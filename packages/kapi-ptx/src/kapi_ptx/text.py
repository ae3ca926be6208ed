"""PTX as text: which kernels a module has.

References
----------
PTX ISA, sections "PTX Module Directives" and "Specifying Kernel Entry Points".
"""

from __future__ import annotations

import re

__all__ = ["entry_points"]

_START = re.compile(r"\s*\.version \d+\.\d+\s+\.target sm_\d+[af]?\s+\.address_size 64\s")
_ENTRY = re.compile(r"^\.visible \.entry ([A-Za-z_$][A-Za-z0-9_$]*)\(", re.MULTILINE)
_NOT_CODE = re.compile(r"//[^\n]*|\"[^\"\n]*\"")


def entry_points(code: bytes) -> tuple[str, ...]:
    """Return the names of the kernels in PTX, in their order.

    Parameters
    ----------
    code : bytes
        The text, in ASCII.

    Returns
    -------
    tuple of str

    Raises
    ------
    ValueError
        If `code` is no text in ASCII, does not begin as PTX does, or ends inside of a function.

    Examples
    --------
    >>> entry_points(b".version 7.0 .target sm_80 .address_size 64 " + bytes([10]) + b".visible .entry k() { ret; }")
    ('k',)
    >>> entry_points(b"SPIR-V")
    Traceback (most recent call last):
    ...
    ValueError: code must be PTX, which begins with its version, got other text
    """
    try:
        text = code.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError(f"code must be PTX in ASCII, got byte {code[error.start]:#04x} at {error.start}") from None
    if "\0" in text:
        # A driver takes it for the end of the text.
        raise ValueError(f"code must be PTX in ASCII, got a zero at {text.index(chr(0))}")
    text = _NOT_CODE.sub("", text)
    if not _START.match(text):
        raise ValueError("code must be PTX, which begins with its version, got other text")
    if text.count("{") != text.count("}"):
        raise ValueError("code must be whole PTX, got one that ends inside of a function")
    return tuple(_ENTRY.findall(text))
