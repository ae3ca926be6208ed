"""Minima with 1, in words that NVIDIA's assembler does not make saturations of.

A minimum of nan and 1 is 1, and so is the maximum of that and 0. The assembler of CUDA 13.0, which is in the drivers of
that version, makes one instruction of the two that holds numbers between 0 and 1, and gives 0 for nan. It does so for
``min`` and ``max`` of each width, and for comparisons and choices of float32. So the 1 is read from constant memory,
where a host may change it: no assembler knows what it is.
"""

from __future__ import annotations

import re

__all__ = ["hide_ones"]

_ONE, _WIDE_ONE = "0f3F800000", "0d3FF0000000000000"
_START = r"^(\s*(?:@!?%p\d+ )?)"
_MINIMUM = re.compile(rf"{_START}min\.f(32|64) *\t(%\w+), (%\w+), (?:{_ONE}|{_WIDE_ONE});$", re.MULTILINE)
_CHOICE = re.compile(rf"{_START}selp\.f32 *\t(%\w+), (%\w+|{_ONE}), (%\w+|{_ONE}), (%p\d+);$", re.MULTILINE)
_HALF = re.compile(_START + r"mov\.b16 *\t(%\w+), 0x3C00;$", re.MULTILINE)
_LOAD = "\t{{ .reg .f{0} %kapi_one;\n\tld.const.f{0} \t%kapi_one, [kapi_one_f{0}];\n"
_DECLARED = {
    "16": ".const .align 2 .b16 kapi_one_f16 = 0x3C00;",
    "32": ".const .align 4 .f32 kapi_one_f32 = 0f3F800000;",
    "64": ".const .align 8 .f64 kapi_one_f64 = 0d3FF0000000000000;",
}
_HEAD = re.compile(r"^\.address_size .*$", re.MULTILINE)


def hide_ones(code: str) -> str:
    """PTX text whose minima with 1 do not show it."""
    used: set[str] = set()

    def minimum(found: re.Match[str]) -> str:
        used.add(found[2])
        return _LOAD.format(found[2]) + found.expand(r"\1min.f\2 \t\3, \4, %kapi_one;" + "\n\t}")

    def choice(found: re.Match[str]) -> str:
        if _ONE not in found.groups():
            return found[0]
        used.add("32")
        given = found.expand(r"\1selp.f32 \t\2, \3, \4, \5;").replace(_ONE, "%kapi_one")
        return _LOAD.format("32") + given + "\n\t}"

    def half(found: re.Match[str]) -> str:
        used.add("16")
        return found.expand(r"\1ld.const.b16 \t\2, [kapi_one_f16];")

    code = _HALF.sub(half, code) if "min.f16" in code else code
    if _ONE in code or _WIDE_ONE in code:
        code = _CHOICE.sub(choice, _MINIMUM.sub(minimum, code))
    declared = "\n".join(_DECLARED[width] for width in sorted(used))
    return _HEAD.sub(lambda head: f"{head[0]}\n{declared}", code, count=1) if used else code
