"""Queries of SubGroup.

References
----------
OpenCL C 3.0 specification, section 6.15.20, "Sub-group Functions".
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_sim.spec.intrinsics import rows
from kapi_spirv._numba_compat import LoweringRegistry
from kapi_spirv.lowering.builtins import I32, I64, call_builtin
from kapi_types import NdItemType, SubGroupType

__all__ = ["LOWERED", "registry", "sub_group_query"]

registry = LoweringRegistry("kapi sub-groups")

LOWERED = {"NdItem.get_sub_group", *(row.key for row in rows(owner="SubGroup"))}

_QUERIES = {
    "get_group_id": "get_sub_group_id",
    "get_group_range": "get_num_sub_groups",
    "get_local_id": "get_sub_group_local_id",
    "get_local_range": "get_sub_group_size",
    "get_max_local_range": "get_max_sub_group_size",
}


def sub_group_query(builder: ir.IRBuilder, name: str) -> ir.Value:
    """One of OpenCL's sub-group functions without arguments, in 32 bits."""
    return call_builtin(builder, name, I32, [])


def _register_query(method: str, name: str) -> None:
    @registry.lower(f"SubGroup.{method}", SubGroupType)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return builder.zext(sub_group_query(builder, name), I64)


for _method, _name in _QUERIES.items():
    _register_query(_method, _name)


@registry.lower("NdItem.get_sub_group", NdItemType)
def _get_sub_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.get_dummy_value()


@registry.lower_getattr(SubGroupType, "leader")
def _leader(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("==", sub_group_query(builder, "get_sub_group_local_id"), I32(0))
