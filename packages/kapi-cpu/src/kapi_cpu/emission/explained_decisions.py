"""Decisions about a kernel in the order of its code, from the shapes of its values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapi_cpu.emission.explanation import Decision
from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.vectorize.cost_model import needs_lane_loop
from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes, Stride
from kapi_cpu.emission.vectorize.indexed_addresses import indexed_address
from kapi_cpu.emission.vectorize.instructions.prefetching import far_loads
from kapi_cpu.emission.vectorize.instructions.records import RecordAccess, record_accesses
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import Block, Instruction

__all__ = ["decisions_of"]

_SCOPE_LINE = re.compile(r"!DILocation\(line: (\d+)")


def decisions_of(shapes: Shapes, lanes: int, why: str, at_barriers: str) -> list[Decision]:
    """List what was decided about a kernel.

    - `shapes`: of the kernel, for these lanes.
    - `lanes`: work-items that are computed at once.
    - `why`: why so many.
    - `at_barriers`: what is kept at barriers.
    """
    found = [Decision("kernel", 0, lanes, why)]
    everywhere = {*shapes.flow.reverse_postorder}
    far = far_loads(shapes) if lanes > 1 else {}
    for block in shapes.flow.reverse_postorder:
        is_masked = lanes > 1 and shapes.parts_within(block, everywhere)
        records = record_accesses(block, shapes) if lanes > 1 and not is_masked else {}
        found += _of_loop(block, shapes, lanes)
        for each in block.instructions:
            line = _line_of(each, shapes)
            if each.callee.startswith(BARRIER):
                found.append(Decision("barrier", line, lanes, at_barriers))
            elif lanes > 1:
                reasons = [_of_record(records[each])] if each in records else _of_access(each, shapes, is_masked)
                found += (Decision(kind, line, lanes, reason) for kind, reason in reasons)
            if each in far:
                found.append(Decision("far", line, lanes, "the memory of later iterations is asked for ahead"))
    return found


def _of_loop(block: Block, shapes: Shapes, lanes: int) -> Iterator[Decision]:
    loop = shapes.loop_of(block)
    if loop is None or loop.header is not block:
        return
    line = next((line for each in block.instructions if (line := _line_of(each, shapes))), 0)
    if lanes == 1:
        yield Decision("loop", line, 1, "the kernel is scalar; LLVM may vectorise the loop")
    elif block in shapes.divergent_loops:
        yield Decision("loop", line, lanes, "lanes leave it in different iterations, and wait for the last one")
    else:
        yield Decision("loop", line, lanes, "all lanes go through the same iterations")


def _of_record(record: RecordAccess) -> tuple[str, str]:
    text = f"{len(record.members)} neighbouring elements of each lane are accessed at once"
    if record.stride is VARYING:
        return "record", f"{text}, for one lane after the other"
    if isinstance(record.stride, Stride):
        return "record", f"{text}, for all lanes where nothing lies between them"
    return "record", f"{text}, for all lanes"


def _of_access(each: Instruction, shapes: Shapes, is_masked: bool) -> Iterator[tuple[str, str]]:
    if each.opcode in ("load", "store") and each.form.is_plain:
        stride = shapes[each.operands[-1]]
        size = size_of(each.type if each.opcode == "load" else each.operands[0].type)
        kind = "gather" if each.opcode == "load" else "scatter"
        if isinstance(stride, Stride):
            yield (
                kind,
                "addresses of neighbours differ by a number of run time: each lane has an access of its own",
            )
        elif (
            stride is VARYING
            and (indexed := indexed_address(each.operands[-1], shapes)) is not None
            and indexed.may_be_consecutive(size, shapes)
        ):
            yield kind, "all lanes at once where the code finds that they are neighbours, or else each on its own"
        elif stride is VARYING:
            yield kind, "addresses of neighbours differ by no constant: each lane has an access of its own"
        elif stride not in (0, size):
            yield "strided", f"addresses of neighbours are {stride} bytes apart, elements have {size}"
        elif is_masked and stride:
            yield "masked", "only some lanes come here"
    elif needs_lane_loop(each) and not (shapes[each] == 0 and each.opcode == "call"):
        yield "lane loop", f"no vector instruction does what `{each.callee or each.opcode}` does"


def _line_of(each: Instruction, shapes: Shapes) -> int:
    node = each.attachment("dbg")
    if node is None:
        return 0
    found = _SCOPE_LINE.match(shapes.function.module.metadata.get(int(node[1:]), ""))
    return int(found[1]) if found else 0
