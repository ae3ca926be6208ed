"""A crash of Intel's OpenCL CPU compiler, avoided: loop variables that take each other's values."""

from __future__ import annotations

import re

__all__ = ["break_recurrences"]

_BLOCK = re.compile(r"^(?:([-\w.$]+)|\"([^\"]*)\"):")
_TERMINATOR = re.compile(r"^  (?:br|switch|ret|unreachable)\b")
_PHI = re.compile(r"^  (%\S+) = phi (\S+|ptr addrspace\(\d\)) (\[.*\])")
_INCOMING = re.compile(r"\[ (%?[^,\]]+), (%[^\]]+) \]")
_SIZE_OF = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}
_ZERO = (
    "  %kapi.size = call spir_func i64 @_Z15get_global_sizej(i32 0)",
    "  %kapi.zero = ashr i64 %kapi.size, 63",
)


def break_recurrences(text: str) -> str:
    """LLVM IR text in which no loop variable takes the value that another one had an iteration before.

    Intel's OpenCL CPU compiler (2026.2) crashes when it vectorises some loops of this kind across work-items, of
    which `a, b = b, a + b` is the shortest; it does so from OpenCL C as well. Adding a zero that it cannot know to be
    one keeps it from seeing the pattern. Remove this when `test_driver_limits` says that the driver is mended.
    """
    lines = text.split("\n")
    copies: dict[tuple[str, str], list[str]] = {}  # function and block, to what goes before the block's terminator
    function, where = "", []
    phis: dict[str, int] = {}
    for number, line in enumerate(lines):
        if line.startswith("define "):
            function, phis = line, {}
        elif _BLOCK.match(line):
            phis = {}
        phi = _PHI.match(line)
        if phi:
            phis[phi.group(1)] = number
            where.append((function, phis, number, phi))
    for function, phis, number, phi in where:
        for value, block in _INCOMING.findall(phi.group(3)):
            type_ = phi.group(2)
            if value in phis and value != phi.group(1) and type_ in _SIZE_OF:
                name = f"%kapi.copy.{sum(map(len, copies.values()))}"
                copies.setdefault((function, block), []).extend(_opaque_copy(name, value, type_))
                lines[number] = lines[number].replace(f"[ {value}, {block} ]", f"[ {name}, {block} ]")
    if not copies:
        return text
    return "\n".join(_with_copies(lines, copies))


def _opaque_copy(name: str, value: str, type_: str) -> list[str]:
    """Code that gives `value` the name `name` by adding zero to its bits."""
    bits = f"i{_SIZE_OF[type_]}"
    code, zero = [], "%kapi.zero"
    if bits != "i64":
        zero = f"{name}.zero"
        code.append(f"  {zero} = trunc i64 %kapi.zero to {bits}")
    if type_ == bits:
        return [*code, f"  {name} = add {bits} {value}, {zero}"]
    return [
        *code,
        f"  {name}.bits = bitcast {type_} {value} to {bits}",
        f"  {name}.sum = add {bits} {name}.bits, {zero}",
        f"  {name} = bitcast {bits} {name}.sum to {type_}",
    ]


def _with_copies(lines: list[str], copies: dict[tuple[str, str], list[str]]) -> list[str]:
    """The lines with each block's copies before its terminator, and the zero at the start of their functions."""
    changed = {function for function, _block in copies}
    result: list[str] = []
    function, block, is_first = "", "", False
    for line in lines:
        label = _BLOCK.match(line)
        if line.startswith("define "):
            function, is_first = line, True
        elif label and function:
            block = f'%"{label.group(2)}"' if label.group(2) is not None else f"%{label.group(1)}"
        if _TERMINATOR.match(line):
            result += copies.get((function, block), [])
        result.append(line)
        if label and is_first:
            result += _ZERO if function in changed else []
            is_first = False
    if not any(line.startswith("declare") and "@_Z15get_global_sizej(" in line for line in lines):
        result.append("declare spir_func i64 @_Z15get_global_sizej(i32) nounwind memory(none)")
    return result
