"""Queries of the index space, whose fastest axis is 0, and each work-group's local memory."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_cpu.emission.launch_record import ALIGNMENT
from kapi_lowering.llvm_calls import I32, I64, call_declared
from kapi_lowering.target import LocalMemory, SubGroupQuery, WorkItemQuery

__all__ = ["linear_groups", "local_memory", "query", "sub_group_query", "work_item_query"]

_PURE = ("nounwind", "readnone")


def query(builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value] = ()) -> ir.Value:
    """Call ``kapi.<name>``, which only depends on the work-item."""
    return call_declared(builder, f"kapi.{name}", result, args, _PURE)


def work_item_query(builder: ir.IRBuilder, name: WorkItemQuery, axis: ir.Value) -> ir.Value:
    """The answer in 64 bits."""
    return query(builder, f"query.{name}", I64, [axis])


def sub_group_query(builder: ir.IRBuilder, name: SubGroupQuery) -> ir.Value:
    """The answer in 32 bits."""
    return query(builder, f"sub_group.{name}", I32)


def linear_groups(builder: ir.IRBuilder, local_size: Sequence[ir.Value], group_count: Sequence[ir.Value]) -> None:
    """Tell which extents linear work-groups stand for."""
    args = [*local_size, *group_count]
    call_declared(builder, f"kapi.linear.{len(local_size)}", ir.VoidType(), args, ("nounwind",))


def local_memory(builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
    """A pointer for each parameter that is local memory."""
    area = query(builder, "local_memory", ir.IntType(8).as_pointer(3))
    found, offset = [], I64(0)
    for each in wanted:
        found.append(builder.bitcast(builder.gep(area, [offset], inbounds=True), each.element.as_pointer(3)))
        size = builder.mul(each.counted(builder), I64(each.itemsize))
        offset = builder.add(offset, builder.and_(builder.add(size, I64(ALIGNMENT - 1)), I64(-ALIGNMENT)))
    return found
