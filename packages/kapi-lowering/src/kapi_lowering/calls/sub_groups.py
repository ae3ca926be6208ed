"""Queries of SubGroup, which the target answers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.target import SubGroupQuery
from kapi_sim.language.table.intrinsics import rows
from kapi_types import NdItemType, SubGroupType

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi sub-groups")

LOWERED = {"NdItem.get_sub_group", *(row.key for row in rows(owner="SubGroup"))}

_QUERIES: dict[str, SubGroupQuery] = {
    "get_group_id": "sub_group_id",
    "get_group_range": "sub_group_count",
    "get_local_id": "local_id",
    "get_local_range": "size",
    "get_max_local_range": "max_size",
}


def _register_query(method: str, query: SubGroupQuery) -> None:
    @registry.lower(f"SubGroup.{method}", SubGroupType)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        return builder.zext(context.kernel_target.sub_group_query(builder, query), I64)


for _method, _asked in _QUERIES.items():
    _register_query(_method, _asked)


@registry.lower("NdItem.get_sub_group", NdItemType)
def _get_sub_group(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.get_dummy_value()


@registry.lower_getattr(SubGroupType, "leader")
def _leader(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return builder.icmp_unsigned("==", context.kernel_target.sub_group_query(builder, "local_id"), I32(0))
