"""Actions at barriers: done once, when all work-items of a group have arrived, on the values that they have left."""

from __future__ import annotations

from kapi_cpu.emission.combinations import combined, identity_of
from kapi_cpu.emission.legalize.group_operations import OPERAND_OFFSET, RESULT_OFFSET, SLOTS_OFFSET

__all__ = ["action_text"]


def action_text(action: str, name: str) -> tuple[str, list[str]]:
    """The function of an action, which takes the group's memory and the number of its work-items.

    Returns
    -------
    str
        Its text; empty if nothing is done.
    list of str
        Declarations that it needs.
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
    mode, combination, type_ = details
    step, declared = combined(combination, type_, "%total", "%value")
    declarations = [declared] if declared else []
    if mode == "reduce":
        first = f"  %first = load {type_}, ptr %slots\n"
        start, begin = "%first", "1"
    else:
        first, start, begin = "", identity_of(combination, type_), "0"
    body = {
        "reduce": "",
        "inclusive_scan": f"  store {type_} %following, ptr %slot\n",
        "exclusive_scan": f"  store {type_} %total, ptr %slot\n",
    }[mode]
    if mode == "inclusive_scan":
        # The first value stays as it is: combining it with an identity may change a zero's sign.
        first, start, begin = f"  %first = load {type_}, ptr %slots\n", "%first", "1"
    return (
        f"{head}{slots}{result}{first}  br label %head\nhead:\n"
        f"  %i = phi i64 [ {begin}, %0 ], [ %next, %body ]\n"
        f"  %total = phi {type_} [ {start}, %0 ], [ %following, %body ]\n"
        "  %more = icmp ult i64 %i, %count\n  br i1 %more, label %body, label %end\nbody:\n"
        f"  %slot = getelementptr {type_}, ptr %slots, i64 %i\n  %value = load {type_}, ptr %slot\n"
        f"  %following = {step}\n{body}  %next = add i64 %i, 1\n  br label %head\nend:\n"
        f"  store {type_} %total, ptr %result\n  ret void\n}}\n"
    ), declarations
