"""Absolute values, and negatives of 16 bits, in other words for NVIDIA's assembler.

The absolute value of the least integer is itself, in NumPy, LLVM and hardware. The assembler of CUDA 13.0, which is in
the drivers of that version, takes the result of ``abs`` for never negative: of ``abs(x) % 9`` it leaves out what a
negative number needs. It mistakes maxima of a number and its negative, too. So the number and its signs are put
together. In 16 bits it takes ``neg`` and ``abs`` for what never leaves the type: where the result is widened, or
compared with a sign, the least number becomes 32768. A product, and arithmetic of 32 bits, it widens anew.
"""

from __future__ import annotations

import re

__all__ = ["write_signs_out"]

_NEGATIVE = re.compile(r"^(\s*(?:@!?%p\d+ )?)neg\.s16 *\t(%rs\d+), (%rs\d+);$", re.MULTILINE)
_ABSOLUTE = re.compile(r"^(\s*(?:@!?%p\d+ )?)abs\.s(16|32|64) *\t(%r[sd]?\d+), (%r[sd]?\d+);$", re.MULTILINE)
_OF_16_BITS = (
    r"\t{ .reg .b32 %kapi_wide;\n"
    r"\1cvt.s32.s16 \t%kapi_wide, \4;\n"
    r"\1abs.s32 \t%kapi_wide, %kapi_wide;\n"
    r"\1cvt.u16.u32 \t\3, %kapi_wide;\n"
    "\t}"
)
_OF_SIGNS = (
    r"\t{ .reg .b\2 %kapi_signs, %kapi_flipped;\n"
    r"\1shr.s\2 \t%kapi_signs, \4, {last};\n"
    r"\1xor.b\2 \t%kapi_flipped, \4, %kapi_signs;\n"
    r"\1sub.s\2 \t\3, %kapi_flipped, %kapi_signs;\n"
    "\t}"
)


def write_signs_out(code: str) -> str:
    """PTX text without these instructions."""
    code = _ABSOLUTE.sub(_absolute, code) if "abs.s" in code else code
    return _NEGATIVE.sub(r"\1mul.lo.s16 \t\2, \3, -1;", code) if "neg.s16" in code else code


def _absolute(found: re.Match[str]) -> str:
    if found[2] == "16":
        return found.expand(_OF_16_BITS)
    return found.expand(_OF_SIGNS.replace("{last}", str(int(found[2]) - 1)))
