"""Actions at barriers: done once, when all work-items of a group have arrived, on the values that they have left."""

from __future__ import annotations

from collections.abc import Iterable

from kapi_cpu.emission.combinations import PARTIALS, SUFFIXES, combined, identity_of
from kapi_cpu.emission.legalize.group_operations import OPERAND_OFFSET, RESULT_OFFSET, SLOTS_OFFSET
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import parse_type

__all__ = ["action_text"]


def action_text(action: str, name: str) -> tuple[str, list[str]]:
    """The function of an action, which takes the group's memory and the number of its work-items.

    Returns its text, empty if nothing is done, and the declarations that it needs.
    """
    kind, *details = action.split(".")
    head = f"define internal void @{name}(ptr noalias %memory, i64 %count) alwaysinline nounwind {{\n"
    slots = f"  %slots = getelementptr i8, ptr %memory, i64 {SLOTS_OFFSET}\n"
    result = f"  %result = getelementptr i8, ptr %memory, i64 {RESULT_OFFSET}\n"
    if kind == "broadcast":
        (type_,) = details
        return (
            f"{head}{slots}{result}"
            f"  %operand = getelementptr i8, ptr %memory, i64 {OPERAND_OFFSET}\n"
            "  %place = load i64, ptr %operand\n"
            f"  %slot = getelementptr {type_}, ptr %slots, i64 %place\n"
            f"  %value = load {type_}, ptr %slot\n"
            f"  store {type_} %value, ptr %result\n  ret void\n}}\n"
        ), []
    if kind != "combine":
        return "", []
    return (_reduction_text if details[0] == "reduce" else _scan_text)(head + slots + result, *details)


def _scan_text(head: str, mode: str, combination: str, type_: str) -> tuple[str, list[str]]:
    """Each value becomes the combination of those before it, and of itself if the scan is inclusive.

    Integers are scanned row by row: their combinations may be grouped in any way.
    """
    step, declared = combined(combination, type_, "%total", "%value")
    is_inclusive, identity = mode == "inclusive_scan", identity_of(combination, type_)
    declarations = [declared] if declared else []
    if type_.startswith("i"):
        rows, of_rows = _rows_text(is_inclusive, combination, type_, identity)
        head += rows
        start, begin, before = "%carry", "%whole", "rows.end"
        declarations += of_rows
    elif is_inclusive:
        # The first value stays as it is: combining it with an identity may change a zero's sign.
        head += f"  %first = load {type_}, ptr %slots\n  br label %head\n"
        start, begin, before = "%first", "1", "0"
    else:
        head += "  br label %head\n"
        start, begin, before = identity, "0", "0"
    stored = "%following" if is_inclusive else "%total"
    return (
        f"{head}head:\n"
        f"  %i = phi i64 [ {begin}, %{before} ], [ %next, %body ]\n"
        f"  %total = phi {type_} [ {start}, %{before} ], [ %following, %body ]\n"
        "  %more = icmp ult i64 %i, %count\n  br i1 %more, label %body, label %end\nbody:\n"
        f"  %slot = getelementptr {type_}, ptr %slots, i64 %i\n  %value = load {type_}, ptr %slot\n"
        f"  %following = {step}\n  store {type_} {stored}, ptr %slot\n"
        "  %next = add i64 %i, 1\n  br label %head\nend:\n"
        f"  store {type_} %total, ptr %result\n  ret void\n}}\n"
    ), declarations


def _rows_text(is_inclusive: bool, combination: str, type_: str, identity: str) -> tuple[str, list[str]]:
    """Scans of whole rows of values: `%whole` of them, whose combination is `%carry`."""
    vector, size = f"<{PARTIALS} x {type_}>", size_of(parse_type(type_))
    neutral = f"{vector} splat ({type_} {identity})"

    def shuffled(left: str, right: str, numbers: Iterable[int]) -> str:
        picked = ", ".join(f"i32 {number}" for number in numbers)
        return f"shufflevector {left}, {right}, <{PARTIALS} x i32> <{picked}>"

    lines, sums, distance, declared = "", "%row", 1, ""
    while distance < PARTIALS:
        moved = shuffled(neutral, f"{vector} {sums}", range(PARTIALS - distance, 2 * PARTIALS - distance))
        step, declared = combined(combination, type_, f"%moved.{distance}", sums, PARTIALS)
        lines += f"  %moved.{distance} = {moved}\n  %sums.{distance} = {step}\n"
        sums, distance = f"%sums.{distance}", 2 * distance
    with_carry, _ = combined(combination, type_, "%carries", sums, PARTIALS)
    last = shuffled(f"{vector} %scanned", f"{vector} poison", [PARTIALS - 1] * PARTIALS)
    exclusive = shuffled(f"{vector} %carries", f"{vector} %scanned", range(PARTIALS - 1, 2 * PARTIALS - 1))
    return (
        f"  %whole = and i64 %count, -{PARTIALS}\n  br label %rows\nrows:\n"
        f"  %at = phi i64 [ 0, %0 ], [ %at.next, %add ]\n"
        f"  %carries = phi {neutral.replace(vector, vector + ' [', 1)}, %0 ], [ %last, %add ]\n"
        "  %has_row = icmp ult i64 %at, %whole\n  br i1 %has_row, label %add, label %rows.end\nadd:\n"
        f"  %row.at = getelementptr {type_}, ptr %slots, i64 %at\n  %row = load {vector}, ptr %row.at, align {size}\n"
        f"{lines}  %scanned = {with_carry}\n  %last = {last}\n"
        f"  %exclusive = {exclusive}\n"
        f"  store {vector} {'%scanned' if is_inclusive else '%exclusive'}, ptr %row.at, align {size}\n"
        f"  %at.next = add i64 %at, {PARTIALS}\n  br label %rows\nrows.end:\n"
        f"  %carry = extractelement {vector} %carries, i64 0\n  br label %head\n"
    ), [declared] if declared else []


def _reduction_text(head: str, mode: str, combination: str, type_: str) -> tuple[str, list[str]]:
    """Partial results as one vector, whatever the lanes of the kernel, and then these in their order."""
    vector, size = f"<{PARTIALS} x {type_}>", size_of(parse_type(type_))
    row, of_rows = combined(combination, type_, "%partials", "%row", PARTIALS)
    tail, _ = combined(combination, type_, "%partials", "%tail", PARTIALS)
    step, of_values = combined(combination, type_, "%total", "%value")
    suffix = f"v{PARTIALS}{SUFFIXES.get(type_, type_)}.p0"
    lanes = ", ".join(f"i64 {lane}" for lane in range(PARTIALS))
    bits = f"<{PARTIALS} x i1>"
    fold = ""
    for lane in range(1, PARTIALS):
        total = f"%total.{lane - 1}"
        text, _ = combined(combination, type_, total, f"%value.{lane}")
        fold += f"  %value.{lane} = extractelement {vector} %all, i64 {lane}\n  %total.{lane} = {text}\n"
    declared = [of_rows, of_values, f"declare {vector} @llvm.masked.load.{suffix}(ptr, {bits}, {vector})"]
    return (
        f"{head}  %is_long = icmp uge i64 %count, {PARTIALS}\n  br i1 %is_long, label %long, label %short\n"
        f"short:\n  %first = load {type_}, ptr %slots\n  br label %head\nhead:\n"
        "  %i = phi i64 [ 1, %short ], [ %next, %body ]\n"
        f"  %total = phi {type_} [ %first, %short ], [ %following, %body ]\n"
        "  %more = icmp ult i64 %i, %count\n  br i1 %more, label %body, label %end\nbody:\n"
        f"  %slot = getelementptr {type_}, ptr %slots, i64 %i\n  %value = load {type_}, ptr %slot\n"
        f"  %following = {step}\n  %next = add i64 %i, 1\n  br label %head\nend:\n"
        f"  store {type_} %total, ptr %result\n  ret void\n"
        f"long:\n  %whole = and i64 %count, -{PARTIALS}\n"
        f"  %first.row = load {vector}, ptr %slots, align {size}\n  br label %rows\nrows:\n"
        f"  %at = phi i64 [ {PARTIALS}, %long ], [ %at.next, %add ]\n"
        f"  %partials = phi {vector} [ %first.row, %long ], [ %partials.next, %add ]\n"
        "  %has_row = icmp ult i64 %at, %whole\n  br i1 %has_row, label %add, label %rest\nadd:\n"
        f"  %row.at = getelementptr {type_}, ptr %slots, i64 %at\n  %row = load {vector}, ptr %row.at, align {size}\n"
        f"  %partials.next = {row}\n  %at.next = add i64 %at, {PARTIALS}\n  br label %rows\nrest:\n"
        f"  %left = sub i64 %count, %whole\n"
        f"  %left.one = insertelement <{PARTIALS} x i64> poison, i64 %left, i64 0\n"
        f"  %left.all = shufflevector <{PARTIALS} x i64> %left.one, <{PARTIALS} x i64> poison, "
        f"<{PARTIALS} x i32> zeroinitializer\n"
        f"  %is_there = icmp ult <{PARTIALS} x i64> <{lanes}>, %left.all\n"
        f"  %tail.at = getelementptr {type_}, ptr %slots, i64 %whole\n"
        f"  %tail = call {vector} @llvm.masked.load.{suffix}(ptr align {size} %tail.at, {bits} %is_there, "
        f"{vector} zeroinitializer)\n"
        f"  %with_tail = {tail}\n"
        f"  %all = select {bits} %is_there, {vector} %with_tail, {vector} %partials\n"
        f"  %total.0 = extractelement {vector} %all, i64 0\n{fold}"
        f"  store {type_} %total.{PARTIALS - 1}, ptr %result\n  ret void\n}}\n"
    ), [each for each in declared if each]
