"""Work-groups of two and three dimensions that are launched as groups of one: their ids, worked out by division.

Sub-groups are made of work-items with neighbouring linear ids. Drivers need not make them so of work-groups with more
than one dimension, and Intel's for CPUs makes them of rows. So the entry point of a kernel that has sub-groups begins
with a call of `kapi.linear_groups.N`, which names the extents of the work-group and the number of groups, the fastest
dimension first. OpenCL's queries are answered from these here, after LLVM's passes, when all is in one function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

__all__ = ["linear_groups"]

_MARKER = re.compile(r"^  (?:tail )?call .*@\"?kapi\.linear_groups\.(\d)\"?\((.*)\)")
_QUERY = re.compile(
    r"^  (%\S+) = .*\bcall .*@_Z\d+(get_local_id|get_local_size|get_group_id|get_num_groups|get_global_id"
    r"|get_global_size)j\(i32 (?:[a-z]+ )*([^)\s]+)\)"
)
_BROADCAST = re.compile(r"@_Z20work_group_broadcast([jm])m+\((i32|i64) ([^,]+), (.*)\)")
_OPERAND = re.compile(r"i64 (?:[a-z]+ )*([^\s,]+)")


def linear_groups(text: str) -> str:
    """LLVM IR text in which the queries of a kernel with linear groups are answered.

    Raises
    ------
    RuntimeError
        If a query stands where the extents are not at hand, which no pass of LLVM is known to do.
    """
    if "kapi.linear_groups." not in text:
        return text
    lines: list[str] = []
    names = (f"%kapi.linear.{number}" for number in count())
    ndim, is_broadcast = 0, set()
    answers: dict[str, list[str]] = {}
    for line in text.split("\n"):
        marker, query, broadcast = _MARKER.match(line), _QUERY.match(line), _BROADCAST.search(line)
        if line.startswith(("define ", "}")):
            answers = {}
        if marker:
            ndim = int(marker[1])
            extents = _OPERAND.findall(marker[2])
            code, answers = _answers(extents[:ndim], extents[ndim:])
            lines += code
        elif query:
            lines += _answered(query[1], query[3], answers.get(query[2], []), names)
        elif broadcast and not line.startswith("declare"):
            code, place = _linear_place(_OPERAND.findall(broadcast[4]), answers.get("get_local_size", []), names)
            lines += code
            callee = f"@_Z20work_group_broadcast{broadcast[1]}m({broadcast[2]} {broadcast[3]}, i64 {place})"
            lines.append(line[: broadcast.start()] + callee + line[broadcast.end() :])
            is_broadcast.add((broadcast[1], broadcast[2]))
        elif not (line.startswith("declare") and "kapi.linear_groups." in line):
            lines.append(line)
    for code_, type_ in sorted(is_broadcast):
        lines.append(f"declare spir_func {type_} @_Z20work_group_broadcast{code_}m({type_}, i64) nounwind convergent")
    for name in ("_Z12get_local_idj", "_Z12get_group_idj"):
        if not any(line.startswith("declare") and f"@{name}(" in line for line in lines):
            lines.append(f"declare spir_func i64 @{name}(i32) nounwind memory(none)")
    return "\n".join(lines)


def _answers(local: list[str], groups: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Code that works out every id once, and what each query has for an answer, by dimension."""
    code: list[str] = []
    ids: dict[str, list[str]] = {}
    for kind, extents, width in (("local", local, 32), ("group", groups, 64)):
        # A work-group has fewer than 2**31 work-items, and a division of 32 bits is the faster one.
        type_, rest = f"i{width}", f"%kapi.{kind}.rest"
        code.append(f"  {rest} = call spir_func i64 @_Z12get_{kind}_idj(i32 0)")
        if width == 32:
            code.append(f"  {rest}.32 = trunc i64 {rest} to i32")
            rest += ".32"
        ids[kind] = []
        for dim, extent in enumerate(extents):
            name, divisor = f"%kapi.{kind}.{dim}", extent
            if width == 32:
                divisor = f"{name}.extent"
                code.append(f"  {divisor} = trunc i64 {extent} to i32")
            is_last = dim == len(extents) - 1
            code.append(
                f"  {name}.own = " + (f"or {type_} {rest}, 0" if is_last else f"urem {type_} {rest}, {divisor}")
            )
            if not is_last:
                code.append(f"  {name}.rest = udiv {type_} {rest}, {divisor}")
                rest = f"{name}.rest"
            code.append(f"  {name} = " + (f"zext i32 {name}.own to i64" if width == 32 else f"or i64 {name}.own, 0"))
            ids[kind].append(name)
    global_ids, global_sizes = [], []
    for dim, (extent, number) in enumerate(zip(local, groups, strict=True)):
        code += [
            f"  %kapi.start.{dim} = mul i64 {ids['group'][dim]}, {extent}",
            f"  %kapi.global.{dim} = add i64 %kapi.start.{dim}, {ids['local'][dim]}",
            f"  %kapi.size.{dim} = mul i64 {number}, {extent}",
        ]
        global_ids.append(f"%kapi.global.{dim}")
        global_sizes.append(f"%kapi.size.{dim}")
    return code, {
        "get_local_id": ids["local"],
        "get_local_size": local,
        "get_group_id": ids["group"],
        "get_num_groups": groups,
        "get_global_id": global_ids,
        "get_global_size": global_sizes,
    }


def _answered(result: str, dim: str, choices: list[str], names: Iterator[str]) -> list[str]:
    """Code that gives `result` the choice of dimension `dim`, a number or a value."""
    if not choices:
        raise RuntimeError(f"a work-item query must come after the extents of linear groups, got {result} before")
    if dim.isdigit():
        return [f"  {result} = or i64 {choices[int(dim)]}, 0"]
    code, chosen = [], choices[0]
    for position, choice in enumerate(choices[1:], 1):
        name = result if position == len(choices) - 1 else next(names)
        is_here = next(names)
        code += [
            f"  {is_here} = icmp eq i32 {dim}, {position}",
            f"  {name} = select i1 {is_here}, i64 {choice}, i64 {chosen}",
        ]
        chosen = name
    return code


def _linear_place(place: list[str], extents: list[str], names: Iterator[str]) -> tuple[list[str], str]:
    """Code that works out the linear id of a place in the work-group, given by dimension; and the id."""
    if not extents:
        raise RuntimeError("a broadcast must come after the extents of linear groups, got one before")
    code, linear = [], place[-1]
    for own, extent in reversed(list(zip(place[:-1], extents[:-1], strict=True))):
        row, total = next(names), next(names)
        code += [f"  {row} = mul i64 {linear}, {extent}", f"  {total} = add i64 {row}, {own}"]
        linear = total
    return code, linear
