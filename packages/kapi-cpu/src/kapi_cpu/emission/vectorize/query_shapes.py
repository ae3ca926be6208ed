"""Shapes of a kernel's queries, from which divergence analysis goes out: ids differ between lanes, sizes do not."""

from __future__ import annotations

from collections.abc import Mapping

from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.divergence import VARYING, Shape
from kapi_lowering.emission.llvm_ir import Function, Instruction, IRValue

__all__ = ["group_shapes", "lane_shapes", "row_shapes"]


def group_shapes(source: Function) -> dict[IRValue, Shape]:
    """Shapes for an entire group: what may differ between its work-items varies."""
    found: dict[IRValue, Shape] = {}
    for each in source.instructions():
        name = each.callee
        if name.startswith(QUERY):
            found[each] = VARYING if name[len(QUERY) :] in ("global_id", "local_id") else 0
        elif name.startswith("kapi."):
            found[each] = 0 if name in ("kapi.local_memory", "kapi.scratch") or name.startswith(BARRIER) else VARYING
    return found


def lane_shapes(source: Function, lanes: int, arrays: Mapping[Instruction, int]) -> dict[IRValue, Shape]:
    """Shapes for the lanes of a vector.

    - `arrays`: private arrays that lanes interleave, with the bytes from lane to lane.
    """
    found: dict[IRValue, Shape] = dict(arrays.items())
    for each in source.instructions():
        if lanes == 1:
            if not each.form.is_void:
                found[each] = 0
            continue
        name = each.callee
        if name.startswith(QUERY):
            is_id = name[len(QUERY) :] in ("global_id", "local_id")
            found[each] = int(is_id and each.arguments[0].integer == 0)
        elif name in ("kapi.linear_id", "kapi.sub_group.local_id"):
            found[each] = 1
        elif name.startswith(("kapi.shuffle.", "kapi.combine.sub_group.inclusive", "kapi.combine.sub_group.exclusive")):
            found[each] = VARYING
        elif name.startswith("kapi."):
            found[each] = 0
    return found


def row_shapes(source: Function) -> dict[IRValue, Shape]:
    """Shapes for the rows of a work-group: neighbours on the second axis; empty if ids have one axis."""
    found: dict[IRValue, Shape] = {}
    has_rows = False
    for each in source.instructions():
        if each.callee in (f"{QUERY}global_id", f"{QUERY}local_id") and (axis := each.arguments[0].integer):
            has_rows = True
            found[each] = 1 if axis == 1 else VARYING
        elif each.callee.startswith("kapi.") and not each.form.is_void:
            found[each] = 0
    return found if has_rows else {}
