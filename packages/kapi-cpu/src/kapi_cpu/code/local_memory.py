"""Local memory: one piece of each work-group's, in which parameters follow each other."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from kapi_cpu.code.work_items import query
from kapi_cpu.emission.launch_record import ALIGNMENT
from kapi_lowering.llvm_calls import I64
from kapi_lowering.target import LocalMemory

__all__ = ["local_memory"]


def local_memory(builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
    """A pointer for each parameter that is local memory."""
    area = query(builder, "local_memory", ir.IntType(8).as_pointer(3))
    found, offset = [], I64(0)
    for each in wanted:
        found.append(builder.bitcast(builder.gep(area, [offset], inbounds=True), each.element.as_pointer(3)))
        size = builder.mul(each.counted(builder), I64(each.itemsize))
        offset = builder.add(offset, builder.and_(builder.add(size, I64(ALIGNMENT - 1)), I64(-ALIGNMENT)))
    return found
