"""What LLVM's SPIR-V back end would end the process on, found before it is asked."""

from __future__ import annotations

import re

__all__ = ["forbidden_constructs"]

_ODD_INTEGER = re.compile(r"(?<![%@.$\w-])i(?!1\b|8\b|16\b|32\b|64\b)(\d+)\b(?!:)")
_FORBIDDEN = tuple(
    (re.compile(pattern), description)
    for pattern, description in (
        (r"@llvm\.([su](?:add|sub|mul))\.with\.overflow\b", "overflow-checking arithmetic (llvm.{0}.with.overflow)"),
        (r"@llvm\.(bitreverse)\b", "bit reversal (llvm.{0})"),
        (r"\batomicrmw (?:volatile )?(nand)\b", "atomic {0}"),
        (r"\balloca [^,\n]+, (i(?:32|64) %[-\w.\"]+)", "an array of a size known only at run time (alloca of {0})"),
    )
)
_STRING = re.compile(r'"[^"\n]*"')


def forbidden_constructs(text: str) -> list[str]:
    """What the SPIR-V back end would end the process on, found in LLVM IR text before it is given to it."""
    code = "\n".join(line.split(" ;", 1)[0] for line in text.splitlines() if not line.startswith((";", "source_")))
    code = _STRING.sub('""', code)
    found = [f"{match.group(1)}-bit integers (i{match.group(1)})" for match in _ODD_INTEGER.finditer(code)]
    for pattern, description in _FORBIDDEN:
        found += [description.format(match.group(1)) for match in pattern.finditer(code)]
    return list(dict.fromkeys(found))
