"""Stores of the lower part of a register, from a register of its own.

LLVM stores the lower byte of a float as it is, ``st.b8 [a], %r``, where a record has no alignment or where bits of a
float are stored as a small integer. NVIDIA's assembler, up to 13.5 at least, converts the register if arithmetic of
floats wrote it: the byte is then the float as an integer. A register that ``mov`` wrote has bits.
"""

from __future__ import annotations

import re

__all__ = ["store_bits"]

_STORE = re.compile(
    r"^(\s*(?:@!?%p\d+ )?)(st(?:\.\w+)*\.b(?:8|16) *\t\[[^]]*\], )(\{[^}]*\}|%r[sd]?\d+);$", re.MULTILINE
)
_REGISTER = re.compile(r"%r([sd]?)\d+")
_WIDTHS = {"s": 16, "": 32, "d": 64}


def store_bits(code: str) -> str:
    """PTX text in which no store is of a part of a register that arithmetic wrote."""
    return _STORE.sub(_stored, code) if ".b8 " in code or ".b16 " in code else code


def _stored(found: re.Match[str]) -> str:
    stored = 8 if ".b8 " in found[2] else 16
    copies: list[str] = []

    def copied(register: re.Match[str]) -> str:
        width = _WIDTHS[register[1]]
        if width == stored:
            return register[0]
        name = f"%kapi_bits{len(copies)}"
        copies.append(f"\t.reg .b{width} {name};\n{found[1]}mov.b{width} \t{name}, {register[0]};\n")
        return name

    given = _REGISTER.sub(copied, found[3])
    return f"\t{{\n{''.join(copies)}{found[1]}{found[2]}{given};\n\t}}" if copies else found[0]
