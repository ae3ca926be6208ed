"""The function that a launch calls: the work-groups of a range, one after the other, and the work-items of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kapi_cpu.emission.groups.item_inspectors import RESULT as ITEMS_RESULT
from kapi_cpu.emission.launch_record import WORDS, word
from kapi_cpu.emission.vectorize.instructions.bounds import BEFORE, BEHIND

__all__ = ["Context", "Functions", "Part", "group_loop_text"]


@dataclass(frozen=True)
class Functions:
    """The functions of a part.

    - `full`, `rest`: for full vectors, and for one in which lanes are off; the same without such.
    - `is_split`: whether `full` returns where along a row the answer of a bound changes, and takes a side of that.
    - `one`, `items`: for one work-item, and to find the active ones before; empty if they are not known.
    """

    full: str
    rest: str
    is_split: bool
    one: str = ""
    items: str = ""


@dataclass(frozen=True)
class Part:
    """The code of work-items from one barrier to the next.

    - `functions`: which go through it.
    - `action`: the function to call before it; empty for none.
    - `ahead`: the function that counts the work-items before the first aligned vector of a row; empty for none.
    - `aligned_row`: vectors of the shortest row that it is called for.
    """

    functions: Functions
    action: str
    ahead: str = ""
    aligned_row: int = 0

    def before(self, number: int) -> str:
        """The block in front of the loops over vectors."""
        return f"p{number}.vectors" if self.functions.items else f"part.{number}"


@dataclass(frozen=True)
class Context:
    """The values that are kept at barriers.

    - `nbytes`: bytes for each vector of work-items.
    - `keeps_state`: whether a vector notes there the barrier that it waits at: not all need wait at the same one.
    - `shared`: types of the values that all work-items have, which parts take and return.
    """

    nbytes: int
    keeps_state: bool
    shared: Sequence[str]

    @property
    def result(self) -> str:
        """The type that parts return: the number of a barrier, a split point, and what all work-items have."""
        return "{ " + ", ".join(["i32", "i64", *self.shared]) + " }"


def group_loop_text(
    name: str,
    parts: Sequence[Part],
    lanes: int,
    context: Context,
    packed_bytes: int,
    loop_node: Callable[[], str],
    is_by_columns: bool,
) -> str:
    """The text of the function `name`.

    - `name`: the kernel's entry point. It takes the packed arguments and the launch's record.
    - `parts`: the first begins a work-item; the others go on behind barriers.
    - `lanes`: work-items that a part does at once.
    - `context`: what is kept at barriers.
    - `packed_bytes`: bytes of the packed arguments that there are at least.
    - `loop_node`: makes the metadata of a loop that is not to be unrolled.
    - `is_by_columns`: whether the rows of a vector follow each other, and not the vectors of a row.
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
    lines.append(f"  %is_long = icmp uge i64 %local_size.0, {lanes * parts[0].aligned_row}")
    lines += ["  %item = alloca i64", "  %next = alloca i32"]
    lines += [f"  %shared.{position} = alloca {type_}" for position, type_ in enumerate(context.shared)]
    lines += [
        "  %some = icmp ult i64 %first_group, %end_group",
        "  br i1 %some, label %first, label %done",
        "first:",
        "  %first.0 = urem i64 %first_group, %group_count.0",
        "  %upper = udiv i64 %first_group, %group_count.0",
        "  %first.1 = urem i64 %upper, %group_count.1",
        "  %first.2 = udiv i64 %upper, %group_count.1",
        "  br label %group",
        "group:",
        "  %linear = phi i64 [ %first_group, %first ], [ %linear.next, %group.end ]",
    ]
    lines += [
        f"  %group.{axis} = phi i64 [ %first.{axis}, %first ], [ %group.{axis}.next, %group.end ]" for axis in range(3)
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
        lines += _part_lines(number, part, lanes, context, len(parts), loop_node, is_by_columns)
    lines += [
        "group.end:",
        *_incremented("group", {0: "%group_count.0", 1: "%group_count.1"}),
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
    number: int,
    part: Part,
    lanes: int,
    context: Context,
    count: int,
    loop_node: Callable[[], str],
    is_by_columns: bool,
) -> list[str]:
    """All work-items of the group go through a part."""
    p = f"p{number}"
    lines = [f"part.{number}:"]
    if part.action:
        lines.append(f"  call void @{part.action}(ptr %scratch, i64 %count)")
    if number:
        lines += [
            f"  %{p}.shared.{position} = load {type_}, ptr %shared.{position}"
            for position, type_ in enumerate(context.shared)
        ]
    order = _by_columns if is_by_columns else _by_aligned_rows if part.ahead else _by_rows
    lines += ["  store i64 0, ptr %item", "  store i32 0, ptr %next"]
    if part.functions.items:
        lines += _active_items(number, part, context, loop_node)
    lines += [
        *order(number, part, lanes, context, loop_node),
        f"{p}.end:",
    ]
    if count == 1:
        return [*lines, "  br label %group.end"]
    targets = " ".join(f"i32 {each}, label %part.{each}" for each in range(1, count))
    return [
        *lines,
        f"  %{p}.next = load i32, ptr %next",
        f"  switch i32 %{p}.next, label %group.end [ {targets} ]",
    ]


def _active_items(number: int, part: Part, context: Context, loop_node: Callable[[], str]) -> list[str]:
    """Find the active work-items. If they are known, each row has these, or its first work-item if there is none."""
    p = f"p{number}"
    functions, packed = part.functions, "ptr %packed, ptr %launch, i64 %group.0, i64 %group.1, i64 %group.2"
    shared = _shared_arguments(number, context)
    lines = [
        f"  %{p}.items = call {ITEMS_RESULT} @{functions.items}({packed}, i64 0, i64 0, i64 0, i64 1, i32 0, "
        f"ptr %context{shared})"
    ]
    for position, name in enumerate(("first", "step", "stop")):
        lines.append(f"  %{p}.items.{name} = extractvalue {ITEMS_RESULT} %{p}.items, {position}")
    lines += [
        f"  %{p}.items.known = icmp sgt i64 %{p}.items.step, 0",
        f"  br i1 %{p}.items.known, label %{p}.items.some, label %{part.before(number)}",
        f"{p}.items.some:",
        f"  %{p}.items.end = call i64 @llvm.smin.i64(i64 %{p}.items.stop, i64 %extent.0)",
        f"  %{p}.items.any = icmp slt i64 %{p}.items.first, %{p}.items.end",
        f"  br label %{p}.items.row",
        f"{p}.items.row:",
        *_row_start(f"{p}.items", f"{p}.items.some", f"{p}.items.row.end"),
        f"  br i1 %{p}.items.any, label %{p}.each, label %{p}.none",
        f"{p}.each:",
        f"  %{p}.each.0 = phi i64 [ %{p}.items.first, %{p}.items.row ], [ %{p}.each.0.next, %{p}.each ]",
    ]
    for at, item, side in ((f"{p}.each", f"%{p}.each.0", 1), (f"{p}.none", "0", 0)):
        if not side:
            lines.append(f"{at}:")
        lines += [
            f"  %{at}.result = call {context.result} @{functions.one}({packed}, i64 {item}, i64 %{p}.items.1, "
            f"i64 %{p}.items.2, i64 1, i32 {side}, ptr %context{shared})",
            f"  %{at}.next = extractvalue {context.result} %{at}.result, 0",
            f"  store i32 %{at}.next, ptr %next",
            *_shared_results(at, context),
        ]
        if side:
            lines += [
                f"  %{at}.0.next = add i64 %{at}.0, %{p}.items.step",
                f"  %{at}.more = icmp slt i64 %{at}.0.next, %{p}.items.end",
                f"  br i1 %{at}.more, label %{at}, label %{p}.items.row.end, !llvm.loop {loop_node()}",
            ]
        else:
            lines.append(f"  br label %{p}.items.row.end")
    return [
        *lines,
        f"{p}.items.row.end:",
        *_row_end(f"{p}.items"),
        f"  br i1 %{p}.items.more, label %{p}.items.row, label %{p}.end, !llvm.loop {loop_node()}",
        f"{part.before(number)}:",
    ]


def _shared_arguments(number: int, context: Context) -> str:
    """The last arguments of a part: values that all work-items have."""
    return "".join(
        f", {type_} {f'%p{number}.shared.{position}' if number else 'poison'}"
        for position, type_ in enumerate(context.shared)
    )


def _shared_results(at: str, context: Context) -> list[str]:
    """Keep what all work-items have, as a part returned it."""
    lines = []
    for position, type_ in enumerate(context.shared):
        lines += [
            f"  %{at}.shared.{position} = extractvalue {context.result} %{at}.result, {position + 2}",
            f"  store {type_} %{at}.shared.{position}, ptr %shared.{position}",
        ]
    return lines


def _by_rows(number: int, part: Part, lanes: int, context: Context, loop_node: Callable[[], str]) -> list[str]:
    """Loops over rows: in each the full vectors, then one with lanes off."""
    p = f"p{number}"
    lines = [
        f"  br label %{p}.row",
        f"{p}.row:",
        *_row_start(p, part.before(number), f"{p}.row.end"),
        f"  br i1 %has_whole, label %{p}.full, label %{p}.left",
    ]
    if part.functions.is_split:
        lines += _split_vectors(number, part, lanes, context)
        ends = f"[ %whole, %{p}.far ], [ %{p}.behind.0.next, %{p}.behind.end ]"
    else:
        lines += _vectors(number, part, lanes, context, "full", "0", f"{p}.row", "%whole", f"{p}.left")
        ends = f"[ %{p}.full.0.next, %{p}.full.end ]"
    lines += [f"{p}.left:", f"  %{p}.end.0 = phi i64 [ 0, %{p}.row ], {ends}"]
    if lanes > 1:
        lines += [
            # Not a comparison of what no row changes: LLVM would make a copy of the loops for each answer.
            f"  %{p}.has_rest = icmp ult i64 %{p}.end.0, %extent.0",
            f"  br i1 %{p}.has_rest, label %{p}.rest, label %{p}.row.end",
            f"{p}.rest:",
            *_vector_lines(number, part.functions.rest, f"{p}.rest", p, "%whole", "%rest", context),
        ]
    return [
        *lines,
        f"  br label %{p}.row.end",
        f"{p}.row.end:",
        *_row_end(p),
        f"  br i1 %{p}.more, label %{p}.row, label %{p}.end, !llvm.loop {loop_node()}",
    ]


def _by_aligned_rows(number: int, part: Part, lanes: int, context: Context, loop_node: Callable[[], str]) -> list[str]:
    """Loops over rows: in each two spans, the work-items before the first aligned vector, and all others.

    A span has full vectors, then one with lanes off.
    """
    p = f"p{number}"
    return [
        f"  br label %{p}.row",
        f"{p}.row:",
        *_row_start(p, part.before(number), f"{p}.row.end"),
        f"  %{p}.ahead = call i64 @{part.ahead}(ptr %packed, ptr %launch, i64 %group.0, i64 %group.1, i64 %group.2, "
        f"i64 0, i64 %{p}.1, i64 %{p}.2, i64 0, i32 0, ptr null)",
        f"  %{p}.has_ahead = icmp ne i64 %{p}.ahead, 0",
        f"  %{p}.is_cut = and i1 %is_long, %{p}.has_ahead",
        f"  %{p}.first = select i1 %{p}.is_cut, i64 %{p}.ahead, i64 %extent.0",
        f"  br label %{p}.span",
        f"{p}.span:",
        f"  %{p}.from = phi i64 [ 0, %{p}.row ], [ %{p}.to, %{p}.span.end ]",
        f"  %{p}.given = phi i64 [ %{p}.first, %{p}.row ], [ %extent.0, %{p}.span.end ]",
        # A group that is cut off may have fewer work-items than come before a line.
        f"  %{p}.is_within = icmp ult i64 %{p}.given, %extent.0",
        f"  %{p}.to = select i1 %{p}.is_within, i64 %{p}.given, i64 %extent.0",
        f"  %{p}.count = sub i64 %{p}.to, %{p}.from",
        f"  %{p}.full.count = and i64 %{p}.count, {-lanes}",
        f"  %{p}.whole = add i64 %{p}.from, %{p}.full.count",
        f"  %{p}.has_whole = icmp ne i64 %{p}.full.count, 0",
        f"  br i1 %{p}.has_whole, label %{p}.full, label %{p}.left",
        *_vectors(number, part, lanes, context, "full", f"%{p}.from", f"{p}.span", f"%{p}.whole", f"{p}.left"),
        f"{p}.left:",
        f"  %{p}.end.0 = phi i64 [ %{p}.from, %{p}.span ], [ %{p}.full.0.next, %{p}.full.end ]",
        f"  %{p}.has_rest = icmp ult i64 %{p}.end.0, %{p}.to",
        f"  br i1 %{p}.has_rest, label %{p}.rest, label %{p}.span.end",
        f"{p}.rest:",
        f"  %{p}.rest.count = sub i64 %{p}.to, %{p}.end.0",
        *_vector_lines(number, part.functions.rest, f"{p}.rest", p, f"%{p}.end.0", f"%{p}.rest.count", context),
        f"  br label %{p}.span.end",
        f"{p}.span.end:",
        f"  %{p}.again = icmp ult i64 %{p}.to, %extent.0",
        f"  br i1 %{p}.again, label %{p}.span, label %{p}.row.end, !llvm.loop {loop_node()}",
        f"{p}.row.end:",
        *_row_end(p),
        f"  br i1 %{p}.more, label %{p}.row, label %{p}.end, !llvm.loop {loop_node()}",
    ]


def _vectors(
    number: int,
    part: Part,
    lanes: int,
    context: Context,
    label: str,
    first: str,
    before: str,
    end: str,
    following: str,
    side: int = 0,
) -> list[str]:
    """The full vectors of a row from a work-item, behind the block `before`, to another one."""
    at = f"p{number}.{label}"
    return [
        f"{at}:",
        f"  %{at}.0 = phi i64 [ {first}, %{before} ], [ %{at}.0.next, %{at}.end ]",
        *_vector_lines(number, part.functions.full, at, f"p{number}", f"%{at}.0", str(lanes), context, side),
        f"  %{at}.0.next = add nuw i64 %{at}.0, {lanes}",
        f"  %{at}.0.more = icmp ult i64 %{at}.0.next, {end}",
        f"  br i1 %{at}.0.more, label %{at}, label %{following}",
    ]


def _split_vectors(number: int, part: Part, lanes: int, context: Context) -> list[str]:
    """The full vectors of a row: the first one, which returns the split point, then those before, at and behind it."""
    p = f"p{number}"
    return [
        f"{p}.full:",
        f"  %{p}.0 = phi i64 [ 0, %{p}.row ], [ %{p}.split.0, %{p}.near ]",
        f"  %{p}.kept = phi i64 [ 0, %{p}.row ], [ %{p}.split.1, %{p}.near ]",
        *_vector_lines(number, part.functions.full, f"{p}.full", p, f"%{p}.0", str(lanes), context),
        f"  %{p}.is_first = icmp eq i64 %{p}.0, 0",
        f"  br i1 %{p}.is_first, label %{p}.split, label %{p}.far",
        f"{p}.split:",
        f"  %{p}.split.given = extractvalue {context.result} %{p}.full.result, 1",
        f"  %{p}.split.least = call i64 @llvm.smax.i64(i64 %{p}.split.given, i64 {lanes})",
        f"  %{p}.split.at = call i64 @llvm.smin.i64(i64 %{p}.split.least, i64 %whole)",
        f"  %{p}.split.0 = and i64 %{p}.split.at, {-lanes}",
        f"  %{p}.split.above = add i64 %{p}.split.at, {lanes - 1}",
        f"  %{p}.split.1 = and i64 %{p}.split.above, {-lanes}",
        f"  %{p}.has_before = icmp ugt i64 %{p}.split.0, {lanes}",
        f"  br i1 %{p}.has_before, label %{p}.before, label %{p}.near",
        *_vectors(
            number, part, lanes, context, "before", str(lanes), f"{p}.split", f"%{p}.split.0", f"{p}.near", BEFORE
        ),
        f"{p}.near:",
        f"  %{p}.has_split = icmp ult i64 %{p}.split.0, %{p}.split.1",
        f"  br i1 %{p}.has_split, label %{p}.full, label %{p}.far",
        f"{p}.far:",
        f"  %{p}.far.0 = phi i64 [ %{p}.kept, %{p}.full.end ], [ %{p}.split.1, %{p}.near ]",
        f"  %{p}.has_behind = icmp ult i64 %{p}.far.0, %whole",
        f"  br i1 %{p}.has_behind, label %{p}.behind, label %{p}.left",
        *_vectors(number, part, lanes, context, "behind", f"%{p}.far.0", f"{p}.far", "%whole", f"{p}.left", BEHIND),
    ]


def _by_columns(number: int, part: Part, lanes: int, context: Context, loop_node: Callable[[], str]) -> list[str]:
    """The rows of a full vector one after the other, then those of the next: what a column shares is read once."""
    p = f"p{number}"
    full, rest = f"{p}.full", f"{p}.rest"
    return [
        f"  br i1 %has_whole, label %{p}.column, label %{p}.left",
        f"{p}.column:",
        f"  %{p}.0 = phi i64 [ 0, %part.{number} ], [ %{p}.0.next, %{p}.column.end ]",
        f"  br label %{full}",
        f"{full}:",
        *_row_start(full, f"{p}.column", f"{full}.end"),
        *_vector_lines(number, part.functions.full, full, full, f"%{p}.0", str(lanes), context),
        *_row_end(full),
        f"  br i1 %{full}.more, label %{full}, label %{p}.column.end, !llvm.loop {loop_node()}",
        f"{p}.column.end:",
        f"  %{p}.0.next = add nuw i64 %{p}.0, {lanes}",
        f"  %{p}.0.more = icmp ult i64 %{p}.0.next, %whole",
        f"  br i1 %{p}.0.more, label %{p}.column, label %{p}.left",
        f"{p}.left:",
        f"  %{p}.has_rest = icmp ne i64 %rest, 0",
        f"  br i1 %{p}.has_rest, label %{rest}, label %{p}.end",
        f"{rest}:",
        *_row_start(rest, f"{p}.left", f"{rest}.end"),
        *_vector_lines(number, part.functions.rest, rest, rest, "%whole", "%rest", context),
        *_row_end(rest),
        f"  br i1 %{rest}.more, label %{rest}, label %{p}.end, !llvm.loop {loop_node()}",
    ]


def _incremented(name: str, extents: Mapping[int, str]) -> list[str]:
    """The next index: one more on the first of these axes, and a carry to the next one where an axis ends."""
    lines, carry, axis = [], "1", 0
    for axis, extent in extents.items():
        at = f"{name}.{axis}"
        lines += [
            f"  %{at}.following = add i64 %{at}, {carry}",
            f"  %{at}.is_last = icmp eq i64 %{at}.following, {extent}",
            f"  %{at}.next = select i1 %{at}.is_last, i64 0, i64 %{at}.following",
            f"  %{at}.carry = zext i1 %{at}.is_last to i64",
        ]
        carry = f"%{at}.carry"
    return [*lines, f"  %{name}.{axis + 1}.next = add i64 %{name}.{axis + 1}, {carry}"]


def _row_start(name: str, before: str, latch: str) -> list[str]:
    return [
        f"  %{name}.{each} = phi i64 [ 0, %{before} ], [ %{name}.{each}.next, %{latch} ]"
        for each in ("number", "1", "2")
    ]


def _row_end(name: str) -> list[str]:
    return [
        *_incremented(name, {1: "%extent.1"}),
        f"  %{name}.number.next = add nuw i64 %{name}.number, 1",
        f"  %{name}.more = icmp ult i64 %{name}.number.next, %rows",
    ]


def _vector_lines(
    number: int, function: str, at: str, row: str, first: str, active: str, context: Context, side: int = 0
) -> list[str]:
    """One vector goes through a part, if it is there: from the block `at`, which is begun, to its end."""
    lines = [
        f"  %{at}.item = load i64, ptr %item",
        f"  %{at}.offset = mul i64 %{at}.item, {context.nbytes}",
        f"  %{at}.context = getelementptr i8, ptr %context, i64 %{at}.offset",
    ]
    if number and context.keeps_state:
        lines += [
            f"  %{at}.state = load i32, ptr %{at}.context, align 64",
            f"  %{at}.is_here = icmp eq i32 %{at}.state, {number}",
            f"  br i1 %{at}.is_here, label %{at}.begin, label %{at}.end",
            f"{at}.begin:",
        ]
    result = context.result
    shared = _shared_arguments(number, context)
    lines += [
        f"  %{at}.result = call {result} @{function}(ptr %packed, ptr %launch, i64 %group.0, i64 %group.1, "
        f"i64 %group.2, i64 {first}, i64 %{row}.1, i64 %{row}.2, i64 {active}, i32 {side}, "
        f"ptr %{at}.context{shared})",
        f"  %{at}.next = extractvalue {result} %{at}.result, 0",
    ]
    latest = f"%{at}.next"
    if context.keeps_state:
        lines += [
            f"  store i32 %{at}.next, ptr %{at}.context, align 64",
            f"  %{at}.known = load i32, ptr %next",
            f"  %{at}.latest = call i32 @llvm.umax.i32(i32 %{at}.next, i32 %{at}.known)",
        ]
        latest = f"%{at}.latest"
    lines.append(f"  store i32 {latest}, ptr %next")
    lines += _shared_results(at, context)
    return [
        *lines,
        f"  br label %{at}.end",
        f"{at}.end:",
        f"  %{at}.item.next = add i64 %{at}.item, 1",
        f"  store i64 %{at}.item.next, ptr %item",
    ]
