"""The function that a launch calls: the work-groups of a range, one after the other, and the work-items of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kapi_cpu.emission.launch_record import WORDS, word

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


def group_loop_text(
    name: str, parts: Sequence[Part], lanes: int, context_bytes: int, packed_bytes: int, loop_node: Callable[[], str]
) -> str:
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
    packed_bytes : int
        Bytes of the packed arguments that there are at least.
    loop_node : callable
        Makes the metadata of a loop that is not to be unrolled.
    """
    # Loads of what may be read at any time leave the loops.
    packed = f"ptr noalias readonly align 8 dereferenceable({packed_bytes}) %packed"
    launch = f"ptr noalias readonly align 8 dereferenceable({8 * len(WORDS)}) %launch"
    lines = [f"define void @{name}({packed}, {launch}) nounwind {{", "entry:"]
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
        "  %rows = mul i64 %extent.1, %extent.2",
        "  %count = mul i64 %rows, %extent.0",
        f"  %whole = and i64 %extent.0, {-lanes}",
        "  %rest = sub i64 %extent.0, %whole",
        "  %has_whole = icmp ne i64 %whole, 0",
        "  br label %part.0",
    ]
    for number, part in enumerate(parts):
        lines += _part_lines(number, part, lanes, context_bytes, len(parts), loop_node)
    lines += [
        "group.end:",
        "  %linear.next = add i64 %linear, 1",
        "  %more = icmp ult i64 %linear.next, %end_group",
        f"  br i1 %more, label %group, label %done, !llvm.loop {loop_node()}",
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


def _part_lines(
    number: int, part: Part, lanes: int, context_bytes: int, count: int, loop_node: Callable[[], str]
) -> list[str]:
    """All work-items of the group go through a part: in each row the full vectors, then one with lanes off."""
    p = f"p{number}"
    lines = [f"part.{number}:"]
    if part.action:
        lines.append(f"  call void @{part.action}(ptr %scratch, i64 %count)")
    lines += [
        f"  br label %{p}.row",
        f"{p}.row:",
        f"  %{p}.row.number = phi i64 [ 0, %part.{number} ], [ %{p}.row.following, %{p}.row.end ]",
        f"  %{p}.1 = phi i64 [ 0, %part.{number} ], [ %{p}.1.next, %{p}.row.end ]",
        f"  %{p}.2 = phi i64 [ 0, %part.{number} ], [ %{p}.2.next, %{p}.row.end ]",
        f"  %{p}.item.1 = phi i64 [ 0, %part.{number} ], [ %{p}.item.row, %{p}.row.end ]",
        f"  %{p}.next.1 = phi i32 [ 0, %part.{number} ], [ %{p}.next.row, %{p}.row.end ]",
        f"  br i1 %has_whole, label %{p}.full, label %{p}.left",
        f"{p}.full:",
        f"  %{p}.0 = phi i64 [ 0, %{p}.row ], [ %{p}.0.next, %{p}.full.end ]",
        f"  %{p}.full.item = phi i64 [ %{p}.item.1, %{p}.row ], [ %{p}.full.item.next, %{p}.full.end ]",
        f"  %{p}.full.next = phi i32 [ %{p}.next.1, %{p}.row ], [ %{p}.full.later, %{p}.full.end ]",
        *_vector_lines(number, part.full, f"{p}.full", f"%{p}.0", str(lanes), context_bytes, count),
        f"  %{p}.0.next = add nuw i64 %{p}.0, {lanes}",
        f"  %{p}.0.more = icmp ult i64 %{p}.0.next, %whole",
        f"  br i1 %{p}.0.more, label %{p}.full, label %{p}.left",
        f"{p}.left:",
        f"  %{p}.end.0 = phi i64 [ 0, %{p}.row ], [ %{p}.0.next, %{p}.full.end ]",
        f"  %{p}.rest.item = phi i64 [ %{p}.item.1, %{p}.row ], [ %{p}.full.item.next, %{p}.full.end ]",
        f"  %{p}.rest.next = phi i32 [ %{p}.next.1, %{p}.row ], [ %{p}.full.later, %{p}.full.end ]",
    ]
    if lanes == 1:
        lines += [f"  br label %{p}.row.end", f"{p}.row.end:"]
        item, following = f"%{p}.rest.item", f"%{p}.rest.next"
    else:
        lines += [
            # Not a comparison of what no row changes: LLVM would make a copy of the loops for each answer.
            f"  %{p}.has_rest = icmp ult i64 %{p}.end.0, %extent.0",
            f"  br i1 %{p}.has_rest, label %{p}.rest, label %{p}.row.end",
            f"{p}.rest:",
            *_vector_lines(number, part.rest, f"{p}.rest", "%whole", "%rest", context_bytes, count),
            f"  br label %{p}.row.end",
            f"{p}.row.end:",
        ]
        item = f"[ %{p}.rest.item, %{p}.left ], [ %{p}.rest.item.next, %{p}.rest.end ]"
        following = f"[ %{p}.rest.next, %{p}.left ], [ %{p}.rest.later, %{p}.rest.end ]"
    if lanes == 1:
        item, following = f"[ {item}, %{p}.left ]", f"[ {following}, %{p}.left ]"
    lines += [
        f"  %{p}.item.row = phi i64 {item}",
        f"  %{p}.next.row = phi i32 {following}",
        f"  %{p}.1.following = add i64 %{p}.1, 1",
        f"  %{p}.is_last = icmp eq i64 %{p}.1.following, %extent.1",
        f"  %{p}.1.next = select i1 %{p}.is_last, i64 0, i64 %{p}.1.following",
        f"  %{p}.carry = zext i1 %{p}.is_last to i64",
        f"  %{p}.2.next = add i64 %{p}.2, %{p}.carry",
        f"  %{p}.row.following = add nuw i64 %{p}.row.number, 1",
        f"  %{p}.more = icmp ult i64 %{p}.row.following, %rows",
        f"  br i1 %{p}.more, label %{p}.row, label %{p}.end, !llvm.loop {loop_node()}",
        f"{p}.end:",
    ]
    if count == 1:
        return [*lines, "  br label %group.end"]
    targets = " ".join(f"i32 {each}, label %part.{each}" for each in range(1, count))
    return [*lines, f"  switch i32 %{p}.next.row, label %group.end [ {targets} ]"]


def _vector_lines(
    number: int, function: str, at: str, first: str, active: str, context_bytes: int, count: int
) -> list[str]:
    """One vector goes through a part, if it is there: from the block `at`, which is begun, to its end."""
    p = f"p{number}"
    lines = [
        f"  %{at}.offset = mul i64 %{at}.item, {context_bytes}",
        f"  %{at}.context = getelementptr i8, ptr %context, i64 %{at}.offset",
    ]
    if number:
        lines += [
            f"  %{at}.state = load i32, ptr %{at}.context, align 64",
            f"  %{at}.is_here = icmp eq i32 %{at}.state, {number}",
            f"  br i1 %{at}.is_here, label %{at}.begin, label %{at}.end",
            f"{at}.begin:",
        ]
    lines.append(
        f"  %{at}.result = call i32 @{function}(ptr %packed, ptr %launch, i64 %group.0, i64 %group.1, i64 %group.2, "
        f"i64 {first}, i64 %{p}.1, i64 %{p}.2, i64 {active}, ptr %{at}.context)"
    )
    if count > 1:
        lines.append(f"  store i32 %{at}.result, ptr %{at}.context, align 64")
    skipped = f", [ %{at}.next, %{at} ]" if number else ""
    return [
        *lines,
        f"  %{at}.is_later = icmp ugt i32 %{at}.result, %{at}.next",
        f"  %{at}.latest = select i1 %{at}.is_later, i32 %{at}.result, i32 %{at}.next",
        f"  br label %{at}.end",
        f"{at}.end:",
        f"  %{at}.later = phi i32 [ %{at}.latest, %{at}{'.begin' if number else ''} ]{skipped}",
        f"  %{at}.item.next = add i64 %{at}.item, 1",
    ]
