"""The function that a launch calls: the work-groups of a range, one after the other, and the work-items of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kapi_cpu.emission.launch_record import word

__all__ = ["Part", "group_loop_text"]


@dataclass(frozen=True)
class Part:
    """The code of work-items from one barrier to the next.

    Attributes
    ----------
    full, rest : str
        The functions for full vectors, and for one in which lanes are off; the same without such.
    action : str
        The function to call before it; empty for none.
    """

    full: str
    rest: str
    action: str


def group_loop_text(name: str, parts: Sequence[Part], lanes: int, context_bytes: int) -> str:
    """The text of the function `name`.

    Parameters
    ----------
    name : str
        The kernel's entry point. It takes the packed arguments and the launch's record.
    parts : sequence of Part
        The first begins a work-item; the others go on behind barriers.
    lanes : int
        Work-items that a part does at once.
    context_bytes : int
        Bytes that each vector of work-items keeps at barriers.
    """
    lines = [
        f"define void @{name}(ptr noalias readonly %packed, ptr noalias readonly %launch) nounwind {{",
        "entry:",
    ]
    for label in ("global_size", "local_size", "group_count"):
        for axis in range(3):
            lines += _loaded(f"{label}.{axis}")
    for label in ("first_group", "end_group"):
        lines += _loaded(label)
    for label in ("scratch", "context"):
        lines += _loaded(label, "ptr")
    lines += [
        "  %some = icmp ult i64 %first_group, %end_group",
        "  br i1 %some, label %group, label %done",
        "group:",
        "  %linear = phi i64 [ %first_group, %entry ], [ %linear.next, %group.end ]",
        "  %group.0 = urem i64 %linear, %group_count.0",
        "  %upper = udiv i64 %linear, %group_count.0",
        "  %group.1 = urem i64 %upper, %group_count.1",
        "  %group.2 = udiv i64 %upper, %group_count.1",
    ]
    for axis in range(3):
        lines += [
            f"  %base.{axis} = mul i64 %group.{axis}, %local_size.{axis}",
            f"  %left.{axis} = sub i64 %global_size.{axis}, %base.{axis}",
            f"  %short.{axis} = icmp ult i64 %left.{axis}, %local_size.{axis}",
            f"  %extent.{axis} = select i1 %short.{axis}, i64 %left.{axis}, i64 %local_size.{axis}",
        ]
    lines += [
        "  %plane = mul i64 %extent.0, %extent.1",
        "  %count = mul i64 %plane, %extent.2",
        "  br label %part.0",
    ]
    for number, part in enumerate(parts):
        lines += _part_lines(number, part, lanes, context_bytes, len(parts))
    lines += [
        "group.end:",
        "  %linear.next = add i64 %linear, 1",
        "  %more = icmp ult i64 %linear.next, %end_group",
        "  br i1 %more, label %group, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _loaded(label: str, type_: str = "i64") -> list[str]:
    return [
        f"  %{label}.at = getelementptr i8, ptr %launch, i64 {word(label)}",
        f"  %{label} = load {type_}, ptr %{label}.at, align 8",
    ]


def _part_lines(number: int, part: Part, lanes: int, context_bytes: int, count: int) -> list[str]:
    """All work-items of the group go through a part."""
    p = f"p{number}"
    lines = [f"part.{number}:"]
    if part.action:
        lines.append(f"  call void @{part.action}(ptr %scratch, i64 %count)")
    lines += [
        f"  br label %{p}.plane",
        f"{p}.plane:",
        f"  %{p}.2 = phi i64 [ 0, %part.{number} ], [ %{p}.2.next, %{p}.plane.end ]",
        f"  %{p}.item.2 = phi i64 [ 0, %part.{number} ], [ %{p}.item.row, %{p}.plane.end ]",
        f"  %{p}.next.2 = phi i32 [ 0, %part.{number} ], [ %{p}.next.row, %{p}.plane.end ]",
        f"  br label %{p}.row",
        f"{p}.row:",
        f"  %{p}.1 = phi i64 [ 0, %{p}.plane ], [ %{p}.1.next, %{p}.row.end ]",
        f"  %{p}.item.1 = phi i64 [ %{p}.item.2, %{p}.plane ], [ %{p}.item.row, %{p}.row.end ]",
        f"  %{p}.next.1 = phi i32 [ %{p}.next.2, %{p}.plane ], [ %{p}.next.row, %{p}.row.end ]",
        f"  br label %{p}.item",
        f"{p}.item:",
        f"  %{p}.0 = phi i64 [ 0, %{p}.row ], [ %{p}.0.next, %{p}.item.end ]",
        f"  %{p}.item.0 = phi i64 [ %{p}.item.1, %{p}.row ], [ %{p}.item.next, %{p}.item.end ]",
        f"  %{p}.next.0 = phi i32 [ %{p}.next.1, %{p}.row ], [ %{p}.next.item, %{p}.item.end ]",
        f"  %{p}.offset = mul i64 %{p}.item.0, {context_bytes}",
        f"  %{p}.context = getelementptr i8, ptr %context, i64 %{p}.offset",
        f"  %{p}.active = sub i64 %extent.0, %{p}.0",
    ]
    if number:
        lines += [
            f"  %{p}.state = load i32, ptr %{p}.context, align 64",
            f"  %{p}.is_here = icmp eq i32 %{p}.state, {number}",
            f"  br i1 %{p}.is_here, label %{p}.begin, label %{p}.skip",
            f"{p}.skip:",
            f"  br label %{p}.item.end",
            f"{p}.begin:",
        ]
    arguments = (
        "ptr %packed, ptr %launch, i64 %group.0, i64 %group.1, i64 %group.2, "
        f"i64 %{p}.0, i64 %{p}.1, i64 %{p}.2, i64 %{p}.active, ptr %{p}.context"
    )
    if lanes == 1:
        lines += [f"  %{p}.result = call i32 @{part.full}({arguments})", f"  br label %{p}.done", f"{p}.done:"]
    else:
        lines += [
            f"  %{p}.is_full = icmp uge i64 %{p}.active, {lanes}",
            f"  br i1 %{p}.is_full, label %{p}.full, label %{p}.rest",
            f"{p}.full:",
            f"  %{p}.result.full = call i32 @{part.full}({arguments})",
            f"  br label %{p}.done",
            f"{p}.rest:",
            f"  %{p}.result.rest = call i32 @{part.rest}({arguments})",
            f"  br label %{p}.done",
            f"{p}.done:",
            f"  %{p}.result = phi i32 [ %{p}.result.full, %{p}.full ], [ %{p}.result.rest, %{p}.rest ]",
        ]
    if count > 1:
        lines.append(f"  store i32 %{p}.result, ptr %{p}.context, align 64")
    lines += [
        f"  %{p}.is_later = icmp ugt i32 %{p}.result, %{p}.next.0",
        f"  %{p}.later = select i1 %{p}.is_later, i32 %{p}.result, i32 %{p}.next.0",
        f"  br label %{p}.item.end",
        f"{p}.item.end:",
        f"  %{p}.next.item = phi i32 [ %{p}.later, %{p}.done ]" + (f", [ %{p}.next.0, %{p}.skip ]" if number else ""),
        f"  %{p}.item.next = add i64 %{p}.item.0, 1",
        f"  %{p}.0.next = add i64 %{p}.0, {lanes}",
        f"  %{p}.0.more = icmp ult i64 %{p}.0.next, %extent.0",
        f"  br i1 %{p}.0.more, label %{p}.item, label %{p}.row.end",
        f"{p}.row.end:",
        f"  %{p}.item.row = phi i64 [ %{p}.item.next, %{p}.item.end ]",
        f"  %{p}.next.row = phi i32 [ %{p}.next.item, %{p}.item.end ]",
        f"  %{p}.1.next = add i64 %{p}.1, 1",
        f"  %{p}.1.more = icmp ult i64 %{p}.1.next, %extent.1",
        f"  br i1 %{p}.1.more, label %{p}.row, label %{p}.plane.end",
        f"{p}.plane.end:",
        f"  %{p}.2.next = add i64 %{p}.2, 1",
        f"  %{p}.2.more = icmp ult i64 %{p}.2.next, %extent.2",
        f"  br i1 %{p}.2.more, label %{p}.plane, label %{p}.end",
        f"{p}.end:",
    ]
    if count == 1:
        return [*lines, "  br label %group.end"]
    targets = " ".join(f"i32 {each}, label %part.{each}" for each in range(1, count))
    return [*lines, f"  switch i32 %{p}.next.row, label %group.end [ {targets} ]"]
