"""Negatives and absolute values of 16 bits, in other words for NVIDIA's assembler.

The assembler of CUDA 13.0, which is in the drivers of that version, takes ``neg.s16`` and ``abs.s16`` for what never
leaves the type: where the result is widened, or compared with a sign, the least number becomes 32768. A product, and
arithmetic of 32 bits, it widens anew.
"""

from __future__ import annotations

import re

__all__ = ["avoid_narrow_negatives"]

_NEGATIVE = re.compile(r"^(\s*(?:@!?%p\d+ )?)neg\.s16 *\t(%rs\d+), (%rs\d+);$", re.MULTILINE)
_ABSOLUTE = re.compile(r"^(\s*(?:@!?%p\d+ )?)abs\.s16 *\t(%rs\d+), (%rs\d+);$", re.MULTILINE)
_IN_32_BITS = (
    r"\t{ .reg .b32 %kapi_wide;\n"
    r"\1cvt.s32.s16 \t%kapi_wide, \3;\n"
    r"\1abs.s32 \t%kapi_wide, %kapi_wide;\n"
    r"\1cvt.u16.u32 \t\2, %kapi_wide;\n"
    "\t}"
)


def avoid_narrow_negatives(code: str) -> str:
    """PTX text without these two instructions."""
    return _ABSOLUTE.sub(_IN_32_BITS, _NEGATIVE.sub(r"\1mul.lo.s16 \t\2, \3, -1;", code))
