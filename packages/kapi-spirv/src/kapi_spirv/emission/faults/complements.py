"""Wrong bits of Intel's OpenCL CPU compiler, avoided: complements of integers beside a minimum or a maximum."""

from __future__ import annotations

import re

from ..ir.functions import NAME
from ..ir.unknowns import unknown

__all__ = ["hide_complements"]

_COMPLEMENT = re.compile(r"^  (%\S+) = (?:xor (i32|i64) (\S+), -1|sub (?:nuw )?(?:nsw )?(i32|i64) -1, (\S+?))(?=,|$)")
_AND = re.compile(r"^  \S+ = and (?:i32|i64) %\S+, %\S+")


def hide_complements(text: str) -> str:
    """LLVM IR text in which no integer of 32 or 64 bits is seen to be complemented, but for ``~x & y``.

    For AVX-512, Intel's OpenCL CPU compiler (2026.2) puts a work-item's integers into vector registers if the least or
    greatest of them is asked for. There it does ``~x`` as ``x ^ -1``, but the instruction that is to give -1
    writes to a mask, ``vpcmpeqq %xmm0, %xmm0, %k0``. So ``~x`` is `x` and whatever else is in the register, from
    OpenCL C as well. It is so for work-items that are not part of a full vector. ``~x & y`` has an instruction of its
    own, and is right. Here ``~x`` is ``-1 - x``, whose -1 the compiler cannot know to be one; unlike ``x ^ -1`` that
    is linear, as indices have to be. Remove this when `test_driver_limits` says that the driver is mended.
    """
    code = text.split("\n")
    used = {name for line in code if not _AND.match(line) for name in NAME.findall(line.partition(" = ")[2] or line)}
    lines: list[str] = []
    for number, line in enumerate(code):
        found = _COMPLEMENT.match(line)
        if found is None or found.group(1) not in used:
            lines.append(line)
            continue
        result, xor_type, flipped, sub_type, subtracted = found.groups()
        lines += _written(f"%kapi.complement.{number}", result, xor_type or sub_type, flipped or subtracted)
    return "\n".join(lines)


def _written(name: str, result: str, type_: str, value: str) -> list[str]:
    """Code that gives the complement of `value` the name `result`; `name` begins the names between.

    A compiler makes ``~x + zero`` of ``zero - 1 - x``, so the shift is between.
    """
    return [
        f"  {name}.less = sub {type_} {unknown(type_)}, 1",
        f"  {name}.ones = ashr {type_} {name}.less, 1",
        f"  {result} = sub nsw {type_} {name}.ones, {value}",
    ]
