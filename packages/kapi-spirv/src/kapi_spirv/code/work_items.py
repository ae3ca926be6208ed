"""Queries of work-items and sub-groups, as OpenCL's functions.

References
----------
OpenCL C 3.0 specification, section 6.15.1, "Work-Item Functions", and 6.15.20, "Sub-group Functions".
"""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import SubGroupQuery, WorkItemQuery
from kapi_spirv.code.builtins import call_builtin

__all__ = ["sub_group_query", "work_item_query"]

_OF_WORK_ITEMS = {
    "global_id": "get_global_id",
    "global_size": "get_global_size",
    "local_id": "get_local_id",
    "local_size": "get_local_size",
    "group_id": "get_group_id",
    "group_count": "get_num_groups",
}
_OF_SUB_GROUPS = {
    "sub_group_id": "get_sub_group_id",
    "sub_group_count": "get_num_sub_groups",
    "local_id": "get_sub_group_local_id",
    "size": "get_sub_group_size",
    "max_size": "get_max_sub_group_size",
}


def work_item_query(builder: ir.IRBuilder, query: WorkItemQuery, axis: ir.Value) -> ir.Value:
    """The answer for one axis, in 64 bits."""
    answer = call_builtin(builder, _OF_WORK_ITEMS[query], I64, [axis], unsigned=True)
    # No id is negative and no range is zero: the direction of loops and the signs of indices follow from it.
    least, beyond = 0 if query.endswith("_id") else 1, 2**31 if "local" in query else 2**62
    answer.set_metadata("range", builder.module.add_metadata([I64(least), I64(beyond)]))
    return answer


def sub_group_query(builder: ir.IRBuilder, query: SubGroupQuery) -> ir.Value:
    """The answer in 32 bits."""
    return call_builtin(builder, _OF_SUB_GROUPS[query], I32, [])
