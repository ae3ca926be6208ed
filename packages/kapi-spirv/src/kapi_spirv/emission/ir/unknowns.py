"""Zeros that no compiler can know to be zeros: what hides a pattern from a driver's compiler."""

from __future__ import annotations

import re

from .functions import bounds

__all__ = ["BITS", "DIFFERENT", "SAME", "define_unknowns", "hidden", "unknown"]

SAME, DIFFERENT = "%kapi.zero", "%kapi.different"
"""The same for all work-items, and one that might differ between them: the beginnings of their names."""

BITS = {"half": "i16", "float": "i32", "double": "i64"}
"""The integers of as many bits as a float."""

_INTEGER = re.compile(r"i\d+")
_USED = re.compile(r"(%kapi\.(?:zero|different))\.(i\d+)\b")
_SIZE, _ID = "_Z15get_global_sizej", "_Z13get_global_idj"
_SAME = (
    f"  {SAME}.size = call spir_func i64 @{_SIZE}(i32 0)",
    f"  {SAME}.high = lshr i64 {SAME}.size, 62",
    # Of a sign alone, a compiler knows what it leaves of a counter that is never zero: bits of all places are mixed.
    f"  {SAME}.i64 = mul i64 {SAME}.high, 7046029254386353131",
)
_DIFFERENT = (
    *(f"  {DIFFERENT}.id.{axis} = call spir_func i64 @{_ID}(i32 {axis})" for axis in range(3)),
    f"  {DIFFERENT}.ids = or i64 {DIFFERENT}.id.0, {DIFFERENT}.id.1",
    f"  {DIFFERENT}.place = or i64 {DIFFERENT}.ids, {DIFFERENT}.id.2",
    f"  {DIFFERENT}.i64 = and i64 {DIFFERENT}.place, {SAME}.i64",
)


def unknown(type_: str, kind: str = SAME) -> str:
    """The name of a zero of an integer type; `define_unknowns` gives it its value."""
    return f"{kind}.{type_}"


def hidden(name: str, type_: str, value: str, kind: str = SAME) -> list[str]:
    """Code that gives a value another name, as if it were another value; none for types that are not plain ones."""
    if type_.startswith("ptr"):
        return [f"  {name} = getelementptr i8, {type_} {value}, i64 {unknown('i64', kind)}"]
    bits = BITS.get(type_, type_)
    if not _INTEGER.fullmatch(bits):
        return []
    if bits == type_:
        return [f"  {name} = add {bits} {value}, {unknown(bits, kind)}"]
    return [
        f"  {name}.bits = bitcast {type_} {value} to {bits}",
        f"  {name}.same = add {bits} {name}.bits, {unknown(bits, kind)}",
        f"  {name} = bitcast {bits} {name}.same to {type_}",
    ]


def define_unknowns(text: str) -> str:
    """LLVM IR text in which each function begins with the zeros that it uses.

    `get_global_size(0) >> 62` is zero on every device, since no range has so many work-items.
    """
    lines = text.split("\n")
    code: dict[int, list[str]] = {}
    for first, last in bounds(lines):
        used = {found.groups() for line in lines[first:last] for found in _USED.finditer(line)}
        if used:
            entry = next(number for number in range(first + 1, last) if lines[number].startswith("  "))
            kinds = {kind for kind, _ in used}
            code[entry] = [*_SAME, *(_DIFFERENT if DIFFERENT in kinds else ())]
            code[entry] += [
                f"  {kind}.{bits} = trunc i64 {kind}.i64 to {bits}" for kind, bits in sorted(used) if bits != "i64"
            ]
    if not code:
        return text
    result = [each for number, line in enumerate(lines) for each in (*code.get(number, ()), line)]
    for function in (_SIZE, _ID):
        is_declared = any(line.startswith("declare") and f"@{function}(" in line for line in lines)
        if not is_declared and any(f"@{function}(" in line for line in result):
            result.append(f"declare spir_func i64 @{function}(i32) nounwind memory(none)")
    return "\n".join(result)
