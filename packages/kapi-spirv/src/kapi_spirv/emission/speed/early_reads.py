"""Elements that a loop reads on some of its ways, and that are the same in each turn: read once, before the loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ir.functions import NAME, Function, bounds
from ..ir.packed import PACKED, SIZES, Array, array_of, arrays_of

__all__ = ["read_early"]

_LOAD = re.compile(
    r"^  (%\S+) = load (half|float|double|i8|i16|i32|i64), ptr addrspace\(1\) (%\S+), align (\d+)(?:, !.*)?$"
)
_STORE = re.compile(r"^  store (?:atomic )?.*, ptr(?: addrspace\((\d)\))? (%\"[^\"]*\"|%[-\w.$]+), align \d+")
_STEP = re.compile(r"^getelementptr (?:(?:inbounds|nuw|nusw) )*(\w+), ptr addrspace\(1\) \S+, i64 (%\S+|-?\d+)$")
_DECLARED = re.compile(r"^declare .*@([-\w.$]+|\"[^\"]*\")\(.*\) .*#(\d+)")
_CALLED = re.compile(r" call .*@([-\w.$]+|\"[^\"]*\")\(")
_OF_ARRAYS = ("1", "4")  # global memory, and what may be any
_ZERO = {"half": "0xH0000", "float": "0.0", "double": "0.0"}
_CONSTANT = re.compile(r"-?\d+")


def read_early(text: str, are_apart: bool) -> str:
    """LLVM IR text whose loops do not read again and again, on a way that not each turn goes, what stays the same.

    LLVM moves such a read only where it knows that the element exists: the way that leads to it may be the very
    question whether it does. An element whose place is less than the array's size exists, whatever the ways: so the
    read goes before the loop, behind that question. Work-items that read in vectors gather once, and not in each turn.

    Parameters
    ----------
    text : str
        Optimised IR with the nodes ``!kapi.arrays`` of `kapi_lowering`.
    are_apart : bool
        Whether arrays that are only read share no memory with those that are written.
    """
    lines = text.split("\n")
    sizes = {place: each for place, each in arrays_of(lines).items() if each.extents}
    harmless = _harmless(lines)
    count = 0
    for first, last in reversed(list(bounds(lines))):
        if PACKED not in lines[first] or not sizes:
            continue
        while True:
            function = Function(lines, first, last)
            found = next(_candidates(function, sizes, harmless, are_apart), None)
            if found is None:
                break
            before = len(lines)
            _move(function, *found, sizes, count)
            last += len(lines) - before
            count += 1
    return "\n".join(lines)


def _harmless(lines: list[str]) -> set[str]:
    """The functions that neither read nor write memory."""
    none = {line.split(" ")[1] for line in lines if line.startswith("attributes #") and "memory(none)" in line}
    declared = (_DECLARED.match(line) for line in lines)
    return {each.group(1) for each in declared if each and f"#{each.group(2)}" in none}


def _candidates(
    function: Function, sizes: dict[int, Array], harmless: set[str], are_apart: bool
) -> Iterator[tuple[str, str, int, list[int]]]:
    """What loops can read early: the block before, the header, the array's place, and the lines that read it."""
    for each in function.loops():  # what is read early for an outer one need not be for inner ones
        header, loop = each.header, each.blocks
        if header is None or len(function.before[header] - loop) != 1:
            continue
        (before,) = function.before[header] - loop
        if before == "%" or function.lines[function.blocks[before][-1]] != f"  br label {header}":
            continue
        written = _written(function, loop, harmless)
        if written is None:
            continue
        # Reads of one block are done together, or not at all: where one of them is done, all their elements exist.
        reads: dict[tuple[int, str], list[int]] = {}
        for block in sorted(loop):
            for number in function.blocks[block]:
                load = _LOAD.match(function.lines[number])
                if load is None or function.made.get(load.group(3), (header, ""))[0] in loop:
                    continue
                found = array_of(function, load.group(3))
                if found is None or found[0] not in sizes:
                    continue
                if written and not (are_apart and not sizes[found[0]].is_written):
                    continue
                if _places(function, found[1]) is not None:
                    reads.setdefault((found[0], block), []).append(number)
        for (place, _), numbers in reads.items():
            yield before, header, place, numbers


def _written(function: Function, loop: set[str], harmless: set[str]) -> bool | None:
    """Whether a loop writes arrays; None if it may write anything, or wait for others."""
    is_written = False
    for block in loop:
        for number in function.blocks[block]:
            line = function.lines[number]
            called = _CALLED.search(line)
            if called:
                if called.group(1) not in harmless:
                    return None
                continue
            if line.startswith("  store "):
                store = _STORE.match(line)
                if store is None:
                    return None
                is_written |= store.group(1) in _OF_ARRAYS
            elif re.search(r"\b(?:fence|cmpxchg|atomicrmw|atomic|volatile|invoke)\b", line):
                return None
    return is_written


def _places(function: Function, way: list[str]) -> list[tuple[str, int]] | None:
    """What a pointer is beyond its array: values, each with the bytes that it counts."""
    found = []
    for pointer in way[:-1]:
        step = _STEP.match(function.made[pointer][1])
        if step is None or step.group(1) not in SIZES:
            return None
        found.append((step.group(2), SIZES[step.group(1)]))
    return found


def _move(
    function: Function,
    before: str,
    header: str,
    place: int,
    numbers: list[int],
    sizes: dict[int, Array],
    count: int,
) -> None:
    """Read before the loop, in a block of its own, where the elements exist."""
    lines, name = function.lines, f"kapi.early.{count}"
    size, extents = sizes[place].size, sizes[place].extents
    code = [f"  %{name}.bytes.0 = add i64 0, {size}"]
    for axis, extent in enumerate(extents):
        code.append(f"  %{name}.at.{axis} = getelementptr inbounds nuw i8, ptr {PACKED}, i64 {extent}")
        code.append(f"  %{name}.extent.{axis} = load i64, ptr %{name}.at.{axis}, align 8")
        code.append(f"  %{name}.bytes.{axis + 1} = mul i64 %{name}.bytes.{axis}, %{name}.extent.{axis}")
    end = f"%{name}.bytes.{len(extents)}"
    reads, phis, exists = [], [], "true"
    known: dict[str, str] = {}
    for order, number in enumerate(sorted(numbers)):
        load = _LOAD.match(lines[number])
        assert load is not None
        result, type_, pointer, align = load.groups()
        if f"{type_} {pointer}" not in known:
            own = f"%{name}.{order}"
            known[f"{type_} {pointer}"] = own
            way = array_of(function, pointer)
            assert way is not None
            offset = "0"
            for step, (value, width) in enumerate(_places(function, way[1]) or []):
                scaled = f"{own}.scaled.{step}"
                code.append(f"  {scaled} = mul i64 {value}, {width}")
                code.append(f"  {own}.offset.{step} = add i64 {offset}, {scaled}")
                offset = f"{own}.offset.{step}"
            # An array's element begins at a multiple of its size; a part of one is read with it.
            code.append(f"  {own}.is = icmp ult i64 {offset}, {end}")
            code.append(f"  {own}.exists = and i1 {exists}, {own}.is")
            exists = f"{own}.exists"
            reads.append(f"  {own}.read = load {type_}, ptr addrspace(1) {pointer}, align {align}")
            phis.append(f"  {own} = phi {type_} [ {own}.read, %{name}.read ], [ {_ZERO.get(type_, '0')}, {before} ]")
        lines[number] = ""
        known[result] = known[f"{type_} {pointer}"]
    renamed = {result: value for result, value in known.items() if result.startswith("%")}
    last = function.blocks[before][-1]
    end_of_function = max(max(each) for each in function.blocks.values() if each)
    start = min(min(each) for each in function.blocks.values() if each)
    for number in range(start, end_of_function + 1):
        if renamed and number != last:
            lines[number] = NAME.sub(lambda found: renamed.get(found.group(), found.group()), lines[number])
    for number in function.blocks[header]:
        if " = phi " in lines[number]:
            lines[number] = lines[number].replace(f", {before} ]", f", %{name}.end ]")
    lines[last : last + 1] = [
        *code,
        f"  br i1 {exists}, label %{name}.read, label %{name}.end",
        "",
        f"{name}.read:",
        *reads,
        f"  br label %{name}.end",
        "",
        f"{name}.end:",
        *phis,
        f"  br label {header}",
    ]
